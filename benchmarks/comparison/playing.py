"""Play policies in the worlds of the comparison, with few compilations.

A kernel is compiled for each policy, number of arms, capacity and set of arm families: for 60
problems that would be thousands. Here all play in records with room for the most arms, the longest
horizon and the longest window, and can draw from every family of arms. No decision depends on the
room that is left, so the regrets are those of `lastblock.simulate`.
"""

import ast
import functools
import hashlib
import json
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import lastblock as lb
from benchmarks.comparison.rows import Row, case_of, row_named
from benchmarks.comparison.worlds import World, single
from benchmarks.suite.problems import ARMS, LONGEST
from lastblock.core.families import FAMILIES, families
from lastblock.core.layout import grows, state_dtype
from lastblock.core.registry import describe
from lastblock.kernels.compile_cache import KERNEL_FOLDERS, PACKAGE
from lastblock.kernels.streams import key_of
from lastblock.lab.descriptions import describe_environment
from lastblock.simulation.compiling import Job
from lastblock.simulation.simulate import Player

TIMED = "bernoulli-changes"
"""The world in which policies are timed, and their records measured."""
_TURNS = 5


WINDOWED = (lb.SWLBSDA, lb.SWUCB, lb.SWKLUCB, lb.SlidingWindowThompson)
"""Policies whose record has room for a window that depends on the problem."""


class RoomyPlayer(Player):
    """A player whose code serves every problem with this kind of environment."""

    def __init__(self, policy: Any, environment: Any, horizon: int, seed: int) -> None:
        super().__init__(policy, environment, horizon, key_of(seed), np.array([horizon]))
        arms, longest = max(*ARMS, environment.n_arms), max(LONGEST, horizon)
        roomy = policy._replace(window=longest) if isinstance(policy, WINDOWED) else policy
        self._dtype = state_dtype(roomy, environment.n_arms, longest, room=arms)
        table: Any = self._fixed[1]
        every = families(range(len(FAMILIES)))
        self._fixed = policy, table._replace(families=every)


# What the results depend on.


@functools.cache
def _imports(path: Path) -> tuple[Path, ...]:
    """Return the kernel sources that a source file imports."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("lastblock."):
            parts = str(node.module).split(".")[1:]
            if parts[0] in KERNEL_FOLDERS:
                names = [PACKAGE.joinpath(*parts).with_suffix(".py")]
                names += [PACKAGE.joinpath(*parts, f"{name.name}.py") for name in node.names]
                found += [name for name in names if name.is_file()]
    return tuple(found)


@functools.cache
def sources_hash(modules: tuple[str, ...]) -> str:
    """Return a hash of these modules of the package and of all kernel sources they import.

    `lastblock.lab` addresses its chunks by a hash of all sources, so that one new policy would void
    the results of all others.
    """
    todo = [PACKAGE.parent.joinpath(*module.split(".")).with_suffix(".py") for module in modules]
    seen: set[Path] = set()
    while todo:
        path = todo.pop()
        if path not in seen:
            seen.add(path)
            todo += _imports(path)
    digest = hashlib.blake2b(digest_size=8)
    for path in sorted(seen):
        digest.update(path.relative_to(PACKAGE).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _modules(part: Any) -> Iterator[str]:
    yield type(part).__module__
    for value in part:
        if hasattr(value, "layout"):
            yield from _modules(value)


def policy_sources(policy: Any) -> str:
    """Return a hash of the sources of a policy, and of what it wraps."""
    environments = ("lastblock.environments.piecewise", "lastblock.environments.drifting")
    arms = sorted({cls.__module__ for cls in FAMILIES.values()})
    modules = {*_modules(policy), "lastblock.engine.simulate", *environments, *arms}
    return sources_hash(tuple(sorted(modules)))


def address(policy: Any, world: World, replications: int) -> str:
    """Return a hash of everything that the regrets depend on."""
    made = world.problem
    about = [
        describe(policy),
        describe_environment(made.environment),
        made.horizon,
        made.seed,
        replications,
        policy_sources(policy),
    ]
    text = json.dumps(about, sort_keys=True, default=repr)
    return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()


# Work for other processes, which know a policy by its name.


class Task(NamedTuple):
    """Some worlds for one policy."""

    row: str
    worlds: tuple[World, ...]


def player_of(row: Row, world: World) -> RoomyPlayer:
    """Return a policy that plays in a world, with code that it shares with other worlds."""
    made = world.problem
    return RoomyPlayer(row.policy(case_of(made)), made.environment, made.horizon, made.seed)


def compile_for(task: Task) -> None:
    """Compile what a task will need; without worlds, what is timed."""
    row = row_named(task.row)
    for world in task.worlds:
        player_of(row, world).compile()
    if not task.worlds:
        policy, world = timed(row)
        Job(policy, world.problem.environment, world.problem.horizon).compile()


def kernels_of(tasks: Sequence[Task]) -> list[Task]:
    """Return tasks to compile, one for each piece of code that is missing."""
    found: dict[Any, Task] = {}
    for task in tasks:
        for world in task.worlds:
            player = player_of(row_named(task.row), world)
            found.setdefault(player.signature, Task(task.row, (world,)))
    return list(found.values())


def perform(task: Task) -> dict[str, list[float]]:
    """Play a policy in the worlds of a task; return the final regrets by world."""
    row = row_named(task.row)
    found = {}
    for world in task.worlds:
        player = player_of(row, world)
        outcome = player.room(world.replications_for(row.slowness))
        player.play(0, outcome)
        found[world.name] = [float(regret) for regret in outcome.regret[:, -1]]
    return found


def timed(row: Row) -> tuple[Any, World]:
    """Return a policy as it is timed, and the world."""
    world = next(world for world in single() if world.name == TIMED)
    return row.policy(case_of(world.problem)), world


# Time and memory.


def times_in_turn(row: Row, unit: Row) -> tuple[float, float]:
    """Return the nanoseconds a step of a policy and of the unit, in exact records on one core.

    Both take turns. The shortest CPU time of each counts, since other programs only ever add time,
    by caches that they empty.
    """
    own, theirs = _Clock(row), _Clock(unit)
    pairs = [(own.nanoseconds(), theirs.nanoseconds()) for _ in range(_TURNS)]
    return min(a for a, _ in pairs), min(b for _, b in pairs)


class _Clock:
    """Times a policy."""

    def __init__(self, row: Row) -> None:
        policy, world = timed(row)
        made = world.problem
        self._player = Job(policy, made.environment, made.horizon).player().compile()
        self._outcome = self._player.room(4 if row.slowness > 1 else 20)

    def nanoseconds(self) -> float:
        started = time.thread_time()
        self._player.play(0, self._outcome)
        steps = self._outcome.regret.shape[0] * self._player.horizon
        return (time.thread_time() - started) / steps * 1e9


def size_of(row: Row) -> tuple[int, bool]:
    """Return the bytes of a policy's state after a run, and whether it grows with time."""
    policy, world = timed(row)
    environment, horizon = world.problem.environment, world.problem.horizon
    size = state_dtype(policy, environment.n_arms, horizon).itemsize
    return int(size), grows(policy, environment.n_arms)


def machine() -> str:
    """Return the number of cores and the kind of processor, in words."""
    about = Path("/proc/cpuinfo")
    lines = about.read_text(encoding="utf-8").splitlines() if about.is_file() else []
    kinds = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"a machine with {os.cpu_count()} cores ({kinds[0] if kinds else 'of an unknown kind'})"
