"""All policies in the same worlds: ``python -m benchmarks.comparison``.

    python -m benchmarks.comparison                     # all: 6 minutes on 16 cores, and the times
    python -m benchmarks.comparison AdaptiveLBSDA       # some policies; the other rows stay

It fills the tables of docs/comparison.md and writes them as docs/comparison.csv, with all digits,
and docs/comparison.tex. Names are those of classes (`LBSDA`) or of rows (`LB-SDA-GM`).

Regrets and times are kept in `--out`, for each policy and world, and computed again only if the
policy, the sources it is made of, the world or the replications have changed. So an interrupted
run goes on where it stopped, and a new policy costs its own row only. With names, the rows of all
other policies are those of docs/comparison.csv.
"""

import multiprocessing
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import TypeVar

from benchmarks.comparison.numbers import Line, Store, as_csv, from_csv, line_of, which_suite
from benchmarks.comparison.playing import (
    Task,
    compile_for,
    kernels_of,
    machine,
    perform,
    timed,
    times_in_turn,
)
from benchmarks.comparison.rows import BASE, LEFT_OUT, UNIT, Row, case_of, row_named, rows
from benchmarks.comparison.tables import latex, markdown
from benchmarks.comparison.worlds import HALF, World, single, suite
from benchmarks.options import Parser, folder
from benchmarks.pages import Place, check_marks
from benchmarks.suite.problems import HALVES
from lastblock.cli.arguments import whole
from lastblock.support import files
from lastblock.support.parallel import check_threads, progress_bar
from lastblock.support.spelling import advice, nearest

T = TypeVar("T")
PAGE = Path(__file__).parents[2] / "docs" / "comparison.md"


def choose(names: Sequence[str]) -> Sequence[Row]:
    """Return the rows with these names of rows or classes; all rows if there are no names.

    Raises a `ValueError` for a name that no row has, and for a policy that is left out.
    """
    every = rows()
    if not names:
        return every
    found: list[Row] = []
    for name in names:
        wanted = name.lower()
        mine = [row for row in every if wanted in (row.name.lower(), page_of(row))]
        for left_out, reason in LEFT_OUT.items():
            if wanted == left_out.lower():
                raise ValueError(f"{left_out} is not compared: {reason}")
        if not mine:
            classes = sorted({type(timed(row)[0]).__name__ for row in every})
            both = [*classes, *(row.name for row in every)]
            hint = advice(name, both if nearest(name, both) else classes)
            raise ValueError(f"there is no policy {name!r} in the comparison; {hint}")
        found += [row for row in mine if row not in found]
    return found


def page_of(row: Row) -> str:
    """Return the name of the page of a policy."""
    return type(timed(row)[0]).__name__.lower()


def tasks_for(
    chosen: Sequence[Row],
    base: Row,
    alone: Sequence[World],
    problems: Sequence[World],
    store: Store,
) -> list[Task]:
    """Return what is to be played, the slow policies first and a world at a time."""
    tasks = []
    for row in dict.fromkeys([*chosen, base]):
        groups = [problems] if row not in chosen else [alone, problems]
        for group in groups:
            missing = [world for world in group if _is_missing(row, world, store)]
            size = 1 if row.slowness > 1 else len(missing)
            parts = [missing[i : i + size] for i in range(0, len(missing), max(1, size))]
            tasks += [Task(row.name, tuple(part)) for part in parts]

    def cost(task: Task) -> int:
        # A slow policy is slow in proportion to the time so far.
        power = 2 if row_named(task.row).slowness > 4 else 1
        return int(max(world.problem.horizon for world in task.worlds) ** power)

    return sorted(tasks, key=cost, reverse=True)


def _is_missing(row: Row, world: World, store: Store) -> bool:
    plays = row.policy(case_of(world.problem)) is not None
    return plays and store.regrets(row, world) is None


def steps_of(task: Task) -> int:
    """Return how many steps a task takes, for the progress bar."""
    slowness = row_named(task.row).slowness
    return sum(world.problem.horizon * world.replications_for(slowness) for world in task.worlds)


def in_processes(
    work: Callable[[Task], T], tasks: Sequence[Task], processes: int
) -> Iterator[tuple[Task, T]]:
    """Do the work for all tasks in other processes; yield each with its result when it is done."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, context) as pool:
        waiting = {pool.submit(work, task): task for task in tasks}
        try:
            for done in as_completed(waiting):
                yield waiting[done], done.result()
        except BaseException:  # do not start what still waits
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def compute(tasks: Sequence[Task], timing: Sequence[Row], store: Store, processes: int) -> None:
    """Compile what is needed, then play all tasks, and keep what each has found."""
    kernels = [*kernels_of(tasks), *(Task(row.name, ()) for row in timing)]
    started = time.perf_counter()
    with progress_bar(len(kernels), None, unit="kernel", name="compiling") as bar:
        for _ in in_processes(compile_for, kernels, processes):
            bar.update(1)
    print(f"{len(kernels)} kernels: {time.perf_counter() - started:.0f} s", flush=True)
    steps, started = sum(map(steps_of, tasks)), time.perf_counter()
    with progress_bar(steps, None, unit="step", name="comparison") as bar:
        for task, found in in_processes(perform, tasks, processes):
            store.put(row_named(task.row), task.worlds, found)
            bar.update(steps_of(task))
    print(f"{steps / 1e6:.0f} million steps: {time.perf_counter() - started:.0f} s", flush=True)


def time_all(timing: Sequence[Row], unit: Row, store: Store) -> None:
    """Time policies, one after the other, each in turn with the unit."""
    with progress_bar(len(timing), None, unit="policy", name="timing") as bar:
        for row in timing:
            store.put_time(row, *times_in_turn(row, unit), machine())
            bar.update(1)


def gather(
    chosen: Sequence[Row], store: Store, alone: Sequence[World], problems: Sequence[World]
) -> list[Line]:
    """Return the rows of all policies: those that were chosen from the store, others as they stand.

    Exits with a message if a row stands nowhere, or was compared on other problems.
    """
    every = rows()
    base = row_named(BASE)
    table = PAGE.with_suffix(".csv")
    old = from_csv(table.read_text(encoding="utf-8"), alone) if table.exists() else {}
    lines = []
    for row in every:
        if row in chosen:
            line = line_of(row, store, base, alone, problems)
            if row.name in old and store.time(row) is None:  # it was not to be timed again
                before = old[row.name]
                line = line._replace(slower=before.slower, ns=before.ns, machine=before.machine)
            lines.append(line)
        elif row.name not in old:
            sys.exit(f"{row.name} is not in {table.name} yet; give its name, too, or no names")
        elif old[row.name].which != which_suite(problems):
            sys.exit(f"{table.name} has other problems of the suite; run the command without names")
        else:
            lines.append(old[row.name])
    return lines


def main() -> None:
    parser = Parser(
        "comparison",
        __doc__,
        "about 6 minutes on 16 cores for all policies, and more to time each alone",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="play these policies only")
    parser.add_argument(
        "--half",
        choices=HALVES,
        default=HALF,
        help="the half of the suite to play (default: %(default)s)",
    )
    parser.add_argument(
        "--threads",
        type=whole(1),
        metavar="N",
        help="number of processes (default: one per core)",
    )
    parser.add_argument(
        "--out",
        type=folder,
        default="results/comparison",
        metavar="FOLDER",
        help="where results are kept (default: %(default)s)",
    )
    parser.add_argument(
        "--no-time", action="store_true", help="do not time policies; keep the times of the page"
    )
    options = parser.parse_args()
    try:
        chosen = choose(options.names)
    except ValueError as error:
        parser.error(str(error))
    place = Place(PAGE, "comparison")
    check_marks(parser, place)
    unit, base = row_named(UNIT), row_named(BASE)
    alone, problems, store = single(), suite(options.half), Store(options.out)
    tasks = tasks_for(chosen, base, alone, problems, store)
    timing = [row for row in chosen if store.time(row) is None and not options.no_time]
    also = [unit] if timing and unit not in timing else []  # to be timed beside them
    compute(tasks, [*timing, *also], store, check_threads(options.threads))
    time_all(timing, unit, store)
    lines = gather(chosen, store, alone, problems)
    place.fill([markdown(lines)])
    files.write(PAGE.with_suffix(".csv"), as_csv(lines, alone).encode())
    files.write(PAGE.with_suffix(".tex"), latex(lines).encode())
    print(f"{len(chosen)} of {len(lines)} rows of {PAGE.name} are new")


if __name__ == "__main__":
    main()
