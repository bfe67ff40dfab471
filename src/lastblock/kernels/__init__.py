"""Building blocks of compiled code: the compiler, random streams, samplers, sums, divergences."""
