"""What belongs to the paper alone: figure 1 and table 1."""
