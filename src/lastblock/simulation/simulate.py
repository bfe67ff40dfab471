"""Monte Carlo simulation: many replications of one policy in one environment."""

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from lastblock.core.failures import specialise
from lastblock.core.layout import state_dtype
from lastblock.core.protocol import Policy, require_environment
from lastblock.core.registry import require_policy
from lastblock.core.support import check_fit
from lastblock.engine.simulate import Outcome, play
from lastblock.kernels.jit import is_foreign, is_kept, signature_of
from lastblock.kernels.record_arrays import RecordArray
from lastblock.kernels.streams import Seed, Stream, key_of
from lastblock.simulation.delays import Delay, book_of, check_delay
from lastblock.simulation.identification import Examiner, check_world
from lastblock.simulation.run import Environment, Run, Trace
from lastblock.support.checks import at_least, whole
from lastblock.support.intervals import check_confidence
from lastblock.support.parallel import check_threads, compilation_bar, run_in_threads

LONGEST_HORIZON = 1 << 53
MOST_REPLICATIONS = 100_000_000
"""Results keep some numbers of each replication in memory."""

_STEPS_KEPT = 1 << 21
"""How many arms and rewards a thread keeps at once for an examiner: 32 MiB of them."""


def simulate(
    policy: Policy,
    environment: Environment,
    *,
    horizon: int,
    replications: int = 1,
    seed: Seed = None,
    delay: Delay | None = None,
    confidence: float | None = None,
    times: Iterable[int] | None = None,
    threads: int | None = None,
    progress: bool | None = None,
) -> Run:
    """Run a policy in an environment, in many replications, on several threads.

    Replication i has its own random streams, derived from `seed` and i. So `threads` and `progress`
    do not change the result, and all policies run with the same seed see the same random draws.

    Parameters
    ----------
    policy
        The policy, such as ``LBSDALM()``.
    environment
        The arms: `Stationary`, `Piecewise` or `Drifting`, or a `Prior` that draws them.
    horizon
        T, the number of pulls in each replication; at least the number of arms.
    replications
        How many independent replications to run.
    seed
        Anything that `numpy.random.SeedSequence` takes; None takes a fresh seed.
    delay
        How late rewards come: `FixedDelay`, `GeometricDelay` or `ParetoDelay`. None: at once. The
        delay of step t in replication i is the same for all policies.
    confidence
        Judge the search for the best arm, too, and note when `Bandit.verdict` would stop it at this
        confidence: see `Run.identification`. For arms whose means do not change. It takes some
        milliseconds for each replication, and memory for its rewards. None: leave it out.
    times
        After which numbers of pulls to record the regret, in increasing order; the horizon is
        added if it is missing. Default: about 200 times, evenly and logarithmically spaced.
    threads
        The number of threads; default: one for each core.
    progress
        Whether to show a progress bar. Default: on a terminal, if the run takes over two seconds.

    Returns
    -------
    Run
        Regret, pulls, detection delays and restarts of every replication.

    Raises
    ------
    ValueError
        If an argument is of the wrong kind or out of range, or if the environment gives rewards
        that the policy does not take; or if `confidence` is given and means change or rewards
        come late.

    Examples
    --------
    >>> import lastblock as lb
    >>> arms = lb.Stationary([lb.Bernoulli(0.4), lb.Bernoulli(0.5), lb.Bernoulli(0.6)])
    >>> run = lb.simulate(lb.LBSDALM(), arms, horizon=1000, replications=20, seed=1)
    >>> run.regret[:, -1].shape, run.pulls.shape
    ((20,), (20, 3))
    """
    require_policy(policy)
    horizon, replications, threads = check_size(environment, horizon, replications, threads)
    check_fit(policy, environment)
    check_delay(delay)
    taken = times_taken(times, horizon)
    player = Player(policy, environment, horizon, key_of(seed), taken, delay)
    examiner = None
    if confidence is not None:
        check_world(environment, delay)
        level, support = check_confidence(confidence), getattr(environment, "support", None)
        examiner = Examiner(level, taken, replications, environment.n_arms, support)
    outcome, seconds = _play(player, replications, 0, threads, progress, examiner)
    found = None if examiner is None else examiner.found
    return Run(policy, environment, horizon, taken, *outcome[:5], seconds, delay, found)


def trace(
    policy: Policy,
    environment: Environment,
    *,
    horizon: int,
    seed: Seed = None,
    delay: Delay | None = None,
) -> Trace:
    """Return the arms and rewards of a single replication, step by step.

    It is the first replication of `simulate` with the same seed.

    Parameters
    ----------
    policy, environment, horizon, seed, delay
        As for `simulate`.

    Returns
    -------
    Trace
        The arm and the reward of every step, also of rewards that come late or never.

    Raises
    ------
    ValueError
        If an argument is of the wrong kind or out of range.
    """
    require_policy(policy)
    horizon, _, _ = check_size(environment, horizon, 1, 1)
    check_fit(policy, environment)
    check_delay(delay)
    player = Player(policy, environment, horizon, key_of(seed), np.array([horizon]), delay)
    outcome, _ = _play(player, 1, horizon, 1, False)
    return Trace(outcome.arms[0], outcome.rewards[0])


class Player:
    """A policy in an environment; it plays any of the replications, on any thread.

    `simulate` and the lab's runner make one for each policy. What it plays with is compiled by
    `compile`, or else by the first `play`.
    """

    def __init__(
        self,
        policy: Policy,
        environment: Environment,
        horizon: int,
        key: Stream,
        times: npt.NDArray[np.int64],
        delay: Delay | None = None,
    ) -> None:
        self._delay = delay
        self._dtype = state_dtype(policy, environment.n_arms, horizon)
        self.policy, self.horizon, self.times = policy, horizon, times
        self._fixed = policy, environment.compile(horizon)
        self._draw = getattr(environment, "draw", None)
        self._key = key
        self._shape = times.size, len(environment.changes) + 1, environment.n_arms
        self._run: Any = None

    @property
    def is_compiled(self) -> bool:
        """Whether `compile` has nothing to do but to load what it did before."""
        return self._run is not None or is_kept(play, *self._arguments(0, self.room(0)))

    @property
    def is_foreign(self) -> bool:
        """Whether code from outside the package is involved, which others may fail to import."""
        return is_foreign(self._fixed)

    @property
    def signature(self) -> tuple[Any, ...]:
        """The types for which the code is compiled; players that share them share the code."""
        return signature_of(*self._arguments(0, self.room(0)))

    def compile(self) -> "Player":
        """Compile the policy for the environment, if that has not been done; return the player."""
        if self._run is None:
            self._run = specialise(play, *self._arguments(0, self.room(0)))
        return self

    def room(self, replications: int, traced: int = 0) -> Outcome:
        """Return empty arrays for the outcome of `replications` replications.

        `traced` is the number of steps whose arms and rewards are recorded, too.
        """
        return Outcome.empty(replications, *self._shape, traced)

    def play(self, first: int, outcome: Outcome) -> None:
        """Play replications `first`, `first + 1`, … until `outcome` is full."""
        run, arguments = self.compile()._run, self._arguments(first, outcome)
        if self._draw is None:
            run(*arguments)
            return
        _, _, state, key, streams, *_, late = arguments
        for i in range(outcome.regret.shape[0]):  # each replication has arms of its own
            world = self._draw(key, first + i).compile(self.horizon)
            own = outcome.part(i, i + 1)
            run(self.policy, world, state, key, streams, first + i, self.times, own, late)

    def play_and_judge(self, first: int, outcome: Outcome, examiner: Examiner) -> None:
        """Play like `play`, a few replications at a time, and let `examiner` judge each of them."""
        size = max(1, _STEPS_KEPT // self.horizon)
        for begin in range(0, outcome.regret.shape[0], size):
            part = outcome.part(begin, begin + size)
            shape = part.regret.shape[0], self.horizon
            part = part._replace(arms=np.empty(shape, np.int64), rewards=np.empty(shape))
            self.play(first + begin, part)
            for i in range(shape[0]):
                place = first + begin + i
                examiner.judge(place, self._means(place), part.arms[i], part.rewards[i])

    def _means(self, replication: int) -> npt.NDArray[np.float64]:
        """Return the true means of the arms at the start of a replication."""
        table = self._fixed[1]
        if self._draw is not None:
            table = self._draw(self._key, replication).compile(self.horizon)
        return np.array([table.mean(0, k) for k in range(self._shape[2])], np.float64)

    def _arguments(self, first: int, outcome: Outcome) -> tuple[Any, ...]:
        # All replications of a chunk use the same record, which stays in the core's own cache.
        state = RecordArray(np.empty(1, self._dtype))
        streams = np.empty((2, 4), np.uint64)
        late = book_of(self._delay, self._key, self.horizon)
        return *self._fixed, state, self._key, streams, first, self.times, outcome, late


def check_size(
    environment: Environment, horizon: int, replications: int, threads: int | None
) -> tuple[int, int, int]:
    """Check the arguments of `simulate`; return `horizon`, `replications` and `threads`."""
    require_environment(environment)
    horizon = whole(horizon, "horizon")
    replications = at_least(1, replications, "replications")
    threads = check_threads(threads)
    if replications > MOST_REPLICATIONS:
        raise ValueError(
            f"replications={replications} must be at most {MOST_REPLICATIONS:,}; "
            "run more in parts, each with a seed of its own"
        )
    if horizon > LONGEST_HORIZON:
        raise ValueError(f"horizon={horizon} must be at most {LONGEST_HORIZON}")
    if horizon < environment.n_arms:
        raise ValueError(
            f"horizon={horizon} is shorter than the {environment.n_arms} arms; "
            "each arm is pulled once first, so choose a longer horizon"
        )
    return horizon, replications, threads


def times_taken(times: Iterable[int] | None, horizon: int) -> npt.NDArray[np.int64]:
    """Return the times at which to record the regret: `times` and the horizon, or about 200."""
    if times is None:
        even = np.linspace(1, horizon, 101)
        logarithmic = np.geomspace(1, horizon, 101)
        return np.unique(np.rint(np.concatenate([even, logarithmic])).astype(np.int64))
    try:
        taken = [whole(t, "times") for t in times]
    except TypeError:
        raise ValueError(f"times={times!r} must be a list of whole numbers") from None
    if len(taken) == 0 or taken[-1] != horizon:
        taken.append(horizon)
    if taken[0] < 1 or any(later <= earlier for earlier, later in pairwise(taken)):
        raise ValueError(f"times must increase, from at least 1 to at most the horizon {horizon}")
    return np.array(taken, dtype=np.int64)


def _play(
    player: Player,
    replications: int,
    traced: int,
    threads: int,
    progress: bool | None,
    examiner: Examiner | None = None,
) -> tuple[Outcome, float]:
    """Play all replications; return the outcome and the seconds it took, without compilation."""
    horizon = player.horizon
    if not player.is_compiled:
        with compilation_bar(type(player.policy).__name__, progress):
            player.compile()
    outcome = player.room(replications, traced)

    def chunk(first: int, last: int) -> None:
        if examiner is None:
            player.play(first, outcome.part(first, last))
        else:
            player.play_and_judge(first, outcome.part(first, last), examiner)

    return outcome, run_in_threads(chunk, replications, horizon, threads, progress)
