"""The site: `make docs` builds it into build/docs, with every warning an error.

Nothing here needs the network. Links into the documentation of Python, numpy and pandas come from
the short lists in `inventories.toml`; set LASTBLOCK_DOCS_ONLINE=1 to use their full inventories.
"""

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import lastblock  # noqa: E402  # after the path is set
from extensions.inventories import local_inventories  # noqa: E402  # after the path is set

project = "lastblock"
author = "The lastblock developers"
copyright = "2026, the lastblock developers"
release = version = lastblock.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "numpydoc",
    "myst_parser",
    "sphinx_copybutton",
    "extensions.command_help",
    "extensions.policy_pages",
]
root_doc = "index"
exclude_patterns = ["_templates", "_static", "extensions", "**.ipynb"]
templates_path = ["_templates"]
nitpicky = True

# A word in single backticks is a link where the API has such a name, and code otherwise.
default_role = "py:obj"
nitpick_ignore_regex = [("py:obj", ".*")]

myst_heading_anchors = 3  # page.md#a-heading works as on a forge

autosummary_generate = True
autosummary_ignore_module_all = False
autodoc_typehints = "none"  # signatures stay readable; the text says what an argument is
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
numpydoc_show_class_members = False  # the template lists them

if os.environ.get("LASTBLOCK_DOCS_ONLINE"):
    intersphinx_mapping = local_inventories(HERE / "inventories.toml", None)
else:
    intersphinx_mapping = local_inventories(
        HERE / "inventories.toml", HERE.parent / "build" / "inventories"
    )

html_theme = "pydata_sphinx_theme"
html_title = "lastblock"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "lastblock"},
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 6,
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
copybutton_exclude = ".linenos, .gp, .go"
