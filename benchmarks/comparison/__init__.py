"""All policies in the same worlds; ``python -m benchmarks.comparison`` fills docs/comparison.md."""
