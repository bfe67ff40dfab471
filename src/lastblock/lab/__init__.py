"""Scenarios, runs and figures."""
