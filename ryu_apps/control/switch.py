"""Everything that belongs to one connected switch."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from ryu_apps.control.channel import SwitchChannel
from ryu_apps.control.decide.held_back import HeldBack
from ryu_apps.control.route_configuration import SwitchRoutes


@dataclass(eq=False)
class Switch:
    """A connected switch: its name, the conversation with it, and its rows.

    Attributes
    ----------
    held_back
        Port changes that came while the ports were being described; None once they are.
    """

    node: str
    dpid: int
    channel: SwitchChannel
    routes: SwitchRoutes
    held_back: HeldBack | None = field(default_factory=dict)

    def state(self) -> dict[str, Any]:
        """What the REST interface shows of it."""
        return {**asdict(self.routes.status), "posts_dropped": self.channel.posts_dropped}

    @property
    def control_ip(self) -> str:
        """Address from which the switch has connected."""
        return str(self.channel.datapath.address[0])
