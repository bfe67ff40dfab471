"""The report: one HTML file about the results of any number of scenarios."""
