"""A page as HTML: one file that fetches nothing, reads without scripts, and prints."""

from __future__ import annotations

from pathlib import Path

from experiments.report.blocks import Page
from mininet_topos.errors import MissingRequirementError

TEMPLATES = Path(__file__).with_name("templates")


def to_html(page: Page) -> str:
    """HTML text of a page; equal pages give equal texts.

    Raises
    ------
    MissingRequirementError
        Jinja2 is not installed.
    """
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
        from markupsafe import Markup
    except ImportError:
        raise MissingRequirementError(
            "reports need Jinja2; run 'make setup', or pip install '.[experiments]' in Armor's folder"
        ) from None
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    # The one text that is not escaped is our own.
    style = Markup((TEMPLATES / "page.css").read_text(encoding="utf-8"))
    return environment.get_template("page.html").render(page=page, style=style) + "\n"
