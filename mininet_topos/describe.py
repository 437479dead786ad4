"""A topology in words and in JSON, for `armor topo list` and `armor topo show`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mininet_topos.catalogue import TopologyRow
from mininet_topos.connectivity import bridges, hop_distances, simple_graph
from mininet_topos.ports import HOST_PORT, assign_ports
from mininet_topos.topology import Topology
from mininet_topos.wording import counted


def describe(topology: Topology) -> dict[str, Any]:
    """Facts of a topology as JSON values.

    Returns
    -------
    `name`; counts `nodes`, `links`, `parallel_links`, `parts`, `degree_two_nodes`; `bridges` (links whose loss cuts
    somebody off); `removable_links` (the most that can fail with every part still whole); `diameter_hops`,
    `mean_hops` (null without a pair); `failure_cases` (ordered pairs times links on a shortest path of each);
    `node_list` and `link_list`, one object each.
    """
    hops = hop_distances(topology)
    graph = simple_graph(topology)
    parts = len(set(topology.components().values()))
    links = len(topology.link_ids)
    return {
        "name": topology.name,
        "nodes": len(topology.nodes),
        "links": links,
        "parallel_links": links - graph.number_of_edges(),
        "parts": parts,
        "degree_two_nodes": sum(len(leaving) == 2 for leaving in topology.links_from.values()),
        "bridges": [str(link) for link in bridges(topology)],
        "removable_links": links - len(topology.nodes) + parts,
        "diameter_hops": max(hops.values(), default=None),
        "mean_hops": sum(hops.values()) / len(hops) if hops else None,
        "failure_cases": sum(hops.values()),
        "node_list": _node_list(topology),
        "link_list": _link_list(topology),
    }


def describe_text(topology: Topology) -> str:
    """Facts of a topology as lines for a person: a summary, the nodes with their ports, the links."""
    facts = describe(topology)
    node_rows = [("node", "label", "place", "ports: 1 is the host's")]
    for node in facts["node_list"]:
        ports = "  ".join(f"{port}>{peer}" for port, peer in node["ports"].items() if int(port) != HOST_PORT)
        node_rows.append((node["name"], node["label"] or "-", _place(node), ports or "-"))
    lines = [*_summary(facts), "", *_table(node_rows)]
    if facts["link_list"]:
        lines += ["", *_table([("link", "capacity", "delay", "ports"), *map(_link_row, facts["link_list"])])]
    return "\n".join(lines)


def list_text(rows: Sequence[TopologyRow]) -> str:
    """Table of the topologies that have a name."""
    table = [("name", "kind", "nodes", "links", "what")]
    table += [(row.name, row.kind, str(row.nodes or ""), str(row.links or ""), row.about) for row in rows]
    return "\n".join(_table(table))


def _node_list(topology: Topology) -> list[dict[str, Any]]:
    ports = assign_ports(topology)
    return [
        {
            "name": node.name,
            "label": node.label,
            "latitude": node.latitude,
            "longitude": node.longitude,
            "degree": len(topology.links_from[node.name]),
            "ports": {str(HOST_PORT): f"h{number}"}
            | {str(ports.port_of[link.direction]): link.dst for link in topology.links_from[node.name]},
        }
        for number, node in enumerate(topology.nodes, start=1)
    ]


def _link_list(topology: Topology) -> list[dict[str, Any]]:
    ports = assign_ports(topology)
    rows = []
    for link_id in topology.link_ids:
        there, back = (topology.link_at[direction] for direction in topology.directions(link_id))
        rows.append(
            {
                "name": str(link_id),
                "src": there.src,
                "dst": there.dst,
                "key": there.key,
                "capacity_mbps": there.capacity_mbps,
                "reverse_capacity_mbps": back.capacity_mbps,
                "delay_ms": there.delay_ms,
                "reverse_delay_ms": back.delay_ms,
                "jitter_ms": there.jitter_ms,
                "reverse_jitter_ms": back.jitter_ms,
                "src_port": ports.port_of[there.direction],
                "dst_port": ports.port_of[back.direction],
            }
        )
    return rows


def _summary(facts: dict[str, Any]) -> list[str]:
    counts = [counted(facts["nodes"], "node"), counted(facts["links"], "link")]
    if facts["parallel_links"]:
        counts.append(f"{facts['parallel_links']} of them parallel to another")
    counts.append("connected" if facts["parts"] == 1 else f"in {facts['parts']} parts")
    lines = [f"{facts['name']}: {', '.join(counts)}"]
    if facts["mean_hops"] is not None:
        lines.append(
            f"  shortest paths: mean {facts['mean_hops']:.2f}, longest {facts['diameter_hops']} hops; "
            f"{counted(facts['failure_cases'], 'failure case')} (ordered pair, link on its path)"
        )
        lines.append(f"  {_endurance(facts)}; {counted(facts['degree_two_nodes'], 'node')} of degree 2")
    return lines


def _endurance(facts: dict[str, Any]) -> str:
    if not facts["bridges"]:
        return (
            f"no single link disconnects anybody; at most {counted(facts['removable_links'], 'link')} "
            "can fail with all still connected"
        )
    named = ", ".join(facts["bridges"][:8]) + (", ..." if len(facts["bridges"]) > 8 else "")
    return f"{counted(len(facts['bridges']), 'bridge')}, whose loss disconnects somebody: {named}"


def _link_row(link: dict[str, Any]) -> tuple[str, ...]:
    return (
        link["name"],
        _both(link["capacity_mbps"], link["reverse_capacity_mbps"], "Mbit/s"),
        _both(link["delay_ms"], link["reverse_delay_ms"], "ms"),
        f"{link['src_port']} - {link['dst_port']}",
    )


def _place(node: dict[str, Any]) -> str:
    latitude, longitude = node["latitude"], node["longitude"]
    if latitude is None or longitude is None:
        return "-"
    return f"{abs(latitude):.2f}{'N' if latitude >= 0 else 'S'} {abs(longitude):.2f}{'E' if longitude >= 0 else 'W'}"


def _both(there: float | None, back: float | None, unit: str) -> str:
    """Value of both directions, once when they agree."""
    texts = ["unknown" if value is None else f"{value:g}" for value in (there, back)]
    shown = texts[0] if texts[0] == texts[1] else " / ".join(texts)
    return shown if shown == "unknown" else f"{shown} {unit}"


def _table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
