"""Arm families: one file each, discovered; families may be mixed in one environment.

`lastblock.core.families` says what a family consists of.
"""

import importlib
import pkgutil

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
