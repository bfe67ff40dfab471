"""Arm families, one in each file. An environment may mix families.

`lastblock.core.families` says what a family consists of.
"""

import importlib
import pkgutil

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
