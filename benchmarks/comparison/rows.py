"""The policies of the comparison, each with its parameters for a problem.

A new policy is one line here: `tests/test_comparison.py` fails until it has one.
"""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import lastblock as lb
from benchmarks.suite.problems import SuiteProblem
from benchmarks.suite.rivals import ORACLE, TUNED, Knowledge, knowledge_of, rivals
from lastblock.environments.piecewise import Piecewise
from lastblock.kernels.divergences import Family

UNTOLD, TOLD, YARDSTICK = "untold", "told", "yardstick"
"""The tables: policies that need no number of changes Γ, that are told it, and that know all."""

LEFT_OUT = {
    "BestArm": "it pulls the best arm; its regret is 0",
    "LUCB": "it looks for the best arm and does not care what that costs",
    "TopTwoThompson": "it looks for the best arm and does not care what that costs",
    "TrackAndStop": "it looks for the best arm and does not care what that costs",
}
"""Policies that are not compared, with the reason."""

BASE, UNIT = TUNED, "LB-SDA"
"""The policies to which others are compared: in regret on the suite, and in time."""


@dataclass(frozen=True)
class Case:
    """A problem, and what policies with parameters are told of it."""

    problem: SuiteProblem

    @functools.cached_property
    def told(self) -> Knowledge:
        return knowledge_of(self.problem)

    @functools.cached_property
    def rivals(self) -> dict[str, Any]:
        """The policies of the suite, with their parameters here."""
        return dict(rivals(self.problem))

    @property
    def bounded(self) -> bool:
        return self.told.bounded

    @property
    def horizon(self) -> dict[str, Any]:
        return {"horizon": self.problem.horizon}

    @property
    def sized(self) -> dict[str, Any]:
        return {**self.horizon, "arms": self.problem.environment.n_arms}

    @property
    def changes(self) -> dict[str, Any]:
        return {**self.horizon, "changes": self.problem.changes}

    @property
    def law(self) -> dict[str, Any]:
        """The family of the rewards; the Gaussian one for laws that are none of ours."""
        family = self.told.family
        if family is None or family == Family.GAUSSIAN:
            return {"family": Family.GAUSSIAN, "sigma": self.told.sigma}
        return {"family": family}

    @property
    def prior(self) -> dict[str, Any]:
        """A prior around the middle of the means, as wide as their range."""
        told, law = self.told, self.law
        if told.bounded:
            return law
        return {
            **law,
            "prior_mean": (told.low + told.high) / 2.0,
            "prior_sigma": max(told.high - told.low, told.sigma * 1e-3),
        }

    @property
    def normal_prior(self) -> dict[str, Any]:
        """The same, for policies that know coins and Gaussian rewards only."""
        if self.bounded:
            return {}
        return {**self.prior, "family": Family.GAUSSIAN, "sigma": self.told.sigma}

    @property
    def sigma(self) -> float:
        """The largest σ; for rewards in [0, 1] half their range."""
        return 0.5 if self.bounded else self.told.sigma

    @property
    def glr(self) -> Any:
        """The detector of `Restarting.dal`, for this family of rewards."""
        return lb.GLR(delta=1.0 / math.sqrt(self.problem.horizon), **self.law)

    def forgetting(self, cls: Any) -> Any:
        """Return SW-UCB or D-UCB, tuned; for means of a range above 1 as if it were 1."""
        if self.bounded:
            return cls.tuned(**self.changes)
        unit = max(1.0, self.told.high - self.told.low)
        tuned = cls.tuned(**self.changes, sigma=self.told.sigma / unit)
        return tuned._replace(scale=tuned.scale * unit)

    def scaled(self, policy: Any) -> Any:
        """Return a policy for rewards in [0, 1] with its parameters in units of the rewards."""
        measured = ("threshold", "drift", "scale", "temperature")
        changed = {
            name: getattr(policy, name) * self.told.scale
            for name in measured
            if hasattr(policy, name)
        }
        if hasattr(policy, "step"):
            changed["step"] = policy.step / self.told.scale
        return policy._replace(**changed)


class Row(NamedTuple):
    """A policy of the comparison."""

    name: str
    make: Callable[[Case], Any]
    """Return the policy for a problem, or None if it cannot play it."""
    told: str = ""
    """What it is told: T, Γ, σ (or the range of the rewards), their family F."""
    table: str = UNTOLD
    slowness: int = 1
    """It gets one of so many replications."""
    longest: int = 1 << 53
    """The longest horizon that it can play in reasonable time."""

    def policy(self, case: Case) -> Any | None:
        """Return the policy for a problem, or None if it takes only other rewards, or too long."""
        made = self.make(case)
        if made is None or case.problem.horizon > self.longest:
            return None
        low, high = made.support()
        gives = case.problem.environment.support
        return made if gives is not None and low <= gives.low and gives.high <= high else None


def _if_bounded(make: Callable[[Case], Any]) -> Callable[[Case], Any]:
    """Return a maker of policies whose radii or weights assume rewards in [0, 1]."""
    return lambda case: make(case) if case.bounded else None


def _always(policy: Any) -> Callable[[Case], Any]:
    return lambda case: policy


def _unit(policy: Any) -> Callable[[Case], Any]:
    return _if_bounded(_always(policy))


def _oracle(case: Case) -> Any:
    is_piecewise = isinstance(case.problem.environment, Piecewise)
    return case.rivals[ORACLE] if is_piecewise else None


@functools.cache
def rows() -> tuple[Row, ...]:
    """Return all policies, in the order of the tables."""
    return (*_duels(), *_optimists(), *_random(), *_watchful(), *_told(), *_yardsticks())


def row_named(name: str) -> Row:
    """Return the row of a policy."""
    return next(row for row in rows() if row.name == name)


@functools.cache
def case_of(problem: SuiteProblem) -> Case:
    """Return what is told of a problem; several policies ask for it."""
    return Case(problem)


def _duels() -> list[Row]:
    return [
        Row(UNIT, _always(lb.LBSDA())),
        Row("LB-SDA-GM", _always(lb.LBSDAGM())),
        Row("LB-SDA-LM", _always(lb.LBSDALM())),
        Row("Adaptive LB-SDA", _always(lb.AdaptiveLBSDA())),
        Row("RB-SDA", _always(lb.RBSDA())),
        Row("WR-SDA", _always(lb.WRSDA()), slowness=20),
        Row("LDS-SDA", _always(lb.LDSSDA())),
        Row("SSMC", _always(lb.SSMC()), slowness=20),
        Row("BESA", _always(lb.BESA()), slowness=4),
        Row("RDS, Dirichlet Sampling", _always(lb.DirichletSampling()), slowness=10),
        Row("BDS", _always(lb.DirichletSampling(bonus="bounded")), slowness=10),
        Row("BDS, known bound", _unit(lb.DirichletSampling(bonus="known")), "σ", slowness=10),
        Row("QDS", _always(lb.DirichletSampling(bonus="quantile")), slowness=10),
        Row("RDS, 64 rewards an arm", _always(lb.DirichletSampling(memory=64)), slowness=4),
    ]


def _optimists() -> list[Row]:
    return [
        Row("UCB1", lambda c: lb.UCB1() if c.bounded else lb.UCB1.gaussian(c.sigma), "σ"),
        Row("UCB-V", lambda c: lb.UCBV(range=c.told.scale), "σ"),
        Row("UCB-tuned", lambda c: lb.UCBTuned(range=c.told.scale), "σ"),
        Row(
            "MOSS",
            lambda c: (
                lb.MOSS(**c.horizon) if c.bounded else lb.MOSS.gaussian(c.problem.horizon, c.sigma)
            ),
            "T σ",
        ),
        Row("anytime MOSS", lambda c: lb.AnytimeMOSS(sigma=c.sigma), "σ"),
        Row("kl-UCB", lambda c: lb.KLUCB(**c.law), "F"),
        Row("kl-UCB, empirical", _unit(lb.KLUCB("bounded")), "σ", slowness=10),
        Row("kl-UCB++", lambda c: lb.KLUCBPlusPlus(**c.horizon, **c.law), "T F"),
        Row("IMED", lambda c: lb.IMED(**c.law), "F"),
        Row("IMED, empirical", _unit(lb.IMED("bounded")), "σ", slowness=10),
        Row("Bayes-UCB", lambda c: lb.BayesUCB(**c.normal_prior), "F", slowness=4),
        Row("POKER", lambda c: lb.POKER(**c.horizon), "T"),
        Row("RAW-UCB", lambda c: lb.RAWUCB(sigma=c.sigma), "σ"),
        Row(
            "RAW-UCB, all windows",
            lambda c: lb.RAWUCB(sigma=c.sigma, all_windows=True),
            "σ",
            slowness=20,
        ),
        Row("FEWA", lambda c: lb.FEWA(sigma=c.sigma), "σ", slowness=4),
        Row(
            "FEWA, all windows",
            lambda c: lb.FEWA(sigma=c.sigma, all_windows=True),
            "σ",
            slowness=20,
            longest=99_999,
        ),
    ]


def _random() -> list[Row]:
    return [
        Row("Thompson sampling", lambda c: lb.Thompson(**c.prior), "F"),
        Row(
            "Thompson sampling, binarized",
            lambda c: (
                lb.Binarized(lb.Thompson())
                if c.bounded
                else lb.Binarized(
                    lb.Thompson(),
                    c.told.low - 3.0 * c.sigma,
                    c.told.high + 3.0 * c.sigma,
                    clip=True,
                )
            ),
            "σ",
        ),
        Row("MED", lambda c: lb.MED(**c.law), "F"),
        Row("MED, empirical", _unit(lb.MED("bounded")), "σ", slowness=10),
        Row("NPTS", _unit(lb.NPTS()), "σ", slowness=10),
        Row("Giro", _unit(lb.Giro()), "σ", slowness=10),
        Row("PHE", _unit(lb.PHE()), "σ"),
        Row("ε-greedy, 0.1", _always(lb.EpsilonGreedy(0.1))),
        Row("ε-greedy, forgetting", lambda c: lb.DiscountedEpsilonGreedy.tuned(**c.sized), "T"),
        Row("softmax", lambda c: c.scaled(lb.Softmax()), "σ"),
        Row("softmax, forgetting", lambda c: c.scaled(lb.Softmax(discount=0.99)), "σ"),
        Row("gradient bandit", lambda c: c.scaled(lb.GradientBandit()), "σ"),
        Row(
            "gradient bandit, forgetting",
            lambda c: c.scaled(lb.GradientBandit.tuned(**c.horizon)),
            "T σ",
        ),
        Row("EXP3", _if_bounded(lambda c: lb.EXP3.tuned(**c.sized)), "T σ"),
        Row("Tsallis-INF", _unit(lb.TsallisINF()), "σ"),
        Row("play the winner", _unit(lb.PlayTheWinner()), "σ"),
    ]


def _watchful() -> list[Row]:
    """Return the policies that detect changes, and are not told how many there are."""
    restarting = lb.Restarting
    return [
        Row("LB-SDA + MeanShift", _always(restarting(lb.LBSDA(), lb.MeanShift()))),
        Row(
            "kl-UCB + GLR",
            lambda c: restarting(lb.KLUCB(**c.law), lb.GLR(**c.law)),
            "F",
            slowness=4,
        ),
        Row(
            "Thompson + ADWIN",
            _unit(restarting(lb.Thompson(), lb.ADWIN(), alertness=0.0)),
            "σ",
            slowness=4,
        ),
        Row(
            "UCB1 + Page–Hinkley",
            lambda c: restarting(
                lb.UCB1() if c.bounded else lb.UCB1.gaussian(c.sigma), c.scaled(lb.PageHinkley())
            ),
            "σ",
        ),
        Row(
            "UCB1 + R-BOCPD",
            _unit(restarting(lb.UCB1(), lb.RBOCPD())),
            "σ",
            slowness=10,
        ),
        Row(
            "LB-SDA, DAL",
            lambda c: restarting.dal(lb.LBSDA(), **c.horizon, detector=c.glr),
            "T F",
            slowness=4,
        ),
        Row("GLR-kl-UCB", lambda c: lb.GLRKLUCB.tuned(**c.horizon, **c.law), "T F", slowness=4),
        Row(
            "GLR-kl-UCB, global restarts",
            lambda c: lb.GLRKLUCB.tuned(**c.horizon, **c.law, local=False),
            "T F",
            slowness=4,
        ),
        Row(
            "GLR-kl-UCB, diminishing",
            lambda c: lb.GLRKLUCB.tuned_diminishing(**c.horizon, **c.law),
            "T F",
            slowness=4,
        ),
        Row(
            "GLR-kl-UCB, diminishing, global",
            lambda c: lb.GLRKLUCB.tuned_diminishing(**c.horizon, **c.law, local=False),
            "T F",
            slowness=4,
        ),
        Row(
            "M-UCB, diminishing",
            lambda c: c.scaled(lb.MUCB.tuned_diminishing(**c.sized)),
            "T σ",
        ),
        Row("MASTER of UCB1", _unit(lb.Master(lb.UCB1())), "σ"),
        Row("AdSwitch", _if_bounded(lambda c: lb.AdSwitch(**c.horizon)), "T σ", slowness=4),
    ]


def _told() -> list[Row]:
    """Return the policies that are told Γ."""
    return [
        Row(BASE, lambda c: c.rivals[TUNED], "T Γ", TOLD),
        Row("SW-UCB", lambda c: c.forgetting(lb.SWUCB), "T Γ σ", TOLD),
        Row("D-UCB", lambda c: c.forgetting(lb.DUCB), "T Γ σ", TOLD),
        Row("SW-kl-UCB", lambda c: lb.SWKLUCB.tuned(**c.changes, **c.law), "T Γ F", TOLD),
        Row("D-kl-UCB", lambda c: lb.DKLUCB.tuned(**c.changes, **c.law), "T Γ F", TOLD),
        Row(
            "SW-Thompson",
            lambda c: lb.SlidingWindowThompson.tuned(**c.changes, **c.prior),
            "T Γ F",
            TOLD,
        ),
        Row(
            "discounted Thompson",
            lambda c: lb.DiscountedThompson.tuned(**c.changes, **c.prior),
            "T Γ F",
            TOLD,
        ),
        Row("CUSUM-UCB", lambda c: c.rivals["CUSUM-UCB"], "T Γ σ", TOLD),
        Row("M-UCB", lambda c: c.rivals["M-UCB"], "T Γ σ", TOLD),
        Row("GLR-kl-UCB, told Γ", lambda c: c.rivals["GLR-kl-UCB"], "T Γ F", TOLD, slowness=4),
        Row(
            "EXP3.S",
            _if_bounded(lambda c: lb.EXP3S.tuned(**c.sized, changes=c.problem.changes)),
            "T Γ σ",
            TOLD,
        ),
        Row(
            "Rexp3",
            _if_bounded(lambda c: lb.REXP3.tuned(**c.sized, changes=c.problem.changes)),
            "T Γ σ",
            TOLD,
        ),
    ]


def _yardsticks() -> list[Row]:
    return [Row("LB-SDA, told the changes", _oracle, "changes", YARDSTICK)]
