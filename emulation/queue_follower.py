"""Keeps each port's priority queues those of the rows that a controller wrote to the switch's database.

The controller's `queue_keeper` writes the rows; both read them by `ryu_apps.control.decide.queues`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from emulation.decide.queues import rows_of_queues
from emulation.decide.traffic import PortShape, port_tc_plan, with_rows
from machine.event_log import EventLog
from machine.json_rpc import JsonRpcError, read_tables
from machine.places import run_batch
from mininet_topos.errors import ArmorError, BadInputError
from ryu_apps.control.decide.queues import DATABASE, PortQueues, read_ports, select_operations

if TYPE_CHECKING:
    from emulation.decide.switch import SwitchSite
    from emulation.running import RunningNetwork

_POLL_S = 1.0
_END_S = 10.0


@contextmanager
def follow_queues(network: RunningNetwork, shapes: Mapping[str, PortShape], events: EventLog) -> Iterator[None]:
    """Build each port's queues anew whenever its rows have changed, while the block runs.

    Parameters
    ----------
    shapes : mapping of interface to PortShape
        Link ports with priority queues, as they have been built.
    """
    ended = threading.Event()
    thread = threading.Thread(target=_follow, args=(network, dict(shapes), events, ended), name="queues", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(_END_S)


def _follow(network: RunningNetwork, built: dict[str, PortShape], events: EventLog, ended: threading.Event) -> None:
    while not ended.wait(_POLL_S):
        for site in network.sites.values():
            for port in _ports(site):
                if port.name not in built or not port.own:
                    continue
                try:
                    if _build(network, site, port, built):
                        events.write("queues_built", node=site.name, port_no=port.port_no, queues=len(port.queues))
                except ArmorError as error:
                    events.write("error", what="queues", node=site.name, text=str(error))


def _ports(site: SwitchSite) -> tuple[PortQueues, ...]:
    try:
        results = [{"rows": rows} for rows in read_tables(site.db_socket, DATABASE, *select_operations())]
        return tuple(read_ports(results, site.dpid).values())
    except (JsonRpcError, BadInputError):
        return ()  # its daemons are being restarted; ovs-vswitchd gives a bridge its datapath id


def _build(network: RunningNetwork, site: SwitchSite, port: PortQueues, built: dict[str, PortShape]) -> bool:
    """Build a port's queues when they have changed; whether they had."""
    rows = rows_of_queues(port.port_no, port.queues, network.options.capacity_scale)
    wanted = with_rows(built[port.name], rows)
    lines = port_tc_plan(wanted)
    if lines == port_tc_plan(built[port.name]):
        return False
    run_batch(network.pids[site.place], ["tc", "-batch", "-"], [f"qdisc del dev {port.name} root", *lines])
    built[port.name] = wanted
    return True
