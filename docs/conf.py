"""Configuration of Sphinx for `make docs`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

project = "Armor"
author = "the authors of Armor"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "docs.generated"]
exclude_patterns = ["_build", "grafana"]
html_theme = "furo"
html_title = "Armor"
html_copy_source = False
html_show_sphinx = False
# Indented blocks of the pages are commands and what they print.
highlight_language = "none"
myst_heading_anchors = 4
# Docstrings write code between single backticks.
default_role = "code"
napoleon_google_docstring = False
napoleon_use_ivar = True
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
