"""All compiled loops: over time, replications, logged events, and the bandits of a fleet."""
