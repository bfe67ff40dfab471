"""lastblock: multi-armed bandits by last-block subsampling duels, simulated and live.

>>> import lastblock as lb
>>> env = lb.Stationary([lb.Bernoulli(0.05), lb.Bernoulli(0.1), lb.Bernoulli(0.15)])
>>> run = lb.simulate(lb.LBSDALM(), env, horizon=1000, replications=10, seed=1)
>>> run.regret.shape == (10, run.times.size)
True
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

from lastblock import arms, detectors, kit, policies, theory
from lastblock.arms.bernoulli import Bernoulli
from lastblock.arms.beta import Beta
from lastblock.arms.dirac import Dirac
from lastblock.arms.discrete import Discrete
from lastblock.arms.exponential import Exponential
from lastblock.arms.gaussian import Gaussian
from lastblock.arms.poisson import Poisson
from lastblock.arms.truncated_gaussian import TruncatedGaussian
from lastblock.core.families import FAMILIES, family
from lastblock.core.registry import DETECTORS, POLICIES, detector, policy
from lastblock.detectors.adwin import ADWIN
from lastblock.detectors.glr import GLR
from lastblock.detectors.meanshift import MeanShift
from lastblock.detectors.pagehinkley import PageHinkley
from lastblock.detectors.rbocpd import RBOCPD
from lastblock.environments.drifting import Drifting, Sinusoid, Table
from lastblock.environments.piecewise import Piecewise, Stationary
from lastblock.environments.prior import Prior
from lastblock.kernels.divergences import Family
from lastblock.live.bandit import Bandit
from lastblock.live.changes import Change
from lastblock.live.decisions import Decision, Pending
from lastblock.live.explanation import Duel, Explanation
from lastblock.live.journalled import BanditEvent
from lastblock.live.state import state_size
from lastblock.policies.adaptivelbsda import AdaptiveLBSDA
from lastblock.policies.adswitch import AdSwitch
from lastblock.policies.anytimemoss import AnytimeMOSS
from lastblock.policies.bayesucb import BayesUCB
from lastblock.policies.besa import BESA
from lastblock.policies.bestarm import BestArm
from lastblock.policies.binarized import Binarized
from lastblock.policies.cusumucb import CUSUMUCB
from lastblock.policies.dirichletsampling import DirichletSampling
from lastblock.policies.discountedepsilongreedy import DiscountedEpsilonGreedy
from lastblock.policies.discountedthompson import DiscountedThompson
from lastblock.policies.dklucb import DKLUCB
from lastblock.policies.ducb import DUCB
from lastblock.policies.epsilongreedy import EpsilonGreedy
from lastblock.policies.exp3 import EXP3
from lastblock.policies.exp3s import EXP3S
from lastblock.policies.fewa import FEWA
from lastblock.policies.giro import Giro
from lastblock.policies.glrklucb import GLRKLUCB
from lastblock.policies.gradientbandit import GradientBandit
from lastblock.policies.imed import IMED
from lastblock.policies.klucb import KLUCB
from lastblock.policies.klucbplusplus import KLUCBPlusPlus
from lastblock.policies.lbsda import LBSDA
from lastblock.policies.lbsdagm import LBSDAGM
from lastblock.policies.lbsdalm import LBSDALM
from lastblock.policies.ldssda import LDSSDA
from lastblock.policies.lucb import LUCB
from lastblock.policies.master import Master
from lastblock.policies.med import MED
from lastblock.policies.moss import MOSS
from lastblock.policies.mucb import MUCB
from lastblock.policies.npts import NPTS
from lastblock.policies.oraclerestart import OracleRestart
from lastblock.policies.phe import PHE
from lastblock.policies.playthewinner import PlayTheWinner
from lastblock.policies.poker import POKER
from lastblock.policies.rawucb import RAWUCB
from lastblock.policies.rbsda import RBSDA
from lastblock.policies.restarting import Restarting
from lastblock.policies.rexp3 import REXP3
from lastblock.policies.slidingwindowthompson import SlidingWindowThompson
from lastblock.policies.softmax import Softmax
from lastblock.policies.ssmc import SSMC
from lastblock.policies.swklucb import SWKLUCB
from lastblock.policies.swlbsda import SWLBSDA
from lastblock.policies.swucb import SWUCB
from lastblock.policies.thompson import Thompson
from lastblock.policies.toptwothompson import TopTwoThompson
from lastblock.policies.trackandstop import TrackAndStop
from lastblock.policies.tsallisinf import TsallisINF
from lastblock.policies.ucb1 import UCB1
from lastblock.policies.ucbtuned import UCBTuned
from lastblock.policies.ucbv import UCBV
from lastblock.policies.wrsda import WRSDA
from lastblock.support.errors import (
    BanditInUseError,
    ExpiredDecisionError,
    KeyReusedError,
    PolicyError,
    SettledDecisionError,
    StateFileError,
    StoreError,
    TokenError,
    ToldOtherwiseError,
    UnknownDecisionError,
)
from lastblock.support.spelling import nearest as _nearest

if TYPE_CHECKING:  # at run time when they are first used: see `_ON_FIRST_USE`
    from lastblock import lab as lab
    from lastblock import testing as testing
    from lastblock.fleet import Fleet
    from lastblock.live.summary import ArmSummary, Summary
    from lastblock.live.verdict import BestArmVerdict
    from lastblock.live.warming import Warmed, Warmth, warm
    from lastblock.replay.estimates import Estimate
    from lastblock.replay.evaluation import Evaluation, Evaluations, PairedDifference
    from lastblock.replay.replay import Replay
    from lastblock.simulation.delays import FixedDelay, GeometricDelay, ParetoDelay
    from lastblock.simulation.identification import Identification
    from lastblock.simulation.run import Run, Trace
    from lastblock.simulation.simulate import simulate, trace
    from lastblock.store import Store

__version__ = "0.1.0"

__all__ = [
    "ADWIN",
    "BESA",
    "CUSUMUCB",
    "DETECTORS",
    "DKLUCB",
    "DUCB",
    "EXP3",
    "EXP3S",
    "FAMILIES",
    "FEWA",
    "GLR",
    "GLRKLUCB",
    "IMED",
    "KLUCB",
    "LBSDA",
    "LBSDAGM",
    "LBSDALM",
    "LDSSDA",
    "LUCB",
    "MED",
    "MOSS",
    "MUCB",
    "NPTS",
    "PHE",
    "POKER",
    "POLICIES",
    "RAWUCB",
    "RBOCPD",
    "RBSDA",
    "REXP3",
    "SSMC",
    "SWKLUCB",
    "SWLBSDA",
    "SWUCB",
    "UCB1",
    "UCBV",
    "WRSDA",
    "AdSwitch",
    "AdaptiveLBSDA",
    "AnytimeMOSS",
    "ArmSummary",
    "Bandit",
    "BanditEvent",
    "BanditInUseError",
    "BayesUCB",
    "Bernoulli",
    "BestArm",
    "BestArmVerdict",
    "Beta",
    "Binarized",
    "Change",
    "Decision",
    "Dirac",
    "DirichletSampling",
    "DiscountedEpsilonGreedy",
    "DiscountedThompson",
    "Discrete",
    "Drifting",
    "Duel",
    "EpsilonGreedy",
    "Estimate",
    "Evaluation",
    "Evaluations",
    "ExpiredDecisionError",
    "Explanation",
    "Exponential",
    "Family",
    "FixedDelay",
    "Fleet",
    "Gaussian",
    "GeometricDelay",
    "Giro",
    "GradientBandit",
    "Identification",
    "KLUCBPlusPlus",
    "KeyReusedError",
    "Master",
    "MeanShift",
    "OracleRestart",
    "PageHinkley",
    "PairedDifference",
    "ParetoDelay",
    "Pending",
    "Piecewise",
    "PlayTheWinner",
    "Poisson",
    "PolicyError",
    "Prior",
    "Replay",
    "Restarting",
    "Run",
    "SettledDecisionError",
    "Sinusoid",
    "SlidingWindowThompson",
    "Softmax",
    "StateFileError",
    "Stationary",
    "Store",
    "StoreError",
    "Summary",
    "Table",
    "Thompson",
    "TokenError",
    "ToldOtherwiseError",
    "TopTwoThompson",
    "Trace",
    "TrackAndStop",
    "TruncatedGaussian",
    "TsallisINF",
    "UCBTuned",
    "UnknownDecisionError",
    "Warmed",
    "Warmth",
    "arms",
    "detector",
    "detectors",
    "family",
    "kit",
    "policies",
    "policy",
    "simulate",
    "state_size",
    "theory",
    "trace",
    "warm",
]

_ROOMS = ("fleet", "lab", "replay", "simulation", "store", "testing")
_ON_FIRST_USE = {
    "ArmSummary": "live.summary",
    "BestArmVerdict": "live.verdict",
    "Estimate": "replay.estimates",
    "Evaluation": "replay.evaluation",
    "Evaluations": "replay.evaluation",
    "FixedDelay": "simulation.delays",
    "Fleet": "fleet",
    "GeometricDelay": "simulation.delays",
    "Identification": "simulation.identification",
    "PairedDifference": "replay.evaluation",
    "ParetoDelay": "simulation.delays",
    "Replay": "replay.replay",
    "Run": "simulation.run",
    "Store": "store",
    "Summary": "live.summary",
    "Trace": "simulation.run",
    "Warmed": "live.warming",
    "Warmth": "live.warming",
    "simulate": "simulation.simulate",
    "trace": "simulation.simulate",
    "warm": "live.warming",
}
"""Names, and the modules that they are imported from when a program first uses them. Most programs
use few of these, and importing all of them would take as long as the rest of the package."""

# Checkers must not see the next function: with it, every misspelt name would be a known one.
if not TYPE_CHECKING:

    def __getattr__(name):
        """Import what a program uses for the first time."""
        if name in _ROOMS:
            return _import_module(f"lastblock.{name}")
        if name in _ON_FIRST_USE:
            found = getattr(_import_module(f"lastblock.{_ON_FIRST_USE[name]}"), name)
            globals()[name] = found
            return found
        # Tools ask every module for names such as __wrapped__, which nobody has misspelt.
        near = None if name.startswith("_") else _nearest(name, [*__all__, "lab", "testing"])
        hint = "" if near is None else f"; did you mean {near!r}?"
        raise AttributeError(f"module 'lastblock' has no attribute {name!r}{hint}", name=name)

    def __dir__():
        """Return the names that completion offers, with those that are imported on first use."""
        return sorted({*globals(), *_ROOMS, *_ON_FIRST_USE})
