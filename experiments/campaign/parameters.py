"""What a trial's own parameters have in common, whatever its kind."""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Parameters:
    """Everything that decides a trial's outcome besides what every trial has; a kind adds its fields."""

    @property
    def session(self) -> str:
        """What else the network of a trial depends on: trials that differ in it cannot share one."""
        return str(getattr(self, "network", ""))

    def to_json(self) -> dict[str, Any]:
        """JSON value, as campaign.json and rows keep it."""
        return {field.name: plain(getattr(self, field.name)) for field in fields(self)}


def plain(value: Any) -> Any:
    """A value as JSON keeps it: tuples become lists, and frozen values objects."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    return [plain(each) for each in value] if isinstance(value, tuple | list) else value
