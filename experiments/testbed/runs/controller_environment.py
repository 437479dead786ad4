"""The environment of a controller app in an emulated network: its settings, and the files that some of them name."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from mininet_topos.importers.json_file import to_json
from mininet_topos.topology import Topology
from ryu_apps.control.decide.settings import ARMOR
from te_solver.values import Demand

SWITCH_DATABASE, TLS_SWITCH_DATABASE = "tcp:{control_ip}:6641", "ssl:{control_ip}:6641"
_NAMES = frozenset(setting.name for setting in ARMOR.settings)
# Hosts of the emulation know each other, and nobody asks for counters during a measurement.
_QUIET = {"stats_interval_s": "0", "discovery_interval_s": "0"}


def controller_environment(settings: Mapping[str, object]) -> dict[str, str]:
    """Environment variables for settings of docs/controller.md; None and () leave a setting empty.

    Raises
    ------
    KeyError
        No setting has such a name.
    """
    if unknown := settings.keys() - _NAMES:
        raise KeyError(f"the controller has no setting {min(unknown)!r}")
    return {ARMOR.environment_name(name): _text(value) for name, value in {**_QUIET, **settings}.items()}


def _text(value: object) -> str:
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return "" if value is None else str(value)


def write_topology(folder: Path, topology: Topology) -> Path:
    """Write the topology for the controller."""
    file = folder.resolve() / "topology.json"
    file.write_text(to_json(topology), encoding="utf-8")
    return file


def write_demands(folder: Path, demands: Iterable[Demand]) -> Path | None:
    """Write demands for the controller; None without any."""
    values = [
        {"src": each.src, "dst": each.dst, "demand_mbps": each.demand_mbps, "priority": each.priority}
        for each in demands
    ]
    file = folder.resolve() / "demands.json"
    file.write_text(json.dumps(values), encoding="utf-8")
    return file if values else None
