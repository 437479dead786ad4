"""What a scenario may point at: hosts, nodes and links of its topology."""

from __future__ import annotations

from experiments.scenario.fields import Context, whole_number, word
from experiments.scenario.suggest import suggest
from mininet_topos.errors import BadInputError, TopologyError
from mininet_topos.lines import Line
from mininet_topos.topology import Direction, LinkId, Topology

MAX_LISTED_NODES = 16


def read_host(context: Context, line: Line, name: str, topology: Topology) -> str:
    """Node of a host that is given as "h2" or by its switch "s2".

    Raises
    ------
    BadInputError
        No such host.
    """
    given = word(context, line, name)
    by_host = {f"h{position}": node for position, node in enumerate(topology.node_names, start=1)}
    if given in topology.index_of:
        return given
    if given in by_host:
        return by_host[given]
    advice = suggest(given, by_host) if len(by_host) <= MAX_LISTED_NODES else f"hosts are h1..h{len(by_host)}"
    raise context.error(line, f"{name} {given!r} is no host of {topology.name!r}; {advice}")


def read_pair(name: str, text: str, topology: Topology) -> tuple[str, str]:
    """Nodes of two hosts that a command's option gives as "h4,h10".

    Raises
    ------
    BadInputError
        It is no such pair.
    """
    source, separator, destination = text.partition(",")
    if not separator:
        raise BadInputError(f"{name} {text!r} names one host; write two, as h4,h10")
    context = Context(name)
    first, second = (read_host(context, Line(1, each.strip()), "host", topology) for each in (source, destination))
    return first, second


def read_node(context: Context, line: Line, name: str, topology: Topology) -> str:
    """A node.

    Raises
    ------
    BadInputError
        No such node.
    """
    given = word(context, line, name)
    if given not in topology.index_of:
        raise context.error(line, f"{name} {given!r} is no node of {topology.name!r}; {_advice(given, topology)}")
    return given


def read_link(context: Context, line: Line, topology: Topology) -> LinkId:
    """A link as [s2, s4], [s2, s4, 1] (the second of parallel links) or "s2-s4#1".

    Raises
    ------
    BadInputError
        No such link.
    """
    if not isinstance(line.value, tuple):
        try:
            return topology.parse_link(word(context, line, "link"))
        except TopologyError as error:
            raise context.error(line, str(error)) from error
    if len(line.value) not in (2, 3):
        raise context.error(line, f"link has {len(line.value)} entries; write [s2, s4], or [s2, s4, 1] if parallel")
    src, dst = (read_node(context, end, "link end", topology) for end in line.value[:2])
    key = whole_number(0)(context, line.value[2], "link key") if len(line.value) == 3 else 0
    direction = Direction(src, dst, key)
    if direction not in topology.link_at:
        joined = ", ".join(str(link.dst) for link in topology.links_from[src]) or "nothing"
        shown = ", ".join(str(part) for part in direction[: len(line.value)])
        raise context.error(line, f"link [{shown}] does not exist in {topology.name!r}; {src} is joined to {joined}")
    return topology.link_id(direction)


def _advice(given: str, topology: Topology) -> str:
    if len(topology.nodes) <= MAX_LISTED_NODES:
        return suggest(given, topology.node_names)
    return f"'armor topo show {topology.name}' lists them"
