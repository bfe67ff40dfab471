"""Scenarios as TOML files."""
