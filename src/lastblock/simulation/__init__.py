"""Monte Carlo simulation: run a policy in an environment, in many replications."""

from lastblock.simulation.run import Environment, Run, Trace
from lastblock.simulation.simulate import simulate, trace

__all__ = ["Environment", "Run", "Trace", "simulate", "trace"]
