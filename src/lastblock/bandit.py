"""One live bandit: ask, tell, save, load."""

import operator
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np

from lastblock import files, snapshot
from lastblock.engine import ask_live, forget_live, open_live, tell_live
from lastblock.errors import StateFileError, UnknownDecisionError
from lastblock.jit import specialise
from lastblock.protocol import Policy, Record, States, build, check_policy, describe
from lastblock.random import Seed, key_of
from lastblock.state import FIRST_ROOM, layout_id, state_dtype

Label: TypeAlias = str | int

LARGEST_REWARD = 1e290
"""Sums of larger rewards could overflow."""


class Decision(NamedTuple):
    """An arm to pull, and the number under which its reward is reported."""

    arm: Label
    id: int


class Bandit:
    """A bandit that decides for a live system.

    `ask` returns a decision at once, whatever is still out; `tell` takes its reward in any order,
    much later or never (`forget`). Told at once, every decision is the one the policy would take in
    `simulate`: with the same seed and rewards, the arms are those of replication 0.

    Parameters
    ----------
    policy
        Any policy of the library, or your own.
    arms
        The labels of the arms (strings or whole numbers), or how many there are.
    seed
        Anything `numpy.random.SeedSequence` takes; None for a fresh one.

    Examples
    --------
    >>> import lastblock as lb
    >>> bandit = lb.Bandit(lb.LBSDALM(), arms=["red", "green", "blue"], seed=7)
    >>> decision = bandit.ask()
    >>> bandit.tell(decision, 1.0)
    >>> sum(bandit.pulls.values())
    1
    """

    def __init__(self, policy: Policy, arms: Sequence[Label] | int, *, seed: Seed = None) -> None:
        check_policy(policy)
        self._labels = _check_labels(arms)
        self._adopt(policy, FIRST_ROOM if getattr(policy, "grows", False) else None)
        specialise(open_live, policy, self._states, 0, 0, key_of(0))(
            policy, self._states, 0, len(self._labels), key_of(seed)
        )
        self._out: dict[int, int] = {}
        self._next_id = 0
        self._told = [0] * len(self._labels)

    def _adopt(self, policy: Policy, room: int | None, old: States | None = None) -> None:
        """Make a record, with the contents of an old one, and look up the kernels compiled for it.

        `room` is how many rewards of an arm fit, for a policy that keeps them all. Nothing is
        changed before everything is there: compiling takes seconds, and may be interrupted.
        """
        states = np.zeros(1, state_dtype(policy, len(self._labels), room))
        ask = specialise(ask_live, policy, states, 0)
        tell = specialise(tell_live, policy, states, 0, 0, 0.0)
        forget = specialise(forget_live, states, 0, 0)
        if old is not None:
            _copy(old[0], states[0])
        self._policy, self._room, self._states = policy, room, states
        self._ask, self._tell, self._forget = ask, tell, forget

    @property
    def policy(self) -> Policy:
        return self._policy

    @property
    def arms(self) -> tuple[Label, ...]:
        """The labels."""
        return self._labels

    @property
    def pulls(self) -> Mapping[Label, int]:
        """How many rewards each arm has had."""
        return dict(zip(self._labels, self._told, strict=True))

    @property
    def pending(self) -> tuple[Decision, ...]:
        """Decisions without a reward yet, oldest first."""
        return tuple(Decision(self._labels[arm], id) for id, arm in self._out.items())

    @property
    def state_size(self) -> int:
        """The size of the state in bytes."""
        return int(self._states.nbytes)

    def ask(self) -> Decision:
        """The next decision. It never waits: see `docs/late-rewards.md` for rewards that do."""
        arm = int(self._ask(self._policy, self._states, 0))
        id = self._next_id
        self._next_id = id + 1
        self._out[id] = arm
        return Decision(self._labels[arm], id)

    def tell(self, decision: Decision | int, reward: float) -> None:
        """The reward of a decision (or of its id). Errors change nothing."""
        id, arm = self._find(decision)
        if isinstance(reward, str | bytes):
            raise ValueError(f"reward={reward!r} is text; give a number")
        try:
            value = float(reward)
        except (TypeError, ValueError, OverflowError):
            raise ValueError(f"reward={reward!r} is not a number that fits a float") from None
        if not -LARGEST_REWARD < value < LARGEST_REWARD:  # NaN fails as well
            raise ValueError(
                f"reward={reward!r} must be finite and below {LARGEST_REWARD:g} in size; "
                "to drop the decision, forget it"
            )
        while not self._tell(self._policy, self._states, 0, arm, value):
            self._grow()
        del self._out[id]
        self._told[arm] += 1

    def forget(self, decision: Decision | int) -> None:
        """Drop a decision whose reward will never come."""
        id, arm = self._find(decision)
        self._forget(self._states, 0, arm)
        del self._out[id]

    def _find(self, decision: Decision | int) -> tuple[int, int]:
        """The id and the arm of a decision that is out."""
        id = decision.id if isinstance(decision, Decision) else decision
        arm = self._out.get(id) if type(id) is int else None
        if arm is None:
            raise self._unknown(id)
        if isinstance(decision, Decision) and decision.arm != self._labels[arm]:
            raise UnknownDecisionError(
                f"decision {id} was for arm {self._labels[arm]!r}, not {decision.arm!r}; "
                "tell what ask() gave, to the bandit that gave it"
            )
        return id, arm

    def _unknown(self, id: object) -> UnknownDecisionError:
        if type(id) is int and 0 <= id < self._next_id:
            return UnknownDecisionError(
                f"decision {id} has been told or forgotten already; tell each decision once"
            )
        return UnknownDecisionError(f"decision {id!r} was never asked for; tell what ask() gave")

    def _grow(self) -> None:
        """Double the record of a policy that keeps every reward."""
        self._adopt(self._policy, 2 * (self._room or FIRST_ROOM) + 1, self._states)

    def to_bytes(self) -> bytes:
        """The whole bandit, versioned and checksummed; `from_bytes` continues bit for bit."""
        return snapshot.pack(
            {
                "policy": describe(self._policy),
                "room": self._room,
                "layout": layout_id(self._states.dtype),
                "arms": list(self._labels),
                "told": self._told,
                "next_id": self._next_id,
                "out": [[id, arm] for id, arm in self._out.items()],
            },
            self._record_bytes(),
        )

    def _record_bytes(self) -> bytes:
        """The record, little-endian; padding is zero, so that equal states have equal bytes."""
        little = np.zeros(1, self._states.dtype.newbyteorder("<"))
        little[:] = self._states
        return little.tobytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> "Bandit":
        """A bandit from `to_bytes`, or a `StateFileError` that says what is wrong with the data."""
        about, payload = snapshot.unpack(data)
        try:
            self = cls.__new__(cls)
            self._labels = _check_labels(about["arms"])
            self._told = [int(n) for n in about["told"]]
            self._next_id = int(about["next_id"])
            self._out = {int(id): int(arm) for id, arm in about["out"]}
            self._adopt(build(about["policy"]), about["room"])
            dtype = self._states.dtype
            if about["layout"] != layout_id(dtype) or len(payload) != dtype.itemsize:
                raise ValueError("its record has another layout")
            self._states[:] = np.frombuffer(payload, dtype=dtype.newbyteorder("<"))
        except (KeyError, TypeError, ValueError) as error:
            raise StateFileError(
                f"the state does not fit this version of lastblock: {error}; "
                "load it with the version that wrote it"
            ) from error
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the bandit to a file, all or nothing."""
        files.write(Path(path), self.to_bytes())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Bandit":
        """The bandit of a file that `save` wrote."""
        return cls.from_bytes(Path(path).read_bytes())

    def __repr__(self) -> str:
        return f"<Bandit {self._policy}: {self.pulls}, {len(self._out)} out>"


def _check_labels(arms: Sequence[Label] | int) -> tuple[Label, ...]:
    labels: tuple[Label, ...]
    if isinstance(arms, str | bytes | set | frozenset | dict):
        raise ValueError(f"arms={arms!r} is a {type(arms).__name__}; give a list of labels")
    try:
        labels = tuple(range(operator.index(arms)))  # type: ignore[arg-type]  # is it a number?
    except TypeError:
        try:
            labels = tuple(_check_label(label) for label in arms)  # type: ignore[union-attr]  # then not
        except TypeError:
            raise ValueError(f"arms={arms!r}: give a list of labels, or a whole number") from None
    if len(set(labels)) < len(labels):
        raise ValueError(f"arms={list(labels)} repeats a label; give each arm its own")
    if len(labels) < 2:
        raise ValueError(f"arms={list(labels)}: a bandit needs at least 2 arms; add arms")
    return labels


def _check_label(label: object) -> Label:
    if isinstance(label, str):
        with suppress(UnicodeEncodeError):
            label.encode()
            return label
    elif not isinstance(label, bool | np.bool_):
        with suppress(TypeError):
            return operator.index(label)  # type: ignore[arg-type]  # that is the question
    raise ValueError(f"arms: label {label!r} must be a string or a whole number")


def _copy(old: Record, new: Record) -> None:
    """Copy a record into one with the same fields and longer axes."""
    for name in old.dtype.names or ():
        if old.dtype[name].names:
            _copy(old[name], new[name])
        elif old.dtype[name].shape:
            new[name][tuple(slice(n) for n in old.dtype[name].shape)] = old[name]
        else:
            new[name] = old[name]
