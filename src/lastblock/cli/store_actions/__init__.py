"""The actions of ``lastblock store``, one file each."""
