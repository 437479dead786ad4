"""Numbers, times and verdicts as a reader of the page sees them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from typing import Any

from experiments.report.blocks import Cell

Json = Mapping[str, Any]
NONE, MINUS = "\N{EN DASH}", "\N{MINUS SIGN}"

WHOLE_KEYS = {"open_vswitch": "Open vSwitch", "python": "Python"}
ABBREVIATIONS = {"bfd": "BFD", "udp": "UDP", "mtu": "MTU", "ovs": "OVS", "cpu": "CPU"}
UNITS = {"ms": "ms", "s": "s", "mbps": "Mbit/s", "bytes": "bytes", "seconds": "s"}

# Word of a verdict file -> (kind, word and symbol on the page); the symbol tells without colour.
VERDICTS = {
    "holds": ("holds", "✔ holds"),
    "by construction": ("measured", "≡ by construction"),
    "undecided": ("none", "? undecided"),
    "held": ("holds", "✔ holds"),
    "direction": ("direction", "≈ direction"),
    "differs": ("differs", "✘ differs"),
    "failed": ("differs", "✘ differs"),
    "measured": ("measured", "○ measured"),
    "reported": ("measured", "○ measured"),
    "no data": ("none", "∅ no data"),
}


def verdict_cell(word: object) -> Cell:
    """A verdict as a word, a symbol and a colour; a word that is not known is shown as it is."""
    kind, text = VERDICTS.get(str(word), ("none", str(word)))
    return Cell(text, kind)


def number(value: object, unit: str = "") -> str:
    """A number with three digits that count, whole ones in full; text as it is; nothing as a dash.

    Examples
    --------
    >>> number(1234567), number(0.012345), number(41.96), number(True)
    ('1,234,567', '0.0123', '42.0', 'yes')
    >>> number(None) == NONE, number(-54.0) == MINUS + "54.0"
    (True, True)
    """
    if value is None:
        return NONE
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        text = f"{value:,}"
    elif isinstance(value, float):
        text = _float(value)
    else:
        return str(value)
    return text.replace("-", MINUS) + (f" {unit}" if unit else "")


def interval(low: object, high: object) -> str:
    """Both ends of an interval, or the one that is given."""
    if low is None and high is None:
        return NONE
    if low is None:
        return f"at most {number(high)}"
    return f"at least {number(low)}" if high is None else f"{number(low)} to {number(high)}"


def milliseconds(value: object) -> str:
    """Milliseconds to a tenth."""
    return f"{value:,.1f}" if isinstance(value, int | float) else NONE


def listed(words: Iterable[str]) -> str:
    """Words as "a, b and c".

    Examples
    --------
    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    *head, last = list(words) or [""]
    return f"{', '.join(head)} and {last}" if head else last


def command_line(environment: Json) -> str:
    """The command that a folder's environment records; empty when it records none."""
    words = environment.get("command")
    return shlex.join(map(str, words)) if isinstance(words, list) else str(words or "")


def label(key: str) -> str:
    """A key of a result file in words.

    Examples
    --------
    >>> label("bfd_interval_ms"), label("open_vswitch"), label("load_per_core"), label("link_mbps")
    ('BFD interval, ms', 'Open vSwitch', 'load per core', 'link, Mbit/s')
    """
    words, unit = _words_and_unit(key)
    return f"{words}, {unit}" if unit else words


def value_text(value: object) -> str:
    """Any JSON value on one line.

    Examples
    --------
    >>> value_text({"sent": 2000, "reached_mbps": 4.2}), value_text([0.25, 1.0])
    ('sent 2,000, reached 4.20 Mbit/s', '0.25, 1.00')
    """
    if isinstance(value, Mapping):
        return ", ".join(_named(str(key), inner) for key, inner in value.items()) or NONE
    if isinstance(value, list):
        nested = any(isinstance(inner, Mapping) for inner in value)
        return ("; " if nested else ", ").join(map(value_text, value)) or NONE
    return number(value)


def anchor(*parts: object) -> str:
    """Name of a place in the page.

    Examples
    --------
    >>> anchor("campaign 1", "sdfast-fig9")
    'campaign-1-sdfast-fig9'
    """
    return re.sub(r"[^a-z0-9]+", "-", "-".join(map(str, parts)).lower()).strip("-")


def _words_and_unit(key: str) -> tuple[str, str]:
    if key in WHOLE_KEYS:
        return WHOLE_KEYS[key], ""
    words = [ABBREVIATIONS.get(word, word) for word in key.split("_")]
    if len(words) > 1 and words[-1] in UNITS:
        return " ".join(words[:-1]), UNITS[words[-1]]
    return " ".join(words), ""


def _named(key: str, value: object) -> str:
    words, unit = _words_and_unit(key)
    return f"{words} {value_text(value)}" + (f" {unit}" if unit and value is not None else "")


def _float(value: float) -> str:
    size = abs(value)
    if value != value or size == float("inf"):
        return str(value)
    if size >= 1000:
        return f"{value:,.0f}"
    if size >= 100:
        return f"{value:.0f}" if value == round(value) else f"{value:.1f}"
    if size >= 10:
        return f"{value:.1f}"
    if size >= 1:
        return f"{value:.2f}"
    return f"{value:.3g}"
