"""The only loops over time, replications, events and the bandits of a fleet."""
