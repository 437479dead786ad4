"""Where schemes are found: the folder ryu_apps/schemes, and entry points of installed packages. Loads none of them."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import NamedTuple

ENTRY_POINTS = "armor.schemes"
_FOLDER = Path(__file__).resolve().parents[1] / "schemes"


class Source(NamedTuple):
    """Where a scheme is: its name, "module:value", and who brings it."""

    name: str
    place: str
    owner: str


def scheme_sources() -> Iterator[Source]:
    """Armor's schemes in the order of their names, then those of installed packages."""
    for module in pkgutil.iter_modules([str(_FOLDER)]):
        yield Source(module.name, f"ryu_apps.schemes.{module.name}:SCHEME", f"ryu_apps.schemes.{module.name}")
    for point in sorted(entry_points(group=ENTRY_POINTS)):
        package = point.dist.name if point.dist is not None else point.value
        yield Source(point.name, point.value, f"the installed package {package} ({point.value})")


def scheme_names() -> tuple[str, ...]:
    """Names of all schemes, for help texts and suggestions."""
    return tuple(dict.fromkeys(source.name for source in scheme_sources()))
