"""What in-band control carries in an emulated network: its connections, their marks, marks that data may not have."""

from __future__ import annotations

from emulation.decide.options import EmulationOptions
from emulation.decide.wiring import BACKUP_DATABASE_PORT, NODE_SERVICE_PORT, OPENFLOW_PORT
from mininet_topos.errors import BadInputError
from ryu_apps.control.priority.decide.in_band import channel_of
from ryu_apps.plan.addressing import local_ipv4
from ryu_apps.plan.in_band.values import Channel


def in_band_channel(options: EmulationOptions) -> Channel:
    """The channel of a network whose control runs in-band.

    Raises
    ------
    BadInputError
        Control does not run in-band.
    """
    if options.in_band_at is None:
        raise BadInputError("control does not run in-band; name the controller's switch (in_band_at)")
    return channel_of(options.pmt, options.in_band_at, OPENFLOW_PORT, (BACKUP_DATABASE_PORT, NODE_SERVICE_PORT))


def local_lines(interface: str, number: int) -> list[str]:
    """Lines for `ip -batch` that give a bridge's own interface its control address.

    Parameters
    ----------
    interface
        Called like the bridge.
    number
        Of the switch.
    """
    return [f"link set {interface} up", f"addr replace {local_ipv4(number)} dev {interface}"]
