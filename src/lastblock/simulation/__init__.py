"""Monte Carlo: a policy against an environment, many times over."""

from lastblock.simulation.run import Environment, Run, Trace
from lastblock.simulation.simulate import simulate, trace

__all__ = ["Environment", "Run", "Trace", "simulate", "trace"]
