"""Measures the speed and memory of the library, as ratios of one run: ``python -m benchmarks``."""
