"""Texts of settings as values: whole numbers, and templates that are filled for each switch."""

from __future__ import annotations

import re
import string
from collections.abc import Sequence

from mininet_topos.errors import BadInputError

_EXAMPLE = {"node": "s1", "control_ip": "127.0.0.1"}


def check_template(name: str, text: str, fields: Sequence[str]) -> str:
    """Text in which `{field}` stands for what each switch has; returned filled with an example.

    Raises
    ------
    BadInputError
        Braces that hold anything else, such as another name, an attribute or a width.
    """
    try:
        parts = list(string.Formatter().parse(text))
    except ValueError:
        parts = [("", "", "", "")]
    if any(field is not None and (field not in fields or spec or conversion) for _, field, spec, conversion in parts):
        known = " and ".join(f"{{{field}}}" for field in fields)
        raise BadInputError(f"setting {name} = {text!r} may hold {known} only")
    return text.format(**_EXAMPLE)


def whole_number(name: str, text: str, highest: int = 2**63 - 1, lowest: int = 0) -> int:
    """Whole number of a setting's text (`BadInputError` for anything else)."""
    if not re.fullmatch(r"[0-9]{1,19}", text) or not lowest <= int(text) <= highest:
        bound = f"from {lowest} to {highest}" if highest < 2**31 else f"of at least {lowest}"
        raise BadInputError(f"setting {name} = {text[:60]!r} is no whole number; give one {bound}")
    return int(text)
