"""In-band control by the message classes of a PMT: connections with their marks, and marks that data may not have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ryu_apps.control.priority.decide.channels import connections
from ryu_apps.plan.in_band.values import HIGHEST_DSCP, Channel, DataMarking, Service
from ryu_apps.pmt.rules import DataDscp, PolicyMapTable

_SELECTOR_SHIFT = 3


def channel_of(
    table: PolicyMapTable | None, controller_at: str, openflow_port: int, switch_ports: Iterable[int] = ()
) -> Channel:
    """What in-band control carries.

    Parameters
    ----------
    table
        None, or without rules: one OpenFlow connection, whose packets keep the mark that they have.
    controller_at
        Switch that the controller is attached to.
    openflow_port
        TCP port of the (main) connection.
    switch_ports
        TCP ports that switches listen on; they get the mark of the main connection.

    Raises
    ------
    PmtError
        More queues than class selectors.
    """
    if table is None or not table.rules:
        plain = (Service(openflow_port), *(Service(port, at_controller=False) for port in switch_ports))
        return Channel(controller_at, plain)
    rows = connections(table, openflow_port)
    services = [Service(row.port, dscp=row.dscp) for row in rows]
    services += [Service(port, at_controller=False, dscp=rows[0].dscp) for port in switch_ports]
    lowest = min((row.dscp for row in rows if row.dscp), default=None)
    marks = () if lowest is None else tuple(_data_markings(table.data_dscp, lowest))
    return Channel(controller_at, tuple(services), marks)


def _data_markings(treatment: DataDscp | None, lowest: int) -> Iterator[DataMarking]:
    """Marks of control that data may not have, as the table says; `lowest` is the least urgent one."""
    if treatment is None:
        return
    becomes = None if treatment is DataDscp.REFUSE else ((lowest >> _SELECTOR_SHIFT) - 1) << _SELECTOR_SHIFT
    yield from (DataMarking(dscp, becomes) for dscp in range(lowest, HIGHEST_DSCP + 1))
