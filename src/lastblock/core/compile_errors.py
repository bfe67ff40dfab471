"""One line for an error of the compiler in a user's class: the file, the line, and what is wrong.

`core.declarations` finds most mistakes before the compiler does. What is left here are wrong types,
and mistakes in functions that the methods call.
"""

import inspect
import os
import re
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from lastblock.core.declarations import shown_place
from lastblock.kernels.compile_cache import PACKAGE
from lastblock.kernels.numba_on_demand import numba
from lastblock.support.errors import PolicyError
from lastblock.support.spelling import advice

_PLACE = re.compile(r"\bat (?P<file>\S[^\n]*?) \((?P<line>\d+)\)")
_RAISED = re.compile(r"Raised from (?P<file>\S[^\n]*?) \((?P<line>\d+)\)")
_SHOWN = re.compile(r'File "(?P<file>[^"\n]+)", line (?P<line>\d+):')
_PLAIN_FUNCTION = re.compile(r"Untyped global name '(?P<name>\w+)':[^\n]*<class 'function'>")
_RECORD = re.compile(r"Record\((?:[^()]|\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))*\)")
_FUNCTION = re.compile(r"Function\(<(?:built-in )?function (\w+)[^>]*>\)")
_LONGEST = 200

_SAID = (
    re.compile(r"NameError: (?P<what>name '.*?' is not defined)"),
    re.compile(r"(?P<what>Unknown attribute '.*?' of type [^\n]*)"),
    re.compile(r"(?P<what>enqueue\(s, arm\): [^\n]*)"),
    re.compile(r"(?P<what>Cannot unify [^\n]*)"),
    re.compile(r"(?P<what>Cannot resolve setitem: [^\n]*)"),
    re.compile(r"(?P<what>No conversion from [^\n]*)"),
    re.compile(r"(?P<what>Use of unsupported opcode \(\w+\))"),
    re.compile(r"(?P<what>No implementation of function [^\n]* found for signature:\s*>>>[^\n]*)"),
    re.compile(r"(?P<what>Invalid use of [^\n]*)"),
)


def explain_compile_error(error: Exception, classes: list[type[Any]]) -> PolicyError:
    """Return the PolicyError for an error that numba raised.

    Parameters
    ----------
    error
        What numba raised.
    classes
        The user's classes among the arguments, of which there is at least one.

    Returns
    -------
    PolicyError
        Its message is one line.
    """
    found = next(_places(error), None)
    method = None if found is None else _method_at(classes, *found)
    if found is None:
        name, where = " or ".join(cls.__name__ for cls in classes), ""
    else:
        name = method or classes[0].__name__
        where = f"{shown_place(*found)}: "
    return PolicyError(f"{where}{name} cannot be compiled: {_what(error)}")


def _places(error: Exception) -> Iterator[tuple[str, int]]:
    """Yield the lines outside this package and numba that an error is about, innermost first."""
    text = str(error)
    for pattern in (_RAISED, _PLACE, _SHOWN):
        for match in pattern.finditer(text):
            file = os.path.abspath(match["file"])  # numba may show it as seen from here
            if not match["file"].startswith("<") and _is_users(file):
                yield file, int(match["line"])
    for place in reversed(list(_places_in(error.__traceback__))):
        if _is_users(place.filename):
            yield place.filename, place.line


def _places_in(trace: TracebackType | None) -> Iterator[Any]:
    """Yield what the functions of numba in a traceback were working at."""
    from numba.core.ir import Loc  # noqa: PLC0415  # slow to import, and imported when compiling

    while trace is not None:
        local = trace.tb_frame.f_locals
        for name in ("loc", "inst", "constraint", "self"):
            value = local.get(name)
            place = value if isinstance(value, Loc) else getattr(value, "loc", None)
            if isinstance(place, Loc):
                yield place
                break
        trace = trace.tb_next


def _is_users(file: str) -> bool:
    path, compiler = Path(file), Path(inspect.getfile(numba())).parent
    return not (
        file.startswith("<") or path.is_relative_to(PACKAGE) or path.is_relative_to(compiler)
    )


def _method_at(classes: list[type[Any]], file: str, line: int) -> str | None:
    """Return the method of a class that a line belongs to, as ``Class.method``."""
    best: tuple[int, str] | None = None
    for cls in classes:
        for name, value in vars(cls).items():
            code = getattr(getattr(value, "__func__", value), "__code__", None)
            if code is None or os.path.abspath(code.co_filename) != file:
                continue
            if code.co_firstlineno <= line:
                lines = [at for _, _, at in code.co_lines() if at is not None]
                if line <= max(lines) and (best is None or best[0] < code.co_firstlineno):
                    best = code.co_firstlineno, f"{cls.__name__}.{name}"
    return None if best is None else best[1]


def _what(error: Exception) -> str:
    match error:
        case KeyError(args=(str(name),)):
            return f"its record has no field {name!r}{_fields_near(error.__traceback__, name)}"
    text = _RECORD.sub("the record", str(error))
    plain = _PLAIN_FUNCTION.search(text)
    if plain is not None:
        return f"{plain['name']} is a plain function; decorate it with lastblock.kit.kernel"
    for pattern in _SAID:
        said = [match["what"] for match in pattern.finditer(text)]
        if said:
            return _short(said[-1])  # the innermost one; around it are the calls that led there
    lines = [line for line in text.splitlines() if line.strip() and "Failed in" not in line]
    return _short(lines[0] if lines else type(error).__name__)


def _fields_near(trace: TracebackType | None, name: str) -> str:
    """Return advice on the field that was meant, from the record that numba was looking at."""
    from lastblock.kernels.record_types import RecordType  # noqa: PLC0415  # needs numba

    advised = ""
    while trace is not None:
        for value in trace.tb_frame.f_locals.values():
            if isinstance(value, RecordType):
                advised = f"; {advice(name, sorted(value.fields))}"
        trace = trace.tb_next
    return advised


def _short(text: str) -> str:
    line = " ".join(_FUNCTION.sub(r"\1", text.replace(">>>", "")).split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
