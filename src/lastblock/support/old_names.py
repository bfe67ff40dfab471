"""Names of modules in earlier versions, so that what was pickled then is still found."""

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from types import ModuleType

MOVED = {
    "bandit": ("live.bandit",),
    "changes": ("live.changes",),
    "decisions": ("live.decisions",),
    "errors": ("support.errors",),
    "evaluation": ("replay.evaluation",),
    "explanation": ("live.explanation",),
    "families": ("core.families",),
    "lab.cluster": ("lab.work.cluster",),
    "lab.verdicts": ("lab.claim_checks",),
    "models": ("kernels.divergences",),
    "policies.oracles": ("policies.bestarm", "policies.oraclerestart"),
    "summary": ("live.summary",),
    "verdicts": ("core.verdicts",),
    "weighting": ("replay.propensities",),
}
"""Old modules, and where their classes are now."""

LEFT = {
    "policies.exp3": ("policies.exp3s", "policies.rexp3"),
    "policies.thompson": ("policies.discountedthompson", "policies.slidingwindowthompson"),
}
"""Modules that are still there, and where classes went that have left them."""

_PACKAGE = __name__.partition(".")[0]


class _OldModules(MetaPathFinder, Loader):
    """Finds an old module by filling a new one of that name with what is elsewhere now."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        known = fullname.removeprefix(f"{_PACKAGE}.") in MOVED
        return spec_from_loader(fullname, self) if known else None

    def exec_module(self, module: ModuleType) -> None:
        _fill(module, MOVED[module.__name__.removeprefix(f"{_PACKAGE}.")])


def _fill(module: ModuleType, sources: Sequence[str]) -> None:
    for source in sources:
        now = vars(import_module(f"{_PACKAGE}.{source}"))
        classes = {name: cls for name, cls in now.items() if isinstance(cls, type)}
        for name in classes.keys() - vars(module).keys():
            setattr(module, name, classes[name])


def install() -> None:
    """Let Python find old names. New code never needs them."""
    if not any(isinstance(finder, _OldModules) for finder in sys.meta_path):
        sys.meta_path.append(_OldModules())
    for old, sources in LEFT.items():
        _fill(sys.modules[f"{_PACKAGE}.{old}"], sources)
