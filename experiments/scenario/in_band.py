"""Keys `control` and `control_at` of a scenario: control has links of its own, or runs in-band, over the data links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from experiments.scenario.fields import Context, one_of, with_default, word
from experiments.scenario.suggest import suggest
from experiments.scenario.values import CONTROL_WAYS, IN_BAND
from mininet_topos.lines import Line
from mininet_topos.topology import Topology


def read_control(
    context: Context, fields: Mapping[str, Line], topology: Topology, tunnel_schemes: Sequence[str]
) -> str | None:
    """Switch that the controller is attached to when control runs in-band; None: it has links of its own.

    Parameters
    ----------
    fields : mapping of key to Line
    tunnel_schemes
        Schemes of tunnels among those that run; their links have priority queues for data.

    Raises
    ------
    BadInputError
        No such switch, or a key that in-band control leaves without a meaning.
    """
    is_in_band = with_default(fields, "control", one_of(CONTROL_WAYS), context, CONTROL_WAYS[0]) == IN_BAND
    at = fields.get("control_at")
    if not is_in_band:
        if at is not None:
            raise context.error(at, f"control_at is for control: {IN_BAND}; add that, or remove it")
        return None
    delay = fields.get("control_delay_ms")
    if delay is not None and delay.value:
        raise context.error(delay, "in-band control has no links of its own to delay; remove control_delay_ms")
    with_classes = fields.get("pmt")
    if with_classes is not None and ("queues" in fields or tunnel_schemes):
        other = "queues" if "queues" in fields else f"scheme {tunnel_schemes[0]!r}"
        raise context.error(
            with_classes, f"pmt with in-band control needs the queues of the links, as {other} does; remove one"
        )
    return topology.node_names[0] if at is None else _node(context, at, topology)


def _node(context: Context, line: Line, topology: Topology) -> str:
    name = word(context, line, "control_at")
    if name not in topology.index_of:
        raise context.error(
            line, f"control_at {name!r} is no node of {topology.name!r}; {suggest(name, topology.node_names)}"
        )
    return name
