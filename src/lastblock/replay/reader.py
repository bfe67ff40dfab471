"""Passes over a log: a policy reads the events, and learns from those that match its decisions."""

from typing import Any

import numpy as np
import numpy.typing as npt

from lastblock.core.failures import specialise
from lastblock.core.layout import state_dtype
from lastblock.core.protocol import Policy
from lastblock.core.support import first_outside, refusal, support_of
from lastblock.engine.replay import Passes, replay
from lastblock.kernels.record_arrays import RecordArray
from lastblock.kernels.streams import STREAM_WORDS, Stream
from lastblock.replay.evaluation import Evaluation
from lastblock.replay.logs import Log
from lastblock.replay.uniformity import check_uniform
from lastblock.support.checks import at_least
from lastblock.support.parallel import run_in_threads


class LogReader:
    """A policy and a log with a compiled loop, which makes passes over the log on threads.

    Parameters
    ----------
    policy
        The policy.
    log
        The log.
    horizon
        End a pass after this number of matches; None to read the whole log.
    key
        The seed, as four words.

    Raises
    ------
    ValueError
        If the policy cannot be replayed on this log.
    """

    def __init__(self, policy: Policy, log: Log, horizon: int | None, key: Stream) -> None:
        check_uniform(log)
        wrong = first_outside(log.rewards, support_of(policy))
        if wrong is not None:
            raise refusal(policy, f"event {wrong} of the log has the reward {log.rewards[wrong]:g}")
        horizon = None if horizon is None else at_least(1, horizon, "horizon")
        self._policy, self._log, self._horizon, self._key = policy, log, horizon, key
        self._longest = log.arms.size if horizon is None else horizon
        # An arm cannot match more often than it was logged, except in a resampled log.
        most = min(int(np.bincount(log.arms).max()), self._longest)
        self._room = most if getattr(policy, "grows", False) else None

    def evaluate(
        self,
        replications: int,
        bootstrap: int,
        times: npt.NDArray[np.int64],
        threads: int,
        progress: bool | None,
    ) -> Evaluation:
        """Make passes over the log, and over resampled logs, and return what came of them."""
        log = self._log
        passes, seconds = self.read(replications, False, times, threads, progress)
        end = np.array([log.arms.size])
        again, more = self.read(bootstrap, True, end, threads, progress)
        n = passes.matched[:, -1]
        with np.errstate(divide="ignore", invalid="ignore"):  # it is NaN for a single match
            errors = np.sqrt(passes.squares / (n - 1) / n)
        return Evaluation(
            policy=self._policy,
            arms=log.labels,
            events=log.arms.size,
            times=times,
            matched=passes.matched,
            reward=passes.reward,
            pulls=passes.pulls,
            errors=errors,
            resampled=again.reward[:, -1] / again.matched[:, -1],
            best_mean=float(np.nanmax(log.means())),
            seconds=seconds + more,
        )

    def read(
        self,
        n: int,
        resampled: bool,
        times: npt.NDArray[np.int64],
        threads: int,
        progress: bool | None,
        traced: int = 0,
    ) -> tuple[Passes, float]:
        """Make `n` passes; return their outcome, and the seconds they took."""
        passes = Passes.empty(n, times.size, len(self._log.labels), traced)
        if n == 0:
            return passes, 0.0
        run, state = self._compiled(self._room, passes.part(0, 0), times)

        def chunk(first: int, last: int) -> None:
            room, runs, states = self._room, run, state
            while first < last:
                part = passes.part(first, last)
                first += runs(*self._arguments(np.empty(1, states), first, resampled, times, part))
                if first < last:  # the record was too small for a resampled log
                    room = 2 * (room or 1) + 1
                    runs, states = self._compiled(room, part, times)

        seconds = run_in_threads(chunk, n, len(self._log.arms), threads, progress)
        self._check(passes.matched[:, -1], resampled)
        return passes, seconds

    def _compiled(
        self, room: int | None, passes: Passes, times: npt.NDArray[np.int64]
    ) -> tuple[Any, np.dtype[Any]]:
        state = state_dtype(self._policy, len(self._log.labels), room)
        arguments = self._arguments(np.empty(1, state), 0, False, times, passes)
        return specialise(replay, *arguments), state

    def _arguments(
        self,
        state: npt.NDArray[Any],
        first: int,
        resampled: bool,
        times: npt.NDArray[np.int64],
        passes: Passes,
    ) -> tuple[Any, ...]:
        log, stream = self._log, np.empty(STREAM_WORDS, np.uint64)
        fixed = self._policy, RecordArray(state), self._key, stream, first, log.arms, log.rewards
        return *fixed, resampled, self._longest, times, passes

    def _check(self, matched: npt.NDArray[np.int64], resampled: bool) -> None:
        fewest, size = int(matched.min()), self._log.arms.size
        log = "a resampled log" if resampled else "the log"
        if fewest == 0:
            raise ValueError(
                f"no event of {log} matched what the policy asked for: {size} events are too few "
                f"for {len(self._log.labels)} arms; give a longer log"
            )
        if self._horizon is not None and fewest < self._horizon:
            raise ValueError(
                f"{log} has only {fewest} matches, horizon={self._horizon} asks for more; choose a "
                "smaller horizon, or give a longer log: about one event in K matches"
            )
