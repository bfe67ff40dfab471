"""Speed and memory of the library, as ratios taken in one run: ``python -m benchmarks``."""
