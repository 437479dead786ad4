"""Bring a topology to life with Mininet and Open vSwitch, break it on purpose, and leave nothing behind.

Importing this needs neither root nor Mininet; entering an `EmulatedNetwork` needs both. What it offers is imported
when it is asked for, so that the guard of a run, which needs little of it, stays small.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mininet_topos.emulation.cuts import Cuts
    from mininet_topos.emulation.cuts_core import CutStamp
    from mininet_topos.emulation.network import EmulatedNetwork
    from mininet_topos.emulation.options_core import EmulationOptions
    from mininet_topos.emulation.switch_core import SwitchSite

__all__ = ["CutStamp", "Cuts", "EmulatedNetwork", "EmulationOptions", "SwitchSite"]

_HOMES = {
    "CutStamp": "cuts_core",
    "Cuts": "cuts",
    "EmulatedNetwork": "network",
    "EmulationOptions": "options_core",
    "SwitchSite": "switch_core",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
