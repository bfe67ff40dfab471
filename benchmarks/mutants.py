"""Measures what the tests find: ``python -m benchmarks.mutants --folder live``.

The file mutants.txt lists random mistakes ("mutants") in five folders of the package: the file, the
function, one line before, the code, what replaces it, one line after, and whether the tests of the
folder found it when the list was made ("untried" ones took too long). A mutant is looked for by
its content, first in its file, then in all others. Each mutant runs in a copy of the working tree,
with kernels in plain Python, against the tests that execute its lines and those that start
processes, up to the first failure. Results stay in build/mutants, until a source or a test changes;
an interrupted run continues.
"""

import ast
import functools
import hashlib
import importlib
import json
import multiprocessing
import os
import re
import resource
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest

from benchmarks.options import Parser

ROOT = Path(__file__).parent.parent
LIST = Path(__file__).with_suffix(".txt")
FOLDERS = ("core", "live", "store", "replay", "serve")
LEFT_OUT = (".git", ".venv*", "build", ".mypy_cache", ".ruff_cache", "results")
PRELOADED = ("numba", "pandas", "pyarrow", "scipy.stats")
PROCESSES = {"subprocess.Popen", "os.posix_spawn", "os.fork"}
fork = multiprocessing.get_context("fork")


class Mutant(NamedTuple):
    """One mistake: what stands in the code, and what replaces it."""

    number: int
    path: str
    where: str
    before: str
    old: list[str]
    new: list[str]
    after: str
    verdict: str


def read_list():
    """Return all mutants of the list, in its order, which is random."""
    mutants = []
    for number, block in enumerate(LIST.read_text(encoding="utf-8").strip().split("\n\n")):
        head, *rest = block.split("\n")
        _, path, where, verdict = head.split(" ")
        old = [line[2:] for line in rest if line[0] == "-"]
        new = [line[2:] for line in rest if line[0] == "+"]
        before, after = (line[2:] for line in rest if line[0] == " ")
        mutants.append(Mutant(number, path, where, before, old, new, after, verdict))
    return mutants


def visible(lines):
    """Return the first line that is neither blank nor a comment."""
    return next((line.strip() for line in lines if not re.match(r"\s*(#|$)", line)), "")


@functools.cache
def functions(text):
    """Return the name of the function around each line; empty outside of functions."""
    names = [""] * (text.count("\n") + 1)
    for node in ast.walk(ast.parse(text)):  # inner functions after outer ones
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first, last = node.body[0].lineno - 1, node.end_lineno or 0
            names[first:last] = [node.name] * (last - first)
    return names


def find(mutant, sources):
    """Return the path and the line (from 0) that a mutant changes; None if its code is gone."""
    old, best = [line.strip() for line in mutant.old], (0, None)
    for path, text in sources.items():
        own, lines = path == mutant.path, text.split("\n")
        for first, line in enumerate(lines):
            if line.strip() == old[0]:
                last = first + len(old)
                if [each.strip() for each in lines[first:last]] == old:
                    likeness = (
                        (visible(lines[:first][::-1]) == mutant.before)
                        + (visible(lines[last:]) == mutant.after)
                        + (functions(text)[first] == mutant.where.rpartition(".")[2])
                    )
                    if likeness > 1 or (own and likeness):
                        best = max(best, (likeness + 3 * own, (path, first)), key=lambda b: b[0])
    return best[1]


def changed(mutant, text, first):
    """Return the text of a file with the mutant."""
    lines = text.split("\n")
    by = len(lines[first]) - len(lines[first].lstrip())
    by -= len(mutant.old[0]) - len(mutant.old[0].lstrip())
    new = [" " * by + line if by >= 0 else line[-by:] for line in mutant.new]
    return "\n".join(lines[:first] + new + lines[first + len(mutant.old) :])


class Recorder:
    """Notes which tests execute the lines of which mutant, how long each takes, and which fail."""

    def __init__(self, lines):
        self.lines, self.codes = lines, {}  # numbers of mutants by (file, line)
        self.files = {file for file, _ in lines}
        self.made = {"seconds": {}, "failed": [], "processes": [], "tests": defaultdict(list)}
        self.seen, self.current = defaultdict(set), ""

    def trace(self, frame, _event, _arg):
        code = frame.f_code
        if code.co_filename not in self.files:
            return None
        if code not in self.codes:
            found = {(code.co_filename, line) for *_, line in code.co_lines()}
            self.codes[code] = None if found.isdisjoint(self.lines) else self.trace_line
        return self.codes[code]

    def trace_line(self, frame, event, _arg):
        self.seen[self.current].update(
            self.lines.get((frame.f_code.co_filename, frame.f_lineno), ())
        )
        return self.trace_line

    def audit(self, event, _args):
        if event in PROCESSES and self.current not in self.made["processes"]:
            self.made["processes"].append(self.current)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        self.current, start = item.nodeid, time.monotonic()
        sys.settrace(self.trace)
        threading.settrace(self.trace)
        result = yield
        self.made["seconds"][item.nodeid] = time.monotonic() - start
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef, request):
        """What a shared fixture executes, all tests of its file execute."""
        before = self.current
        if fixturedef.scope != "function":
            self.current = before.partition("::")[0]
        try:
            return (yield)
        finally:
            self.current = before

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.made["failed"].append(report.nodeid)

    def pytest_sessionfinish(self):
        sys.settrace(None)
        for test, mutants in self.seen.items():
            for mutant in mutants:
                self.made["tests"][mutant].append(test)


class Chosen:
    """Runs some tests, file by file, and notes which one fails first.

    `seconds` has what each of them took without a mutant; one that hangs ends the process.
    """

    def __init__(self, seconds, files):
        self.seconds, self.files, self.made = seconds, files, ["survived", ""]

    def pytest_collection_modifyitems(self, items):
        items[:] = [item for item in items if item.nodeid in self.seconds]
        items.sort(key=lambda item: self.files.index(item.nodeid.partition("::")[0]))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        signal.alarm(int(60 + 10 * self.seconds[item.nodeid]))
        try:
            return (yield)
        finally:
            signal.alarm(0)

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.made = ["found", report.nodeid]


def child(copy, plugin, arguments, out):
    """Run pytest in a copy of the tree, in a process of its own."""
    os.setsid()
    os.chdir(copy)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.environ.update(PYTHONPATH=f"{copy}/src", TMPDIR=f"{copy}/tmp", PYTHONDONTWRITEBYTECODE="1")
    sys.dont_write_bytecode, tempfile.tempdir = True, None
    (copy / "tmp").mkdir(exist_ok=True)
    sys.path[:] = [str(copy / "src"), str(copy), *sys.path[1:]]
    for name in [each for each in sys.modules if each.partition(".")[0] == "benchmarks"]:
        del sys.modules[name]
    with (copy / "log.txt").open("w") as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    if isinstance(plugin, Recorder):
        sys.addaudithook(plugin.audit)
    else:
        signal.alarm(300)  # until the first test begins
    code = pytest.main(["-q", "-p", "no:cacheprovider", "-p", "no:xdist", *arguments], [plugin])
    if code in (2, 3, 4) and isinstance(plugin, Chosen):  # not even the imports work
        plugin.made = ["found", "no test starts"]
    out.write_text(json.dumps(plugin.made), encoding="utf-8")
    os._exit(0)


def play(copy, plugin, arguments):
    """Return what a plugin has found; None if the process crashes or hangs."""
    out = copy / "out.json"
    out.unlink(missing_ok=True)
    process = fork.Process(target=child, args=(copy, plugin, arguments, out))
    process.start()
    process.join()
    for kind in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid or 0, kind)
        except ProcessLookupError:
            break
        process.join(1)
    process.join()
    shutil.rmtree(copy / "tmp", ignore_errors=True)
    return json.loads(out.read_text(encoding="utf-8")) if out.exists() else None


def words(path):
    """Return the words of a file's name, to find tests that are near."""
    return re.findall("[a-z]+", Path(path).stem.removeprefix("test_"))


def try_one(mutant, place, copy, record):
    """Return the verdict on a mutant, and the test that found it."""
    path, first = place
    tests = record["tests"].get(str(mutant.number), [])
    good = [test for test in record["seconds"] if test not in record["failed"]]
    of_files = {test for test in tests if "::" not in test}
    near = {test for test in good if test in tests or test.partition("::")[0] in of_files}
    file = copy / "src/lastblock" / path
    text, status = file.read_text(encoding="utf-8"), file.stat()
    if functions(text)[first] != mutant.where.rpartition(".")[2]:
        near = set(good)  # no test executes what runs at import
    far = {test for test in good if test in record["processes"]} - near
    order = defaultdict(float)
    for test in (*near, *far):
        order[test.partition("::")[0]] += record["seconds"][test] + 1000 * (test in far)
    alike = {file for file in order if set(words(path)) & set(words(file))}
    files = sorted(order, key=lambda file: (file not in alike, order[file]))
    if not files:
        return ["survived", "no test executes it"]
    file.write_text(changed(mutant, text, first), encoding="utf-8")
    os.utime(file, (status.st_mtime - 100 - mutant.number,) * 2)  # not that of any bytecode
    seconds = {test: record["seconds"][test] for test in near | far}
    made = play(copy, Chosen(seconds, files), ["-x", *files])
    file.write_text(text, encoding="utf-8")
    os.utime(file, (status.st_atime, status.st_mtime))
    return made or ["found", "a crash or a test that hangs"]


def measure(folder, mutants, copies, again):
    """Return the verdicts on a folder's mutants, by their numbers."""
    copy, executor = copies[0], ThreadPoolExecutor(len(copies))
    sources = {
        path.relative_to(copy / "src/lastblock").as_posix(): path.read_text(encoding="utf-8")
        for path in sorted((copy / "src/lastblock").rglob("*.py"))
    }
    places = {mutant.number: find(mutant, sources) for mutant in mutants}
    digest = hashlib.sha256(repr([mutant[:-1] for mutant in mutants]).encode())
    for path in (*(copy / "src").rglob("*.py"), *(copy / "tests" / folder).rglob("*.py")):
        digest.update(path.relative_to(copy).as_posix().encode() + path.read_bytes())
    kept = ROOT / f"build/mutants/{folder}-{digest.hexdigest()[:12]}.json"
    kept.parent.mkdir(parents=True, exist_ok=True)
    if kept.exists():
        record = json.loads(kept.read_text(encoding="utf-8"))
    else:
        lines = defaultdict(list)
        for mutant in mutants:
            if place := places[mutant.number]:
                for line in range(place[1], place[1] + len(mutant.old)):
                    file = f"{copy}/src/lastblock/{place[0]}"
                    lines[file, line + 1].append(mutant.number)
        record = play(copy, Recorder(lines), [f"tests/{folder}", "-m", "not trial"])
        shutil.copy(copy / "log.txt", kept.with_suffix(".log"))
        if record is None:
            sys.exit(f"the tests of {folder} do not end; see {kept.with_suffix('.log')}")
        record["verdicts"] = {}
    failed = len(set(record["failed"]))
    print(f"{folder}: {len(record['seconds'])} tests, {failed} of them fail without a mutant")
    copies, lock = list(copies), threading.Lock()

    def one(mutant):
        if str(mutant.number) not in record["verdicts"]:
            made = ["gone", ""]
            if place := places[mutant.number]:
                with lock:
                    copy = copies.pop()
                made = try_one(mutant, place, copy, record)
                copies.append(copy)
            with lock:
                record["verdicts"][str(mutant.number)] = made
                kept.write_text(json.dumps(record), encoding="utf-8")
            told = " by ".join(filter(None, made))
            print(f"  {mutant.number} {mutant.path} {mutant.where}: {told}", flush=True)

    list(executor.map(one, [each for each in mutants if again or each.verdict != "survived"]))
    return record["verdicts"]


def report(folder, mutants, verdicts):
    """Print how many mutants the tests of a folder found, and what survives that did not before."""
    tried = [each for each in mutants if str(each.number) in verdicts]
    new = [each for each in tried if verdicts[str(each.number)][0] == "survived"]
    gone = [each for each in tried if verdicts[str(each.number)][0] == "gone"]
    before = sum(each.verdict == "survived" for each in tried)
    print(
        f"{folder}: of {len(mutants)} mutants, {len(tried)} tried, {len(gone)} gone; "
        f"survivors before: {before}, now: {len(new)}"
    )
    for each in new:
        if each.verdict != "survived":
            print(f"\nnewly surviving: {each.number} {each.path} {each.where}")
            print("\n".join([each.before, *each.old, "->", *each.new, each.after]))


def main() -> None:
    parser = Parser("mutants", __doc__, "some seconds a mutant")
    parser.add_argument(
        "--folder", choices=FOLDERS, nargs="+", default=FOLDERS, help="some folders only"
    )
    parser.add_argument("--all", action="store_true", help="also those that survived before")
    parser.add_argument("--processes", type=int, default=2, help="how many at a time; else two")
    options = parser.parse_args()
    os.environ.update(NUMBA_DISABLE_JIT="1", OPENBLAS_NUM_THREADS="1")
    os.nice(10)
    for name in PRELOADED:  # once, and not again for each mutant
        importlib.import_module(name)
    with tempfile.TemporaryDirectory() as scratch:
        Path(scratch).chmod(0o755)  # a database server runs as another user
        copies = [Path(scratch, str(number)) for number in range(options.processes)]
        for copy in copies:
            shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*LEFT_OUT))
        for folder in options.folder:
            mutants = [each for each in read_list() if each.path.startswith(f"{folder}/")]
            verdicts = measure(folder, mutants, copies, options.all)
            report(folder, mutants, verdicts)


if __name__ == "__main__":
    main()
