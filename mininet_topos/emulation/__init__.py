"""Bring a topology to life with Mininet and Open vSwitch, break it on purpose, and leave nothing behind.

Importing this needs neither root nor Mininet; entering an `EmulatedNetwork` needs both.
"""

from mininet_topos.emulation.cuts import Cuts
from mininet_topos.emulation.cuts_core import CutStamp
from mininet_topos.emulation.network import EmulatedNetwork
from mininet_topos.emulation.options_core import EmulationOptions
from mininet_topos.emulation.switch_core import SwitchSite

__all__ = ["CutStamp", "Cuts", "EmulatedNetwork", "EmulationOptions", "SwitchSite"]
