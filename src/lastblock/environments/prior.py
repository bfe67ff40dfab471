"""Arms that are drawn anew for each replication, from a prior: the mean regret is Bayes regret."""

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from lastblock.core.families import FAMILIES, Arm, code_of, families, hull_of, scale_of, table_of
from lastblock.core.support import Scale, Support
from lastblock.environments.piecewise import Phases, Stationary
from lastblock.kernels.streams import (
    ENVIRONMENT,
    STREAM_WORDS,
    Stream,
    key_of,
    next_word,
    seed_stream,
)
from lastblock.support.checks import at_least
from lastblock.support.spelling import advice

Law: TypeAlias = Any
"""What a parameter may be: a number, or an arm whose rewards are the values of the parameter."""

_SALT = np.uint64(0x5072696F72)  # a stream of its own: draws of arms are not those of rewards
_TRIALS = 100  # replications whose arms are drawn to find mistakes


class Prior:
    """An environment whose arms are drawn anew for each replication, and then stay the same.

    Replication i of a seed always has the same arms, for all policies and any number of threads.
    The regret is that against the best of the arms drawn, so its mean is the Bayes regret.

    Parameters
    ----------
    family
        The family of the arms, such as `Bernoulli`.
    arms
        The number of arms, at least 2.
    **parameters
        The parameters of the family. Each is a number, a law (an arm of any family, whose rewards
        are the values: ``Beta(1, 1)`` for a uniform one), or a list with one of these for each arm.

    Raises
    ------
    ValueError
        If the family or a parameter is unknown, or a law gives values that the family refuses.

    Examples
    --------
    >>> import lastblock as lb
    >>> prior = lb.Prior(lb.Bernoulli, 10, mean=lb.Beta(1, 9))
    >>> run = lb.simulate(lb.LBSDALM(), prior, horizon=100, replications=3, seed=1)
    >>> run.pulls.shape
    (3, 10)
    """

    def __init__(self, family: type[Any], arms: int, **parameters: Law) -> None:
        name = getattr(family, "__name__", repr(family))
        if FAMILIES.get(name) is not family:
            raise ValueError(f"family={family!r} is not an arm family; {advice(name, FAMILIES)}")
        self.family = family
        self._arms = at_least(2, arms, "arms")
        self.parameters = parameters
        unknown = [key for key in parameters if key not in family._fields]
        if unknown:
            hint = advice(unknown[0], family._fields)
            raise ValueError(f"{name} has no parameter {unknown[0]!r}; {hint}")
        missing = [k for k in family._fields if k not in (*parameters, *family._field_defaults)]
        if missing:
            raise ValueError(f"{name} needs {' and '.join(missing)}; give {missing[0]}=…")
        self._laws = [self._settings(k) for k in range(self._arms)]
        if not any(isinstance(value, _Law) for arm in self._laws for value in arm.values()):
            raise ValueError(
                "Prior: no parameter is a law, so that all replications would have the same arms; "
                f"give one, such as {next(iter(parameters), 'mean')}=Beta(1, 1), or use Stationary"
            )
        key = key_of(0)
        self._examples = [arm for i in range(_TRIALS) for arm in self.draw(key, i).phases[0]]

    def _settings(self, k: int) -> dict[str, Any]:
        """Return the parameters of arm `k`: numbers and laws."""
        found = {}
        for key, given in self.parameters.items():
            if isinstance(given, list) and len(given) != self._arms:
                raise ValueError(
                    f"{key} has {len(given)} values for {self._arms} arms; give one for each"
                )
            value = given[k] if isinstance(given, list) else given
            found[key] = _Law.of(value) if type(value).__name__ in FAMILIES else value
        return found

    def draw(self, key: Stream, replication: int) -> Stationary:
        """Return the arms of a replication.

        Parameters
        ----------
        key
            The key of the seed, from `lastblock.kernels.streams.key_of`.
        replication
            The number of the replication.

        Raises
        ------
        ValueError
            If the family refuses the values drawn.
        """
        stream, scratch = np.empty(STREAM_WORDS, np.uint64), np.empty(STREAM_WORDS, np.uint64)
        seed_stream(stream, key ^ _SALT, replication, ENVIRONMENT)
        arms: list[Arm] = []
        for settings in self._laws:
            values = {
                name: value.draw(next_word(stream), scratch) if isinstance(value, _Law) else value
                for name, value in settings.items()
            }
            try:
                arms.append(self.family(**values))
            except ValueError as error:
                raise ValueError(
                    f"Prior: a law gave a value that is no parameter: {error}"
                ) from None
        return Stationary(arms)

    def __repr__(self) -> str:
        given = "".join(f", {key}={value!r}" for key, value in self.parameters.items())
        return f"Prior({self.family.__name__}, {self._arms}{given})"

    @property
    def n_arms(self) -> int:
        """The number of arms."""
        return self._arms

    @property
    def changes(self) -> tuple[int, ...]:
        """Empty: the arms of a replication never change."""
        return ()

    @property
    def support(self) -> Support | None:
        """The rewards of all arms; None if the family does not say, or they depend on the draw."""
        supports = {hull_of([arm]) for arm in self._examples}
        return supports.pop() if len(supports) == 1 else None

    @property
    def reward_scale(self) -> Scale | None:
        """Where rewards lie in a hundred draws; None if arms have no standard deviation `std`."""
        return scale_of(self._examples)

    @property
    def undeclared(self) -> str | None:
        """The name of the family if it does not say which rewards it gives, or these vary."""
        return self.family.__name__ if self.support is None else None

    def compile(self, horizon: int) -> Phases:
        """Return the arms of one replication as arrays; `simulate` compiles kernels for these."""
        return self.draw(key_of(0), 0).compile(horizon)


class _Law(NamedTuple):
    """The law of a parameter: an arm, and what kernels need to draw from it."""

    arm: Arm
    code: int
    numbers: tuple[float, float, float, float]
    table: Any
    drawing: Any

    @classmethod
    def of(cls, arm: Arm) -> "_Law":
        given: Sequence[float] = arm.parameters()
        a, b, c, d = (*map(float, given), *([0.0] * (4 - len(given))))
        code = code_of(arm)
        return cls(arm, code, (a, b, c, d), table_of(arm), families({code}))

    def draw(self, word: np.uint64, scratch: Stream) -> float:
        return float(self.drawing.draw(self.code, *self.numbers, self.table, 0, word, scratch))
