"""One HTML file for results of any number of scenarios."""
