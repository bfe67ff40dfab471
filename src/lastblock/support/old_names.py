"""Module names of earlier versions, so that Python still finds what old pickles name in them."""

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import FunctionType, ModuleType
from typing import Any

MOVED = {
    "bandit": ("live.bandit",),
    "changes": ("live.changes",),
    "decisions": ("live.decisions",),
    "errors": ("support.errors",),
    "evaluation": ("replay.evaluation",),
    "explanation": ("live.explanation",),
    "families": ("core.families",),
    "lab.cluster": ("lab.work.cluster",),
    "lab.runner": ("lab.work.runner",),
    "lab.table1": ("lab.paper.table1",),
    "lab.verdicts": ("lab.claim_checks",),
    "logs": ("replay.logs",),
    "models": ("kernels.divergences",),
    "notes": ("core.reward_stats",),
    "policies.oracles": ("policies.bestarm", "policies.oraclerestart"),
    "protocol": ("core.protocol", "core.registry"),
    "restarts": ("core.restarts",),
    "state": ("core.layout",),
    "summary": ("live.summary",),
    "tunings": ("theory.tunings",),
    "verdicts": ("core.verdicts",),
    "weighting": ("replay.propensities",),
}
"""Modules that no longer exist, and where their classes and functions are now."""

LEFT = {
    "policies.exp3": ("policies.exp3s", "policies.rexp3"),
    "policies.thompson": ("policies.discountedthompson", "policies.slidingwindowthompson"),
}
"""Modules that still exist, and where some of their classes are now."""

RENAMED = {"lab.verdicts": {"Verdict": "Finding"}}
"""Classes of such modules that have another name now."""

_PACKAGE = __name__.partition(".")[0]


class _OldModules:
    """Makes a module of an old name on import, with what is elsewhere now.

    It finds and it loads, by the methods that Python calls; the classes of `importlib.abc` add
    nothing to these, and are slow to import.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        loader: Any = self
        known = fullname.removeprefix(f"{_PACKAGE}.") in MOVED
        return ModuleSpec(fullname, loader) if known else None

    def create_module(self, spec: ModuleSpec) -> None:
        """Let Python make the empty module."""

    def exec_module(self, module: ModuleType) -> None:
        old = module.__name__.removeprefix(f"{_PACKAGE}.")
        _fill(module, MOVED[old])
        for name, now in RENAMED.get(old, {}).items():
            setattr(module, name, getattr(module, now))


def _fill(module: ModuleType, sources: Sequence[str]) -> None:
    """Give a module the classes of others, and their own functions: what pickles name."""
    for source in sources:
        now = import_module(f"{_PACKAGE}.{source}")
        named = {name: it for name, it in vars(now).items() if _may_be_named(it, now)}
        for name in named.keys() - vars(module).keys():
            setattr(module, name, named[name])


def _may_be_named(it: Any, home: ModuleType) -> bool:
    is_own_function = isinstance(it, FunctionType) and it.__module__ == home.__name__
    return isinstance(it, type) or is_own_function


def install() -> None:
    """Let Python find the old names; new code never needs them."""
    if not any(isinstance(finder, _OldModules) for finder in sys.meta_path):
        finder: Any = _OldModules()
        sys.meta_path.append(finder)
    for old, sources in LEFT.items():
        _fill(sys.modules[f"{_PACKAGE}.{old}"], sources)
