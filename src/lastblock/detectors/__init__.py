"""Change detectors, one file each.

The loop below imports every module of this folder, and each registers its detector.
"""

import importlib
import pkgutil

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
