"""Module names of earlier versions, so that Python still finds the classes in old pickles."""

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
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
    "lab.table1": ("lab.paper.table1",),
    "lab.verdicts": ("lab.claim_checks",),
    "models": ("kernels.divergences",),
    "notes": ("core.reward_stats",),
    "policies.oracles": ("policies.bestarm", "policies.oraclerestart"),
    "restarts": ("core.restarts",),
    "summary": ("live.summary",),
    "verdicts": ("core.verdicts",),
    "weighting": ("replay.propensities",),
}
"""Modules that no longer exist, and where their classes are now."""

LEFT = {
    "policies.exp3": ("policies.exp3s", "policies.rexp3"),
    "policies.thompson": ("policies.discountedthompson", "policies.slidingwindowthompson"),
}
"""Modules that still exist, and where some of their classes are now."""

RENAMED = {"lab.verdicts": {"Verdict": "Finding"}}
"""Classes of such modules that have another name now."""

_PACKAGE = __name__.partition(".")[0]


class _OldModules:
    """Makes a module of an old name on import, with the classes that are elsewhere now.

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
    for source in sources:
        now = vars(import_module(f"{_PACKAGE}.{source}"))
        classes = {name: cls for name, cls in now.items() if isinstance(cls, type)}
        for name in classes.keys() - vars(module).keys():
            setattr(module, name, classes[name])


def install() -> None:
    """Let Python find the old names; new code never needs them."""
    if not any(isinstance(finder, _OldModules) for finder in sys.meta_path):
        finder: Any = _OldModules()
        sys.meta_path.append(finder)
    for old, sources in LEFT.items():
        _fill(sys.modules[f"{_PACKAGE}.{old}"], sources)
