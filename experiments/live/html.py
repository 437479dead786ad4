"""The page as one HTML text: style, scripts and document within it, and a policy that lets nothing else in."""

from __future__ import annotations

import base64
import hashlib
import json
from html import escape
from pathlib import Path
from typing import Any

from experiments.live.decide.document import Document, to_json

PAGE = Path(__file__).with_name("page")
VENDOR = PAGE / "vendor" / "cytoscape.min.js"
# One module: in this order each file uses those before it.
SCRIPTS = ("state.js", "map.js", "charts.js", "lists.js", "app.js")


def to_html(document: Document) -> str:
    """The page, which loads nothing and opens from a disk; equal documents give equal texts."""
    return page_html(to_json(document))


def page_html(value: dict[str, Any]) -> str:
    """The page of a document's JSON."""
    vendor = VENDOR.read_text(encoding="utf-8")
    script = "\n".join((PAGE / name).read_text(encoding="utf-8") for name in SCRIPTS)
    parts = {
        "title": escape(f"Armor live: {value['title']}"),
        "policy": policy([vendor, f"\n{script}"]),
        "style": (PAGE / "page.css").read_text(encoding="utf-8"),
        "document": embedded(json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)),
        "vendor": vendor,
        "script": script,
    }
    text = (PAGE / "page.html").read_text(encoding="utf-8")
    pieces = text.split("%")
    # Between the marks stand names; what they stand for is not searched for marks.
    return "".join(parts.get(piece, piece) if number % 2 else piece for number, piece in enumerate(pieces))


def policy(scripts: list[str]) -> str:
    """Content security policy: these scripts and inline styles, which the map sets, and nothing from anywhere."""
    hashes = " ".join(f"'sha256-{_digest(script)}'" for script in scripts)
    return f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:; connect-src 'self'"


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


def embedded(text: str) -> str:
    """JSON that cannot end the element that it stands in."""
    return text.replace("<", "\\u003c")
