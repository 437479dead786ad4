"""What the agent of a switch is told about tunnels: those that begin here, and those that only pass through.

A sheet is a file of the switch's own. With it the agent cuts hash ranges as the planner would, for any history of dead
tunnels, without asking anybody (docs/decisions/ingress-liveness.md).
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from mininet_topos.errors import BadInputError
from mininet_topos.ports import PortMap
from mininet_topos.topology import Direction
from ryu_apps.plan.ids import Kind
from ryu_apps.plan.kuijia.commodities import Commodity, Path, label_key, nodes_of
from ryu_apps.plan.kuijia.hash_ranges import HashRange
from ryu_apps.plan.kuijia.ingress import Entrance, Wiring, failure_rows
from ryu_apps.plan.kuijia.layers import Events, Piece
from ryu_apps.plan.kuijia.plan import TunnelPlanner, TunnelScheme, find_tunnel_scheme
from ryu_apps.plan.kuijia.priorities import PRIORITY_SETUPS, PrioritySetup
from ryu_apps.plan.rows import FlowRow

VERSION = 1


class Crossing(NamedTuple):
    """A tunnel at a port: its label, and the port on its other side; None where it begins or ends here."""

    label: int
    other_port: int | None


@dataclass(frozen=True)
class TunnelSheet:
    """What the agent of one switch knows.

    Attributes
    ----------
    node : str
    scheme : TunnelScheme
    setup : PrioritySetup
    ports : mapping of Direction to int
        Of this switch.
    labels : mapping of Path to int
        Of all tunnels that touch this switch, under `label_key`.
    entrances : tuple of Entrance
        Commodities that begin here.
    """

    node: str
    scheme: TunnelScheme
    setup: PrioritySetup
    ports: Mapping[Direction, int]
    labels: Mapping[Path, int]
    entrances: tuple[Entrance, ...]

    @cached_property
    def crossings(self) -> dict[int, tuple[Crossing, ...]]:
        """Tunnels by port."""
        found: dict[int, list[Crossing]] = defaultdict(list)
        for path, label in self.labels.items():
            ports = [self.ports[hop] for hop in _leaving(path, self.node)]
            for port_no in ports:
                found[port_no].append(Crossing(label, next((other for other in ports if other != port_no), None)))
        return {port_no: tuple(sorted(crossings)) for port_no, crossings in found.items()}

    def labels_of(self, entrance: Entrance) -> tuple[int, ...]:
        """Label of every tunnel of a commodity."""
        return tuple(self.labels[label_key(path)] for path in entrance.commodity.paths)

    def rows(self, entrance: Entrance, events: Events) -> tuple[FlowRow, ...]:
        """Rows of a commodity beside its base rows, once these of its tunnels have died, in this order."""
        wiring = Wiring(self.scheme.scheme, PortMap(dict(self.ports), {}), self.labels)
        layers = self.scheme.layers(entrance.base, entrance.commodity.weights, events)
        return tuple(failure_rows(entrance, wiring, layers, Kind.AGENT))

    def to_json(self) -> dict[str, Any]:
        """JSON object, read by `sheet_from_json`."""
        return {
            "version": VERSION,
            "node": self.node,
            "scheme": self.scheme.name,
            "priorities": self.setup.name,
            "ports": [[*hop, port_no] for hop, port_no in sorted(self.ports.items())],
            "tunnels": [{"label": label, "path": _path_json(path)} for path, label in sorted(self.labels.items())],
            "entrances": [
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
                for each in self.entrances
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


def sheet_of(planner: TunnelPlanner, node: str) -> TunnelSheet:
    """Sheet of a switch.

    Parameters
    ----------
    planner : TunnelPlanner
        Told by agents.
    node : str
    """
    return TunnelSheet(
        node,
        planner.scheme,
        planner.options.setup,
        {hop: port_no for hop, port_no in planner.wiring.ports.port_of.items() if hop.src == node},
        {path: label for path, label in planner.labels.items() if node in nodes_of(path)},
        tuple(planner.entrances[node]),
    )


def sheet_text(planner: TunnelPlanner, node: str) -> str:
    """Sheet of a switch as the text of its file; parameters as those of `sheet_of`."""
    return json.dumps(sheet_of(planner, node).to_json(), indent=1) + "\n"


def sheet_from_json(value: Any) -> TunnelSheet:
    """Sheet of a JSON object made by `TunnelSheet.to_json`.

    Raises
    ------
    BadInputError
        Not such an object.
    """
    try:
        if value["version"] != VERSION:
            raise BadInputError(f"the sheet has version {value['version']}, not {VERSION}; write it again")
        setup = PRIORITY_SETUPS[value["priorities"]]
        return TunnelSheet(
            str(value["node"]),
            find_tunnel_scheme(value["scheme"]),
            setup,
            {Direction(src, dst, key): port_no for src, dst, key, port_no in value["ports"]},
            {_path(tunnel["path"]): tunnel["label"] for tunnel in value["tunnels"]},
            tuple(_entrance(each, setup) for each in value["entrances"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise BadInputError(f"this is no sheet of tunnels ({type(error).__name__}: {error}); write it again") from error


def _path(hops: Sequence[Sequence[Any]]) -> Path:
    return tuple(Direction(*hop) for hop in hops)


def _entrance(value: Mapping[str, Any], setup: PrioritySetup) -> Entrance:
    """An entrance as far as rows about failures are concerned: its prefixes are in the base rows."""
    paths = tuple(_path(hops) for hops in value["paths"])
    commodity = Commodity(value["src"], value["dst"], paths, tuple(value["weights"]), value["priority"])
    return Entrance(
        commodity,
        setup.class_of(commodity.priority),
        value["number"],
        value["destination"],
        prefixes=(),
        takes_rest=False,
        rebased=tuple(Piece(HashRange(first, stop), tunnel) for first, stop, tunnel in value["base"]),
    )
