"""The paper's exhibits besides its experiments: claims, the authors' figures, figure 1, table 1."""
