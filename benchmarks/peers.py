"""Measures the same job in lastblock and in other libraries, in one run: ``make peers``.

Each library has an environment of its own in `.venv-peers`, and plays in processes of its own.
Measured are, for every policy that it shares with us, with the same parameters: the microseconds a
step of a whole simulated horizon, and of a live decision with its reward after 10³ and 10⁵ of them,
with three arms and with ten; the time from a fresh process to its first decision; and the final
regret, from true means, in worlds of Bernoulli arms. Faults are shown by some lines of code each. A
library that cannot be installed or started is named with the error. `--write` fills in the page and
the README.
"""

import functools
import json
import os
import subprocess
import sys
import tempfile
import venv
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import lastblock as lb
from benchmarks.options import Parser, between
from benchmarks.pages import check_marks
from benchmarks.peers_faults import FAULTS, shown
from benchmarks.peers_players import LIBRARIES, Library
from benchmarks.peers_tables import PLACES, worlds_of
from lastblock.support.parallel import progress_bar

ROOT = Path(__file__).parent.parent
ENVIRONMENTS = ROOT / ".venv-peers"
KEPT = ROOT / "build" / "peers.json"
STARTS = 5
FRESH = """
import time
begun = time.perf_counter()
import sys
from benchmarks.peers_players import LIBRARIES, lastblock
library = LIBRARIES[sys.argv[1]]
ours = library.name == "lastblock"
make = lastblock(library.first, compiled=False) if ours else library.players[library.first]
answers, sys.stdout = sys.stdout, sys.stderr
choose, learn = make(3, 1)
arm = choose()
decided = time.perf_counter()
learn(arm, 1.0)
for step in range(999):
    learn(choose(), float(step % 3 == 0))
print(decided - begun, time.perf_counter() - begun, file=answers)
"""
COMPILE = """
import sys
from benchmarks.peers_players import LIBRARIES
library = LIBRARIES[sys.argv[1]]
choose, learn = library.players[library.first](3, 1)
learn(choose(), 1.0)
"""


class StartError(Exception):
    """A library that ends with an error before its first decision."""


Job = dict[str, Any]
Answer = dict[str, Any]


def interpreter(name: str) -> Path:
    """Return the Python of a library's environment."""
    folder = ENVIRONMENTS / name
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


@functools.cache
def prepared(name: str) -> tuple[Path | None, str]:
    """Return a library's Python and version, installed if need be; or None and what went wrong."""
    if name == "lastblock":
        return Path(sys.executable), lb.__version__
    python = interpreter(name)
    ready = ENVIRONMENTS / name / "ready"
    if not ready.exists():
        print(
            f"installing {LIBRARIES[name].requirement} into {ENVIRONMENTS.name}/{name}", flush=True
        )
        venv.create(ENVIRONMENTS / name, clear=True)
        pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
        done = subprocess.run(
            [*pip, "--disable-pip-version-check", LIBRARIES[name].requirement],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
            return None, f"cannot be installed: {(lines or ['pip failed'])[0]}"
        ready.touch()
    ask = f"from importlib.metadata import version; print(version({name!r}))"
    return python, subprocess.check_output([python, "-c", ask], text=True).strip()


def surroundings(name: str, **more: str) -> dict[str, str]:
    """Return the environment variables of a library's process: one core, and its own packages."""
    variables = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", **more}
    variables.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode
    if name != "lastblock":
        variables.pop("PYTHONPATH", None)
    return variables


def answers(python: Path, jobs: list[Job]) -> list[Answer]:
    """Do jobs of one library in a process of its own; if it dies, the rest of them have failed."""
    name = jobs[0]["library"]
    done = subprocess.run(
        [python, "-m", "benchmarks.peers_worker", json.dumps(jobs)],
        cwd=ROOT,
        env=surroundings(name),
        capture_output=True,
        text=True,
        check=False,
    )
    found = [json.loads(line) for line in done.stdout.splitlines()]
    lines = done.stderr.strip().splitlines() or ["no message"]
    died = {"error": f"the process ended with {done.returncode}: {lines[-1]}"}
    return found + [died] * (len(jobs) - len(found))


def started(name: str, python: Path, cache: str | None) -> list[float]:
    """Return milliseconds to the first decision and to the 1000th, the best of some processes.

    `cache` is the folder of compiled kernels; None for an empty one each time.
    """
    found = []
    for _ in range(STARTS):
        with tempfile.TemporaryDirectory() as empty:
            printed = fresh(FRESH, name, python, cache or empty)
        found.append([float(seconds) * 1e3 for seconds in printed.split()])
    return [min(column) for column in zip(*found, strict=True)]


def fresh(program: str, name: str, python: Path, cache: str) -> str:
    """Run a program in a new process, and return what it prints."""
    done = subprocess.run(
        [python, "-c", program, name],
        cwd=ROOT,
        env=surroundings(name, NUMBA_CACHE_DIR=cache),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise StartError((done.stderr.strip().splitlines() or ["no message"])[-1])
    return done.stdout


def starts(name: str, python: Path) -> dict[str, list[float]]:
    """Return the times of `started`; ours without kernels, and with those of an earlier process."""
    with tempfile.TemporaryDirectory() as full:
        if name != "lastblock":
            return {"": started(name, python, full)}
        fresh(COMPILE, name, python, full)
        return {"empty": started(name, python, None), "full": started(name, python, full)}


def speed_jobs(library: Library) -> list[Job]:
    named = [{"library": library.name, "policy": policy} for policy in library.players]
    # Ours with ten arms only for the paper's family: each takes seconds to compile.
    ten = [job for job in named if library.name != "lastblock" or "SDA" in job["policy"]]
    return [{"job": "speed", **job} for job in named] + [{"job": "ten arms", **job} for job in ten]


def regret_jobs(library: Library, replications: int) -> list[list[Job]]:
    """Return the jobs of each policy; ours are one list, since processes would compile at once."""
    jobs = [
        [
            {"job": "regret", "library": library.name, "policy": policy}
            | {"world": world, "replications": replications}
            for world in worlds_of(policy)
        ]
        for policy in library.players
    ]
    return [[job for each in jobs for job in each]] if library.name == "lastblock" else jobs


def measured(names: list[str], share: float) -> dict[str, Any]:
    """Measure the libraries of these names, and return all that was found."""
    found: dict[str, Any] = {}
    pythons: dict[str, Path] = {}
    for name in names:
        python, version = prepared(name)
        if python is None:
            found[name] = {"missing": version}
            continue
        try:
            found[name] = {"version": version, "start": starts(name, python)}
        except StartError as error:
            found[name] = {"missing": f"version {version} cannot be started: {error}"}
            continue
        pythons[name] = python
        found[name] |= {"speed": {}, "ten arms": {}, "regret": {}}
        found[name]["replications"] = max(2, round(LIBRARIES[name].replications * share))
    timed = [job for name in pythons for job in speed_jobs(LIBRARIES[name])]
    played = [
        jobs
        for name in pythons
        for jobs in regret_jobs(LIBRARIES[name], found[name]["replications"])
    ]
    total = len(timed) + sum(map(len, played))
    with progress_bar(total, None, unit=" jobs", name="peers") as bar:
        for job in timed:  # one after the other
            answer = answers(pythons[job["library"]], [job])[0]
            found[job["library"]][job["job"]][job["policy"]] = answer
            bar.update(1)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            tasks = [pool.submit(answers, pythons[jobs[0]["library"]], jobs) for jobs in played]
            for jobs, task in zip(played, tasks, strict=True):
                for job, answer in zip(jobs, task.result(), strict=True):
                    worlds = found[job["library"]]["regret"]
                    worlds.setdefault(job["world"], {})[job["policy"]] = answer
                    bar.update(1)
    faults = [
        shown(fault, pythons[fault.library], found[fault.library]["version"])
        for fault in FAULTS
        if fault.library in pythons
    ]
    return {"libraries": found, "faults": faults}


def main() -> None:
    every = [name for name in LIBRARIES if name != "lastblock"]
    parser = Parser(
        "peers",
        __doc__,
        "tens of minutes, and more to install the libraries",
    )
    parser.add_argument(
        "--peers",
        nargs="+",
        choices=every,
        default=every,
        metavar="NAME",
        help=f"compare with these libraries only, of {', '.join(every)}",
    )
    parser.add_argument(
        "--share",
        type=between(0.0, 10.0),
        default=1.0,
        metavar="X",
        help="play this share of the replications (default: %(default)s)",
    )
    parser.add_argument("--kept", action="store_true", help=f"show {KEPT.name} of an earlier run")
    parser.add_argument("--write", action="store_true", help="fill in the page and the README")
    options = parser.parse_args()
    if options.write and (options.share != 1.0 or {*options.peers} != {*every}):
        parser.error(
            "--write fills the pages with all peers and replications: leave out the others"
        )
    if options.kept and not KEPT.exists():
        parser.error(f"--kept needs {KEPT}, which a run without it makes")
    if options.write:
        check_marks(parser, *PLACES)
    if options.kept:
        found = json.loads(KEPT.read_text(encoding="utf-8"))
    else:
        found = measured(["lastblock", *options.peers], options.share)
        KEPT.parent.mkdir(exist_ok=True)
        KEPT.write_text(json.dumps(found), encoding="utf-8")
    filled = {place: lines_of(found) for place, lines_of in PLACES.items()}
    for lines in filled.values():
        print("\n".join(lines))
    if options.write:
        for place, lines in filled.items():
            place.fill(lines)


if __name__ == "__main__":
    main()
