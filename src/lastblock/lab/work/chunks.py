"""Chunks of replications: how a worker computes one, and where finished ones are kept.

The address of a chunk is a hash of everything that determines its outcome. So a finished chunk is
never computed again, and a change in a scenario recomputes only what it affects.
"""

import functools
import hashlib
import json
import threading
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lastblock.core.protocol import Policy
from lastblock.core.registry import describe
from lastblock.engine.simulate import Outcome
from lastblock.kernels.compile_cache import KERNEL_FOLDERS, source_hash
from lastblock.kernels.fingerprint import fingerprint
from lastblock.kernels.streams import key_of
from lastblock.lab.descriptions import describe_environment
from lastblock.live import persistence as snapshot
from lastblock.simulation.delays import Delay, describe_delay
from lastblock.simulation.run import Environment
from lastblock.simulation.simulate import Player
from lastblock.support import files
from lastblock.support.errors import ResultError, StateFileError

_FORMAT = 1
_STEPS_A_CHUNK = 2_000_000
_MOST_REPLICATIONS_A_CHUNK = 500


def sources_hash() -> str:
    """Return a short hash of the sources on which the contents of a chunk depend."""
    return source_hash((*KERNEL_FOLDERS, "simulation"))


@dataclass(frozen=True)
class Course:
    """A policy in an environment, with horizon, seed and times: a run without its replications."""

    policy: Policy
    environment: Environment
    horizon: int
    seed: int
    times: tuple[int, ...]
    delay: Delay | None = None

    @functools.cached_property
    def address(self) -> str:
        """A hash of everything that determines the outcome, including the package's sources.

        Where no file tells the code of the user's own classes, each course has an address of its
        own, and its chunks are never found again.
        """
        own = fingerprint(self.policy, self.environment)
        about = [
            _FORMAT,
            sources_hash(),
            describe(self.policy),
            describe_environment(self.environment),
            uuid.uuid4().hex if own is None else own,
            self.horizon,
            self.seed,
            self.times,
            *([] if self.delay is None else [describe_delay(self.delay)]),
        ]
        text = json.dumps(about, sort_keys=True, default=repr)
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()

    def player(self) -> Player:
        """Return what plays it."""
        times = np.array(self.times, dtype=np.int64)
        key = key_of(self.seed)
        return Player(self.policy, self.environment, self.horizon, key, times, self.delay)


@dataclass(frozen=True)
class Chunk:
    """Replications `first` to before `last` of a course."""

    course: Course
    first: int
    last: int

    @property
    def address(self) -> str:
        return f"{self.course.address}-{self.first}-{self.last}"

    @property
    def steps(self) -> int:
        return (self.last - self.first) * self.course.horizon


def cut(course: Course, replications: int) -> list[Chunk]:
    """Return the chunks of a run; their bounds do not depend on threads or workers."""
    size = max(1, min(_MOST_REPLICATIONS_A_CHUNK, _STEPS_A_CHUNK // course.horizon))
    starts = range(0, replications, size)
    return [Chunk(course, first, min(first + size, replications)) for first in starts]


def compute(chunk: Chunk, sources: str) -> bytes:
    """Play a chunk and return its outcome as bytes.

    This runs on a worker, which may be another process or another machine. `sources` is the hash
    of the sources where the chunk was made.

    Raises
    ------
    ResultError
        If the worker has other sources.
    """
    if sources != sources_hash():
        raise ResultError(
            "a worker has another version of lastblock, Python, numpy or numba; "
            "install the same ones on every worker"
        )
    player = _player(chunk.course)
    outcome = player.room(chunk.last - chunk.first)
    started = time.thread_time()  # time of this thread, whatever else the machine does
    player.play(chunk.first, outcome)
    return pack(outcome, time.thread_time() - started)


_players: dict[str, Player] = {}
_players_lock = threading.Lock()
_MOST_PLAYERS = 8


def _player(course: Course) -> Player:
    """Return the compiled kernels of a course; those of the last few courses are kept."""
    with _players_lock:
        if course.address not in _players:
            if len(_players) >= _MOST_PLAYERS:
                del _players[next(iter(_players))]
            _players[course.address] = course.player().compile()
        return _players[course.address]


class Finished(NamedTuple):
    """The outcome of a chunk; `Outcome` explains the arrays."""

    regret: npt.NDArray[np.float64]
    best_pulls: npt.NDArray[np.int64]
    pulls: npt.NDArray[np.int64]
    delays: npt.NDArray[np.int64]
    restarts: npt.NDArray[np.int64]
    seconds: float


def pack(outcome: Outcome, seconds: float) -> bytes:
    """Return an outcome as bytes, compressed and with a checksum."""
    import pyarrow as pa  # an optional dependency  # noqa: PLC0415

    tables = [np.ascontiguousarray(table.T) for table in outcome[:5]]  # by time: it packs smaller
    about = {
        "seconds": seconds,
        "tables": [[table.dtype.str, table.shape, table.nbytes] for table in tables],
    }
    packed = [pa.compress(table.tobytes(), codec="zstd", asbytes=True) for table in tables]
    about["packed"] = [len(data) for data in packed]
    return snapshot.pack(about, b"".join(packed))


def unpack(data: bytes) -> Finished:
    """Return the outcome that `pack` made bytes of, or raise a `StateFileError`."""
    import pyarrow as pa  # noqa: PLC0415  # optional, and slow to import

    about, payload = snapshot.unpack(data)
    tables: list[npt.NDArray[Any]] = []
    start = 0
    for (dtype, shape, size), packed in zip(about["tables"], about["packed"], strict=True):
        raw = pa.decompress(payload[start : start + packed], size, codec="zstd", asbytes=True)
        tables.append(np.frombuffer(raw, dtype).reshape(shape).T)
        start += packed
    regret, best_pulls, pulls, delays, restarts = tables
    return Finished(regret, best_pulls, pulls, delays, restarts, about["seconds"])


class Shelf:
    """A folder of finished chunks."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        _make_folder(folder)

    def __contains__(self, chunk: Chunk) -> bool:
        return self._read(chunk) is not None

    def has_file(self, chunk: Chunk) -> bool:
        """Return whether the chunk has a file; a quick test, since the file may be damaged."""
        return self._path(chunk).is_file()

    def put(self, chunk: Chunk, data: bytes) -> None:
        """Write a finished chunk; after a crash, all of it is there or nothing."""
        path = self._path(chunk)
        _make_folder(path.parent)
        files.write(path, data)

    def get(self, chunk: Chunk) -> Finished:
        """Return a finished chunk, or raise a `ResultError` if it is missing or damaged."""
        data = self._read(chunk)
        if data is None:
            raise ResultError(f"{self._path(chunk)} is missing or damaged; run the scenario again")
        return unpack(data)

    def _path(self, chunk: Chunk) -> Path:
        return self.folder / chunk.course.address[:2] / chunk.address

    def _read(self, chunk: Chunk) -> bytes | None:
        """Return the bytes of a chunk; None if they are missing or damaged, to compute it again."""
        try:
            data = self._path(chunk).read_bytes()
            snapshot.unpack(data)
        except (OSError, StateFileError):
            return None
        return data


def _make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        kind = "a link to nothing" if path.is_symlink() else "a file"
        raise ResultError(f"{path} is not a folder but {kind}; remove it") from None
