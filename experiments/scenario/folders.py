"""Finds the kinds that a folder holds: each module of it has one class with a `kind` of its own."""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

Kind = TypeVar("Kind")


def find_kinds(base: type[Kind], package: str) -> Mapping[str, type[Kind]]:
    """Classes by their `kind`, in the order of their modules' names.

    Parameters
    ----------
    base
        What each of them is a subclass of.
    package
        A folder beside this module.

    Raises
    ------
    ValueError
        Two classes have one kind.
    """
    found: dict[str, type[Kind]] = {}
    for module in pkgutil.iter_modules([str(Path(__file__).with_name(package))]):
        name = f"{__package__}.{package}.{module.name}"
        for value in vars(pkgutil.resolve_name(name)).values():
            if isinstance(value, type) and issubclass(value, base) and value.__module__ == name:
                kind: Any = value
                if found.setdefault(kind.kind, kind) is not kind:
                    raise ValueError(f"{name} and {found[kind.kind].__module__} both are kind {kind.kind!r}")
    return MappingProxyType(found)
