"""Evaluate policies on a log of decisions, by replay and by inverse propensities."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from lastblock.core.protocol import Policy
from lastblock.core.registry import require_policy
from lastblock.environments.piecewise import Piecewise
from lastblock.kernels.streams import Seed, key_of
from lastblock.live.labels import Label
from lastblock.replay.estimates import (
    Absent,
    Estimate,
    Followed,
    check_probabilities,
    check_weights,
    estimate,
    follow,
)
from lastblock.replay.evaluation import ALONE, Evaluation, Evaluations, by_label
from lastblock.replay.logs import Log, read_log, split_by_choices
from lastblock.replay.reader import LogReader
from lastblock.replay.uniformity import reject
from lastblock.replay.world import environment_of
from lastblock.simulation.simulate import times_taken
from lastblock.support.checks import at_least, whole
from lastblock.support.columns import CHOICES, Source
from lastblock.support.parallel import check_threads


class Replay:
    """A log of decisions, on which to evaluate policies other than the one that decided.

    Parameters
    ----------
    log
        A CSV, Parquet or JSON lines file (.csv, .parquet, .jsonl), a data frame, a mapping of
        columns, a structured array, or the arrays ``(arms, rewards)`` or
        ``(arms, rewards, propensities)``.
    arm, reward
        The names of these columns. Arms are strings or whole numbers.
    propensity
        The column with the probability of each logged arm, or one number for all events.
    time
        The column to sort by; None if the rows are in order.
    arms
        The labels of all arms, or their number; by default the arms in the log.
    choices
        The column of the arms that could be chosen: in each row a list of labels, or the same as
        JSON text. A log needs it if arms came and went; without it, every arm counts as one that
        could be chosen in every event. By default the column "choices", which stores export, if
        there is one; None to ignore it.

    Raises
    ------
    ValueError
        If the log cannot be used. The message names the column, and the row counted from 0.

    Examples
    --------
    >>> import lastblock as lb
    >>> log = {"arm": ["a", "b", "b", "a", "b", "a"], "reward": [0, 1, 1, 0, 1, 0]}
    >>> replay = lb.Replay(log, propensity=0.5)
    >>> replay.estimate("b").ips.value
    1.0

    References
    ----------
    Li, Chu, Langford & Wang. Unbiased offline evaluation of contextual-bandit-based news article
    recommendation algorithms. WSDM 2011.
    """

    def __init__(
        self,
        log: Source,
        *,
        arm: str = "arm",
        reward: str = "reward",
        propensity: str | float | None = None,
        time: str | None = None,
        arms: Sequence[Label] | int | None = None,
        choices: str | None = CHOICES,
    ) -> None:
        self._log = read_log(log, arm, reward, propensity, time, arms, choices)

    @classmethod
    def _of(cls, log: Log) -> "Replay":
        new = cls.__new__(cls)
        new._log = log
        return new

    @property
    def arms(self) -> tuple[Label, ...]:
        """The labels of the arms."""
        return self._log.labels

    @property
    def counts(self) -> Mapping[Label, int]:
        """The number of events of each arm, by label."""
        return dict(zip(self.arms, self._log.counts().tolist(), strict=True))

    @property
    def means(self) -> Mapping[Label, float]:
        """The mean reward of each arm in the log, by label; NaN for an arm without events."""
        return dict(zip(self.arms, self._log.means().tolist(), strict=True))

    @property
    def repeats(self) -> float:
        """How often two events in a row have the same arm, relative to chance.

        It is about 1 if the arms were drawn independently, as replay assumes. If it is larger, they
        were not. The estimate is still right if rewards do not depend on that, but the number of
        matches differs.
        """
        arms = self._log.arms
        if arms.size < 2:
            return math.nan
        chance = np.square(self._log.counts() / arms.size).sum()
        return float((arms[1:] == arms[:-1]).mean() / chance)

    def __len__(self) -> int:
        return self._log.arms.size

    def __iter__(self) -> Iterator[tuple[Any, float]]:
        """Yield the arm and the reward of each event, in the order of time."""
        log = self._log
        labels = (log.labels[k] for k in log.arms.tolist())
        return zip(labels, log.rewards.tolist(), strict=True)

    def __repr__(self) -> str:
        return (
            f"<Replay of {len(self)} events: {len(self.arms)} arms, "
            f"mean reward {self._log.rewards.mean():.4g}>"
        )

    @overload
    def evaluate(
        self,
        policy: Policy,
        *,
        replications: int = 1,
        bootstrap: int = 0,
        horizon: int | None = None,
        seed: Seed = None,
        times: Iterable[int] | None = None,
        threads: int | None = None,
        progress: bool | None = None,
    ) -> Evaluation: ...
    @overload
    def evaluate(
        self,
        policy: Sequence[Policy] | Mapping[str, Policy],
        *,
        replications: int = 1,
        bootstrap: int = 0,
        horizon: int | None = None,
        seed: Seed = None,
        times: Iterable[int] | None = None,
        threads: int | None = None,
        progress: bool | None = None,
    ) -> Evaluations: ...
    def evaluate(
        self,
        policy: Policy | Sequence[Policy] | Mapping[str, Policy],
        *,
        replications: int = 1,
        bootstrap: int = 0,
        horizon: int | None = None,
        seed: Seed = None,
        times: Iterable[int] | None = None,
        threads: int | None = None,
        progress: bool | None = None,
    ) -> Evaluation | Evaluations:
        """Replay the log to a policy that learns from it; for uniform logging only.

        When the policy asks for an arm, it gets the reward of the next event with that arm; the
        events before that are skipped. Given the number of matching events, their mean reward is an
        unbiased estimate of the policy's over as many steps, if the events are independent and the
        logged arms were drawn uniformly.

        Parameters
        ----------
        policy
            The policy to evaluate; or several, as a list or as a mapping from labels. They meet the
            same resampled logs, so that their differences are paired.
        replications
            The number of passes over the log, each with its own random stream for the policy. Pass
            i uses that of replication i; pass 0 decides like a `Bandit` with the same seed.
        bootstrap
            The number of passes over resampled logs (as many events, drawn with replacement): 0, or
            at least 2. They give a standard error and an interval that cover the variation of the
            log. Resampling loses the order of events, so use it only if nothing changes over time.
        horizon
            End a pass after this number of matches; None to read the whole log.
        seed, threads, progress
            As for `simulate`; the result does not depend on the last two.
        times
            The numbers of events read at which to note the curve; by default about 200.

        Returns
        -------
        Evaluation or Evaluations
            The estimate, its error, and the course of each pass; for several policies, these by
            label, and their differences.

        Raises
        ------
        ValueError
            If the log is not uniform, the policy cannot take its rewards, too few events match, or
            an argument is out of range.
        """
        several = by_label(policy)
        for each in several.values():
            require_policy(each)
        replications = at_least(1, replications, "replications")
        bootstrap = whole(bootstrap, "bootstrap")
        if bootstrap < 0 or bootstrap == 1:
            raise ValueError(f"bootstrap={bootstrap} must be 0 or at least 2")
        threads = check_threads(threads)
        taken = times_taken(times, len(self))
        key = key_of(seed)
        readers = {
            label: LogReader(each, self._log, horizon, key) for label, each in several.items()
        }
        found = {
            label: reader.evaluate(replications, bootstrap, taken, threads, progress)
            for label, reader in readers.items()
        }
        return found[ALONE] if ALONE in found else Evaluations(found)

    def matches(
        self, policy: Policy, *, horizon: int | None = None, seed: Seed = None
    ) -> npt.NDArray[np.int64]:
        """Return the rows of the log that match in pass 0 of `evaluate`.

        Parameters
        ----------
        policy, horizon, seed
            As for `evaluate`.

        Returns
        -------
        array
            The numbers of the rows, counted from 0, in order.

        Raises
        ------
        ValueError
            As for `evaluate`.
        """
        require_policy(policy)
        reader = LogReader(policy, self._log, horizon, key_of(seed))
        passes, _ = reader.read(1, False, np.array([len(self)]), 1, False, traced=len(self))
        return self._log.rows[passes.events[0, : passes.matched[0, -1]]]

    def estimate(
        self,
        target: Label | Mapping[Label, float] | Sequence[float] | npt.ArrayLike | None = None,
        *,
        logged: npt.ArrayLike | None = None,
        absent: Absent | None = None,
    ) -> Estimate:
        """Estimate the mean reward of a policy that does not learn, by inverse propensities.

        Parameters
        ----------
        target
            The policy: an arm that it always pulls; or the probability of each arm, as a mapping or
            in the order of `arms`; or a table of these with one row per row of the log. By default,
            the policy that wrote the log.
        logged
            Instead of `target`, its probability of the logged arm, for each row of the log.
        absent
            What to do about events in which `target` takes an arm that could not be chosen.
            "skip" leaves them out, so the estimate is for the others. "renormalise" shares the
            probability of such arms out among the target's other arms, and leaves out only events
            in which none of them could be chosen. By default they are left out if the target is the
            same in all events, and an error if it is a table.

        Returns
        -------
        Estimate
            The estimates with their errors, the effective number of events, and how many events are
            left out and why.

        Raises
        ------
        ValueError
            If the log has no propensities, `target` takes arms that were never logged or could
            never be chosen, the weights show that it could not be followed in all events that
            count, or an argument is not a table of probabilities.
        """
        log = self._log
        if logged is not None:
            if target is not None:
                raise ValueError("give target or logged, not both")
            given = check_probabilities(logged, "logged", (log.size,))[log.rows]
            followed = Followed(given, None, "")
        elif target is None:
            return estimate(np.ones(len(self)), log.rewards)
        else:
            followed = follow(log, target, absent)
        if log.propensities is None:
            raise ValueError(
                "the log has no propensities to weight by; name their column, propensity='…', "
                f"or, if every arm was equally likely, give propensity=1/{len(self.arms)}"
            )
        chances, counted, reason = followed
        if not chances.any():
            raise ValueError("the target takes none of the logged arms, so no event has a weight")
        which = slice(None) if counted is None else counted
        weights, rewards = chances / log.propensities[which], log.rewards[which]
        check_weights(weights)
        return estimate(weights, rewards, len(self) - rewards.size, reason)

    def uniform(self, *, floor: float | None = None, seed: Seed = None) -> "Replay":
        """Return a log with uniform arms, by dropping events at random; `evaluate` can use it.

        An event is kept with probability floor / propensity, so that all arms are equally likely
        among the kept events, a share of about K · floor of all. This is right only if no arm,
        logged or not, ever had a propensity below `floor`.

        Parameters
        ----------
        floor
            The smallest propensity that any arm could have; by default the smallest in the log,
            which is right if the logging policy had such a floor by design.
        seed
            Anything that `numpy.random.SeedSequence` takes; None for a fresh seed.

        Raises
        ------
        ValueError
            If the log has no propensities, some arms could not be chosen all the time, `floor` is
            out of range, or no event is kept.
        """
        return self._of(reject(self._log, floor, seed))

    def by_choices(self) -> tuple["Replay", ...]:
        """Return the log in parts, one for each set of arms that could be chosen.

        In each part all arms could be chosen from the first event to the last, so `uniform` and
        `evaluate` can use it. Events that do not say what could be chosen are in no part.

        Returns
        -------
        tuple of Replay
            The parts, in the order of their first events; the log itself, if it does not say what
            could be chosen.
        """
        return tuple(self._of(part) for part in split_by_choices(self._log))

    def environment(self, periods: int | Sequence[int] = 1) -> Piecewise:
        """Return an environment whose arms give the rewards of the log again, to simulate in.

        The rewards of an arm are drawn from its rewards in the log, with replacement; those of
        different arms are independent. With propensities, each reward counts 1 / propensity, so
        that an arm's mean is its self-normalised estimate: events in which the arm was unlikely
        stand for more.

        Parameters
        ----------
        periods
            The number of periods, with as many events each; or the first event of each, beginning
            with 0. In every period an arm has the rewards of that period. By default the log is one
            period: nothing changes.

        Returns
        -------
        Piecewise
            The environment; `Stationary` if there is one period. Its time steps are the events of
            the log, so ``horizon=len(replay)`` takes as many decisions as the log has.

        Raises
        ------
        ValueError
            If an arm has no event in a period, or `periods` does not fit the log.

        Examples
        --------
        >>> import lastblock as lb
        >>> log = {"arm": ["a", "b"] * 4, "reward": [0, 1, 1, 1, 0, 0, 0, 1]}
        >>> lb.Replay(log).environment()
        Stationary([Bernoulli(mean=0.25), Bernoulli(mean=0.75)])
        >>> lb.Replay(log).environment(periods=2).means(4).tolist()
        [0.0, 0.5]
        """
        return environment_of(self._log, periods)
