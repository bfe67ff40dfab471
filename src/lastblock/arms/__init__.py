"""Arm families: one file each, discovered; families may be mixed in one environment.

A family is a `NamedTuple` decorated with `@family`. It knows its `mean`, gives its parameters to the
kernels as four numbers (and, if it needs one, a table), and has a static kernel `draw`.
"""

import importlib
import pkgutil

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
