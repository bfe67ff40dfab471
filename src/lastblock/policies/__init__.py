"""One file a policy. Every module of this folder is imported, so that its policy is known by name.

`lastblock/__init__.py` has a line for each, so that editors and type checkers know it too; a test
says which line is missing.
"""

import importlib
import pkgutil

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
