"""Environments: what the arms pay, and when it changes."""
