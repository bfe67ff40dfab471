"""Do the same work in a second Python process that compiles nothing."""

import importlib
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from lastblock.core.families import FAMILIES
from lastblock.core.registry import build, describe
from lastblock.testing.expectations import expect, fail

_INSIDE = "LASTBLOCK_TESTING_WITHOUT_JIT"


def work_without_jit(work: Callable[[Sequence[Any]], Any], subjects: Sequence[Any]) -> Any:
    """Return what `work(subjects)` returns in a process where kernels run as plain Python.

    Parameters
    ----------
    work
        A function of this package; it takes the subjects and returns plain data.
    subjects
        Policies, detectors or arms. Their modules are imported by the second process: by their
        names, or else from their files.

    Returns
    -------
    object
        The result, written as JSON and read again.
    """
    refuse_inside()
    order = {
        "work": [work.__module__, work.__name__],
        "modules": sorted({module for subject in subjects for module in _modules(subject)}),
        "subjects": [describe(subject) for subject in subjects],
    }
    done = subprocess.run(
        [sys.executable, "-c", "from lastblock.testing import without_jit; without_jit.answer()"],
        input=json.dumps(order),
        env={
            **os.environ,
            "NUMBA_DISABLE_JIT": "1",
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            _INSIDE: "1",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    expect(done.returncode == 0, f"with the JIT off the process fails:\n{done.stderr.strip()}")
    return json.loads(done.stdout.rpartition("\n")[2])


def answer() -> None:
    """Do the work of `work_without_jit` in the second process.

    Read the order, and print the result as the last line.
    """
    order = json.load(sys.stdin)
    for name, file in order["modules"]:
        _load(name, file)
    module, function = order["work"]
    work = getattr(importlib.import_module(module), function)
    print()  # whatever the modules may have printed
    print(json.dumps(work([_rebuild(subject) for subject in order["subjects"]])), end="")


def refuse_inside() -> None:
    """Raise a RuntimeError in the second process, which would otherwise start a third one."""
    if os.environ.get(_INSIDE):
        raise RuntimeError(
            "a check was called while the module that it checks was being imported; put the call "
            "into a function, or under: if __name__ == '__main__':"
        )


def _modules(subject: Any) -> set[tuple[str, str]]:
    """Return the modules, with their files, of a value's class and of its parameters' classes."""
    if not hasattr(subject, "_asdict"):
        return set()
    found: set[tuple[str, str]] = set().union(*(_modules(value) for value in subject))
    name = type(subject).__module__
    file = getattr(sys.modules.get(name), "__file__", None)
    if file is None:
        fail(
            f"{type(subject).__name__} is defined in {name!r}, which has no file that a second "
            "process could import; put the class into a .py file, or skip this check"
        )
    return found | {(name, str(file))}


def _load(name: str, file: str) -> None:
    if name == "__main__":
        _load_file("_checked_script", file)
        return
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise
        _load_file(name, file)


def _load_file(name: str, file: str) -> None:
    spec = importlib.util.spec_from_file_location(name, Path(file))
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot import {file}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)


def _rebuild(description: dict[str, Any]) -> Any:
    family = FAMILIES.get(description["name"])
    return build(description) if family is None else family(**description["parameters"])
