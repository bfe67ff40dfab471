"""The operations of the API, in one file for each kind of thing."""
