"""Helpers for every other folder: errors, checks, files, spelling, threads with a progress bar."""
