"""What the site is built with, beyond Sphinx's own extensions."""
