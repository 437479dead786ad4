"""What the agent of a switch knows of tunnels: those that begin here, and those that only pass through.

An agent configuration is a file of the switch's own. With it the agent repartitions hash ranges as the planner would,
for any history of failed tunnels, without asking anybody (docs/decisions/ingress-liveness.md).
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from mininet_topos.errors import BadInputError
from mininet_topos.ports import MAX_PORT_NO, PortMap
from mininet_topos.topology import Direction
from ryu_apps.plan.hash_ranges import N_SLOTS, HashRange
from ryu_apps.plan.ids import Kind
from ryu_apps.plan.kuijia.commodities import Path, TunnelCommodity, label_key, nodes_of
from ryu_apps.plan.kuijia.ingress import IngressEntry, Wiring, failure_rows
from ryu_apps.plan.kuijia.plan import TunnelPlanner
from ryu_apps.plan.kuijia.priorities import PRIORITY_SETUPS, PrioritySetup
from ryu_apps.plan.kuijia.tunnel_field import FIRST_LABEL, MAX_LABEL
from ryu_apps.plan.rows import FlowRow
from ryu_apps.plan.scheme import Scheme, TunnelFailover
from ryu_apps.plan.slot_layers import Events, Piece

VERSION = 1
_MOST = (1 << 32) - 1


class Crossing(NamedTuple):
    """A tunnel at a port: its label, and the port on its other side; None where it begins or ends here."""

    label: int
    other_port: int | None


@dataclass(frozen=True)
class AgentConfiguration:
    """What the agent of one switch knows.

    Attributes
    ----------
    owner
        Whose rows they are, in cookies.
    ports
        Of this switch.
    labels
        Of all tunnels that touch this switch, under `label_key`.
    ingress_entries : tuple of Ingress entry
        Commodities that begin here.
    """

    node: str
    scheme: str
    owner: int
    failover: TunnelFailover
    setup: PrioritySetup
    ports: Mapping[Direction, int]
    labels: Mapping[Path, int]
    ingress_entries: tuple[IngressEntry, ...]

    @cached_property
    def crossings(self) -> dict[int, tuple[Crossing, ...]]:
        """Tunnels by port."""
        found: dict[int, list[Crossing]] = defaultdict(list)
        for path, label in self.labels.items():
            ports = [self.ports[hop] for hop in _leaving(path, self.node)]
            for port_no in ports:
                found[port_no].append(Crossing(label, next((other for other in ports if other != port_no), None)))
        return {port_no: tuple(sorted(crossings)) for port_no, crossings in found.items()}

    def labels_of(self, ingress_entry: IngressEntry) -> tuple[int, ...]:
        """Label of every tunnel of a commodity."""
        return self._ingress_labels[ingress_entry.number]

    @cached_property
    def _ingress_labels(self) -> dict[int, tuple[int, ...]]:
        return {
            entry.number: tuple(self.labels[label_key(path)] for path in entry.commodity.paths)
            for entry in self.ingress_entries
        }

    def rows(self, ingress_entry: IngressEntry, events: Events) -> tuple[FlowRow, ...]:
        """Rows of a commodity beside its base rows, once these of its tunnels have failed, in this order."""
        wiring = Wiring(self.owner, PortMap(dict(self.ports), {}), self.labels)
        layers = self.failover.layers(ingress_entry.base, ingress_entry.commodity.weights, events)
        return tuple(failure_rows(ingress_entry, wiring, layers, Kind.AGENT))

    def to_json(self) -> dict[str, Any]:
        """JSON object, read by `configuration_from_json`."""
        return {
            "version": VERSION,
            "node": self.node,
            "scheme": self.scheme,
            "priorities": self.setup.name,
            "ports": [[*hop, port_no] for hop, port_no in sorted(self.ports.items())],
            "tunnels": [{"label": label, "path": _path_json(path)} for path, label in sorted(self.labels.items())],
            "ingress_entries": [
                {
                    "src": each.commodity.src,
                    "dst": each.commodity.dst,
                    "priority": each.commodity.priority,
                    "paths": [_path_json(path) for path in each.commodity.paths],
                    "weights": list(each.commodity.weights),
                    "number": each.number,
                    "destination": each.destination,
                    "base": [[*_ends(piece.slots), piece.tunnel] for piece in each.base],
                }
                for each in self.ingress_entries
            ],
        }


def _leaving(path: Path, node: str) -> list[Direction]:
    """How a path leaves a switch towards either end."""
    back = [Direction(hop.dst, hop.src, hop.key) for hop in path]
    return [hop for hop in (*path, *back) if hop.src == node]


def _path_json(path: Path) -> list[list[Any]]:
    return [[*hop] for hop in path]


def _ends(slots: HashRange) -> tuple[int, int]:
    return slots.first, slots.stop


def configuration_of(planner: TunnelPlanner, node: str) -> AgentConfiguration:
    """Agent configuration of a switch.

    Parameters
    ----------
    planner
        Notified by agents.
    """
    return AgentConfiguration(
        node,
        planner.scheme.name,
        planner.owner,
        planner.failover,
        planner.options.setup,
        {hop: port_no for hop, port_no in planner.wiring.ports.port_of.items() if hop.src == node},
        {path: label for path, label in planner.labels.items() if node in nodes_of(path)},
        tuple(planner.ingress_entries[node]),
    )


def configuration_text(planner: TunnelPlanner, node: str) -> str:
    """Agent configuration of a switch as the text of its file; parameters as those of `configuration_of`."""
    return json.dumps(configuration_of(planner, node).to_json(), indent=1) + "\n"


def configuration_from_json(value: Any, find_scheme: Callable[[str], Scheme]) -> AgentConfiguration:
    """Agent configuration of a JSON object made by `to_json`; `find_scheme` finds a scheme by its name.

    Raises
    ------
    BadInputError
        Not such an object, or its scheme has no tunnels.
    """
    try:
        if value["version"] != VERSION:
            raise BadInputError(
                f"the agent configuration has version {value['version']}, not {VERSION}; write it again"
            )
        setup = PRIORITY_SETUPS[value["priorities"]]
        scheme = find_scheme(_name(value["scheme"]))
        if scheme.tunnels is None or scheme.number is None:
            raise BadInputError(
                f"the agent configuration is of scheme {scheme.name!r}, which has no tunnels; write it again"
            )
        configuration = AgentConfiguration(
            _name(value["node"]),
            scheme.name,
            scheme.number,
            scheme.tunnels,
            setup,
            {_hop(hop): _whole(port_no, 1, MAX_PORT_NO) for *hop, port_no in value["ports"]},
            {_path(tunnel["path"]): _whole(tunnel["label"], FIRST_LABEL, MAX_LABEL) for tunnel in value["tunnels"]},
            tuple(_ingress_entry(each, setup) for each in value["ingress_entries"]),
        )
        _refuse_gaps(configuration)
        return configuration
    except (KeyError, TypeError, ValueError) as error:
        raise BadInputError(
            f"this is no agent configuration of tunnels ({type(error).__name__}: {error}); write it again"
        ) from error


def _refuse_gaps(configuration: AgentConfiguration) -> None:
    """Refuse paths without a label, links without a port, commodities that begin elsewhere or share a number.

    Raises
    ------
    ValueError
        There is one.
    """
    if len({each.number for each in configuration.ingress_entries}) < len(configuration.ingress_entries):
        raise ValueError("two commodities have one number")
    for each in configuration.ingress_entries:
        if each.commodity.src != configuration.node:
            raise ValueError(f"traffic from {each.commodity.src} begins elsewhere")
        unlabelled = [path for path in each.commodity.paths if label_key(path) not in configuration.labels]
        if unlabelled:
            raise ValueError(f"the tunnel {' '.join(map(str, unlabelled[0]))} has no label")
    unknown = {
        hop for path in configuration.labels for hop in _leaving(path, configuration.node)
    } - configuration.ports.keys()
    if unknown:
        raise ValueError(f"{min(unknown)} has no port")


def _whole(value: Any, least: int, most: int) -> int:
    if type(value) is not int or not least <= value <= most:
        raise ValueError(f"{value!r} is no whole number from {least} to {most}")
    return value


def _name(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is no name")
    return value


def _hop(value: Sequence[Any]) -> Direction:
    src, dst, key = value
    return Direction(_name(src), _name(dst), _whole(key, 0, _MOST))


def _path(hops: Sequence[Sequence[Any]]) -> Path:
    return tuple(_hop(hop) for hop in hops)


def _piece(value: Sequence[Any], tunnels: int) -> Piece:
    first, stop, tunnel = value
    stop = _whole(stop, 0, N_SLOTS)
    return Piece(HashRange(_whole(first, 0, stop), stop), None if tunnel is None else _whole(tunnel, 0, tunnels - 1))


def _ingress_entry(value: Mapping[str, Any], setup: PrioritySetup) -> IngressEntry:
    """An ingress entry as far as rows about failures are concerned: its prefixes are in the base rows."""
    paths = tuple(_path(hops) for hops in value["paths"])
    commodity = TunnelCommodity(
        value["src"], value["dst"], paths, tuple(value["weights"]), _whole(value["priority"], 0, _MOST)
    )
    return IngressEntry(
        commodity,
        setup.class_of(commodity.priority),
        _whole(value["number"], 0, _MOST),
        _whole(value["destination"], 0, _MOST),
        prefixes=(),
        takes_rest=False,
        rebased=tuple(_piece(each, len(paths)) for each in value["base"]),
    )
