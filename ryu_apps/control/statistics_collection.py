"""Statistics collection: polls port and flow counters of the connected switches, and keeps rates."""

from __future__ import annotations

import time
from collections.abc import Mapping

from ryu_apps.control.channel import SwitchChannel
from ryu_apps.control.decide.statistics import FlowSample, PortSample, flow_samples, port_samples
from ryu_apps.openflow import encode
from ryu_apps.openflow.messages import FlowStat, PortStat
from ryu_apps.plan.ids import KIND_MASK, SCHEME_MASK, TAG_MASK, Kind, cookie


class StatisticsCollection:
    """Latest counters and rates, by switch.

    Flow counters are those of the primary rows: one for each destination, so that polling stays cheap whatever
    number of backup rows a plan holds.
    """

    def __init__(self, owner: int) -> None:
        self._cookie = cookie(owner, Kind.PLANNED)
        self.ports: dict[str, Mapping[int, PortSample]] = {}
        self.flows: dict[str, Mapping[int, FlowSample]] = {}

    def poll(self, node: str, channel: SwitchChannel) -> None:
        """Ask one switch for its counters.

        Raises
        ------
        SwitchGoneError, SwitchRefusedError, WireError
        """
        ports = channel.dump(encode.port_stats_request, PortStat)
        self.ports[node] = port_samples(self.ports.get(node, {}), ports, time.monotonic())
        flows = channel.dump(
            encode.flow_stats_request,
            FlowStat,
            cookie=self._cookie,
            cookie_mask=SCHEME_MASK | KIND_MASK | TAG_MASK,
        )
        self.flows[node] = flow_samples(self.flows.get(node, {}), flows, time.monotonic())

    def forget(self, node: str) -> None:
        """A switch is gone: its counters start anew."""
        self.ports.pop(node, None)
        self.flows.pop(node, None)
