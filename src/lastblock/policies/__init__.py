"""The policies, one in each file. Every module here is imported, which registers its policy.

`lastblock/__init__.py` also has a line for each of them, for editors and type checkers. A test says
which line is missing.
"""

import importlib
import pkgutil

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
