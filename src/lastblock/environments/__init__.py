"""Environments: the arms of a simulation, and how they change over time."""
