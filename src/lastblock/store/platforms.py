"""What computed a bandit's state: noted in snapshots, for the day when a replay differs.

Kernels use plain IEEE arithmetic, so that all processors should agree. If one does not, the message
must say where the snapshot comes from, since then nothing in the database is damaged.
"""

import importlib
import os
import platform
from collections.abc import Mapping
from functools import cache
from typing import Any

from lastblock.kernels.jit import DISABLED


@cache
def this_platform() -> Mapping[str, str]:
    """Return the processor that kernels are compiled for, the system, and the versions."""
    from importlib.metadata import version  # noqa: PLC0415  # slow to import

    llvm: Any = importlib.import_module("llvmlite.binding")  # numba would take ten times as long
    cpu = str(os.environ.get("NUMBA_CPU_NAME") or llvm.get_host_cpu_name())
    return {
        "machine": platform.machine(),
        "processor": "none: plain Python" if DISABLED else cpu,
        "system": platform.system(),
        "numba": version("numba"),
    }


def difference(written_on: object) -> str:
    """Return words for a platform that is not this one; none if it is, or is not known."""
    here = this_platform()
    if not isinstance(written_on, Mapping) or dict(written_on) == dict(here):
        return ""
    return (
        f". The snapshot was written on {_words(written_on)}; this is {_words(here)}. If the data "
        "are not damaged, the bandit still opens there: please report it"
    )


def _words(where: Mapping[Any, Any]) -> str:
    return ", ".join(
        f"{'' if name in ('machine', 'system') else f'{name} '}{value}"
        for name, value in where.items()
    )
