"""The paper's own exhibits besides its experiments: figure 1 and table 1."""
