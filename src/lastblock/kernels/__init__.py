"""Building blocks of compiled code: compiler and cache, random streams, samplers, divergences."""
