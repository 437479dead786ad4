"""The sockets that docs/security.md names."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "docs" / "security.md"


def documented_ports(program: str) -> list[int]:
    """TCP ports of a program, in the order of the table."""
    rows = [line.split("|") for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    sockets = [row[2] for row in rows if row[1].strip().strip("`") == program]
    assert sockets, f"docs/security.md names no socket of {program!r}"
    return [int(number) for socket in sockets for number in re.findall(r"\b\d{4,5}\b", socket)]
