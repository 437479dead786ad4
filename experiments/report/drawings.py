"""Drawings of a failure: the topology, the failed link, and what a captured packet did."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from experiments.analysis.crankback import find_case
from experiments.analysis.injected import failed_links
from experiments.report.blocks import Picture, Text
from experiments.scenario.failure import Failure, LinkFailure, failed_link
from experiments.scenario.values import Scenario
from experiments.terminal.inputs import parse
from mininet_topos.draw import DrawSpec, split_walk, topology_svg
from mininet_topos.errors import BadInputError
from mininet_topos.topology import Direction, LinkId, Topology

Json = dict[str, Any]


def scenario_of(text: str, name: str) -> Scenario | BadInputError:
    """The scenario of a folder, or why it cannot be read here (its topology may be a file that has moved)."""
    try:
        return parse(text, name)
    except BadInputError as error:
        return error


def failure_drawing(scenario: Scenario, number: int, result: Json, returned: Iterable[Json]) -> Picture | Text:
    """Draw a failure: as a returned packet walked it, or as it is planned when no packet returned.

    Parameters
    ----------
    number
        Which failure.
    result
        Its entry in verdict.json.
    returned
        Rows of packets that backtracked, of one run.
    """
    failure = scenario.failures[number]
    packet = _first_packet(returned, result)
    spec = _planned(scenario, failure) if packet is None else _captured(scenario, failure, packet)
    if spec is None:
        return Text("No drawing: the failure is on no primary path of the probes, so nothing had to move.")
    return Picture(f"{spec.title}, {spec.subtitle}", topology_svg(scenario.topology, spec), ".svg", narrow=True)


def _first_packet(returned: Iterable[Json], result: Json) -> Json | None:
    """The first packet that was sent during the failure and backtracked, the one with the longest way back first."""
    during = [row for row in returned if result["failure_s"] - 0.1 <= row["sent_s"] < result["until_s"]]
    return min(during, key=lambda row: (-int(row["back_hops"]), row["sent_s"]), default=None)


def _captured(scenario: Scenario, failure: Failure, packet: Json) -> DrawSpec:
    walk = [_direction(hop[0]) for hop in packet["route"]]
    onward, back = split_walk(walk)
    # What was crossed and then left again is the old path; the rest leads around the failure.
    first_back = walk.index(back[0]) if back else len(walk)
    ends = (packet["from"], packet["to"]) if packet["way"] == "out" else (packet["to"], packet["from"])
    hops = len(back)
    return DrawSpec(
        title=_title(scenario.topology, failure, ends),
        subtitle=f"as captured: a packet from {ends[0]} to {ends[1]} walks {hops} hop{'s' if hops != 1 else ''} back",
        failed=_failed(scenario, failure),
        failed_nodes=failure.failed_nodes,
        primary=tuple(walk[:first_back]),
        crankback=back,
        new_path=onward[first_back:],
        ends=ends,
    )


def _planned(scenario: Scenario, failure: Failure) -> DrawSpec | None:
    """Primary and new path of the first pair that the failed link concerns, by shortest paths."""
    topology, link = scenario.topology, failed_link(failure)
    if link is None:
        return None
    variation = scenario.variations[0]
    for traffic in scenario.traffic:
        ends = (traffic.source, traffic.destination)
        try:
            case = find_case(topology, *ends, link, variation.routes, metric=variation.metric)
        except BadInputError:
            continue
        return DrawSpec(
            title=_title(topology, failure, ends),
            subtitle=f"as planned: paths from {ends[0]} to {ends[1]} without and with the failure",
            failed=_failed(scenario, failure),
            primary=case.primary,
            new_path=case.new_path,
            ends=ends,
        )
    return None


def _failed(scenario: Scenario, failure: Failure) -> tuple[LinkId | Direction, ...]:
    """The failed link (or its one direction), and the links that had failed before and were still down."""
    down: list[LinkId | Direction] = sorted(failed_links(failure.at_s, scenario.failures, scenario.topology))
    if isinstance(failure, LinkFailure):
        down = [failure.drawn, *(link for link in down if link != failure.link)]
    return tuple(down)


def _title(topology: Topology, failure: Failure, ends: Sequence[str]) -> str:
    return f"{topology.name}: {failure.what} fails, {ends[0]} to {ends[1]}"


def _direction(text: str) -> Direction:
    """Read "s1>s2" or "s1>s2#1", as `Direction` prints itself."""
    ends, _, key = text.partition("#")
    src, _, dst = ends.partition(">")
    return Direction(src, dst, int(key or 0))
