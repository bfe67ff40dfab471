"""Reads scenarios from TOML files, and says in which line a mistake is."""
