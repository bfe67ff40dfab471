"""The check that records are safe to work on, since kernels do not check what they read.

A kernel reads the number of an arm, or the length of a ring, from a record and uses it as an index.
In a damaged or forged record it may point anywhere. So the type of each such field says what it may
hold (see `layout`), and a record from elsewhere is checked before a kernel sees it.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lastblock.core.layout import ARM, LINE, NOBODY
from lastblock.core.protocol import States


class Fault(NamedTuple):
    """The number of a record that is not safe, and what is wrong with it."""

    number: int
    what: str


def check_record(states: States, arms: int, size: int | None = None) -> None:
    """Raise a ValueError if the record in `states`, or its first `size` bytes, is not safe."""
    if states[0]["round"] == 0:
        raise ValueError("its record has not been started")
    fault = first_fault(states, arms, size)
    if fault is not None:
        raise ValueError(f"in its record, {fault.what}")


def first_fault(states: States, arms: int, size: int | None = None) -> Fault | None:
    """Return the first record that is not safe, or whose first `size` bytes are not."""
    end = states.dtype.itemsize if size is None else size
    return min(_faults(states.view(np.ndarray), arms, "", 0, end), default=None)


def _faults(s: Any, arms: int, prefix: str, start: int, end: int) -> Iterator[Fault]:
    """Yield the first fault in each field of some records, and of the records within them."""
    for name, (kind, offset, *_) in s.dtype.fields.items():
        field, at = prefix + name, start + offset
        if kind.names:
            yield from _faults(s[name], arms, f"{field}.", at, end)
        elif at + kind.itemsize <= end and 0 not in kind.shape and kind.base.metadata:
            yield from _faults_in(field, s[name].reshape(len(s), -1), kind.base.metadata, arms)
            if name == "taken":
                for number in np.flatnonzero(s["taken"] > s["queued"])[:1].tolist():
                    taken, queued = s["taken"][number], s["queued"][number]
                    what = f"{field} is {taken}, more than {prefix}queued, {queued}"
                    yield Fault(number, what)


def _faults_in(
    field: str, values: npt.NDArray[Any], said: Mapping[str, Any], arms: int
) -> Iterator[Fault]:
    """Yield the first number of a field that is not what its type says."""
    holds = said.get("holds")
    if holds == "a random stream":
        for number in np.flatnonzero(~values.any(axis=1))[:1].tolist():
            yield Fault(number, f"{field} is all zeros, which is not a random stream")
        return
    least, most = said.get("least", 0), said.get("most", arms - 1)
    if holds == "the number of arms":
        least = most = arms
    if said == LINE.metadata:
        values = values[:, :arms]
    wrong = ~((values >= least) & (values <= most))  # NaN is wrong as well
    if said == ARM.metadata:
        wrong &= values != NOBODY
    for number, place in np.argwhere(wrong)[:1].tolist():
        name = f"{field}[{place}]" if values.shape[1] > 1 else field
        found = values[number, place].item()
        must = f"instead of {least}" if least == most else f"not between {least} and {most}"
        yield Fault(number, f"{name} is {found}{' ' if least == most else ', '}{must}")
