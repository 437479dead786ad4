"""Programs with fewer rights than root has."""

from __future__ import annotations

import configparser
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

UNITS_FOLDER = Path(__file__).resolve().parents[1] / "deploy" / "systemd"


def service_of(unit: str) -> configparser.SectionProxy:
    """What a systemd unit of the bundle says about its service."""
    parser = configparser.ConfigParser(interpolation=None, strict=True)
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read_string((UNITS_FOLDER / unit).read_text(encoding="utf-8"))
    return parser["Service"]


def capabilities_of(unit: str) -> list[str]:
    """Capabilities that a systemd unit leaves its process."""
    return service_of(unit)["CapabilityBoundingSet"].split()


def with_capabilities(kept: Iterable[str], argv: Sequence[str]) -> list[str]:
    """Command line that runs a program with no other capabilities and gains none; an ordinary user has none anyway."""
    if os.geteuid() != 0:
        return list(argv)
    only = ",".join(("-all", *("+" + name.removeprefix("CAP_").lower() for name in kept)))
    return ["setpriv", f"--bounding-set={only}", "--inh-caps=-all", "--no-new-privs", *argv]
