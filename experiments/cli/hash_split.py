"""`armor verify SCHEME TOPO --hash-split N`: N flows of one pair through its real ingress switch.

armor verify kuijia gscale --hash-split 10000 --pair h1,h12 --weights 0.5,0.3,0.2
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from experiments.scenario.suggest import suggest
from experiments.scenario.targets import read_pair
from experiments.terminal.output import emit, indented, progress, table
from mininet_topos.errors import BadInputError

if TYPE_CHECKING:
    from experiments.verify.against_ovs.split import Spread
    from mininet_topos.topology import Topology
    from ryu_apps.plan.kuijia.commodities import TunnelCommodity
    from ryu_apps.plan.kuijia.ingress import IngressEntry
    from ryu_apps.plan.kuijia.options import TunnelOptions
    from ryu_apps.plan.kuijia.plan import TunnelPlanner

# A fair draw is taken for a wrong split once in 10,000 splits; the draw is by seed, so it does not come and go.
IMPROBABLE = 1e-4
BY_RANGES, BY_GROUP = "hash ranges", "SELECT group"


def add_hash_split_arguments(parser: argparse.ArgumentParser) -> None:
    """--hash-split, --pair, --weights."""
    from experiments.cli.parser import whole_number

    group = parser.add_argument_group("hash split (schemes of tunnels)")
    group.add_argument(
        "--hash-split",
        type=whole_number("--hash-split", 1, 1_000_000),
        metavar="FLOWS",
        help="send flows of one pair through a real Open vSwitch: who takes which tunnel, before and after failures",
    )
    group.add_argument("--pair", metavar="H1,H2", help="two hosts (default: the first pair with most tunnels)")
    group.add_argument("--weights", metavar="W,W,...", help="weights of its tunnels (default: as planned)")


def refuse_pair(arguments: argparse.Namespace) -> None:
    """Refuse what only a split of flows reads.

    Raises
    ------
    BadInputError
        --pair or --weights.
    """
    from experiments.cli.parser import refuse_given

    refuse_given(arguments, ("pair", "weights"), "is for --hash-split; add --hash-split 10000, or leave it out")


def verify_hash_split(
    arguments: argparse.Namespace, topology: Topology, commodities: Iterable[TunnelCommodity], options: TunnelOptions
) -> int:
    """Run `armor verify --hash-split`.

    Raises
    ------
    BadInputError
        No such pair, or weights that do not go with its tunnels.
    """
    from experiments.verify.against_ovs.decide.split import PROTOCOLS
    from experiments.verify.against_ovs.split import draw_flows, measure_spread
    from ryu_apps.plan.kuijia.plan import TunnelPlanner
    from ryu_apps.schemes import find_tunnel_scheme, tunnel_schemes

    if options.split != "ranges":
        raise BadInputError(f"--split {options.split} is what --hash-split compares with; leave it out")
    chosen = _chosen(arguments, topology, tuple(commodities))
    scheme = find_tunnel_scheme(arguments.scheme)
    # Before any failure all schemes split alike; groups cannot tag victims.
    untagged = next(each for each in tunnel_schemes().values() if each.tunnels and not each.tunnels.tags_victims)
    planners = {
        BY_RANGES: TunnelPlanner(scheme, topology, chosen, options),
        BY_GROUP: TunnelPlanner(untagged, topology, chosen, replace(options, split="select")),
    }
    flows = draw_flows(arguments.hash_split, arguments.seed)
    found = []
    with progress(len(planners) * len(PROTOCOLS), "splits", "") as bar:
        for split, planner in planners.items():
            ingress_entry = _ingress_entry(planner, chosen[0])
            for protocol in PROTOCOLS:
                spread = measure_spread(planner, ingress_entry, protocol, flows)
                found.append({"split": split, "protocol": protocol, **_spread_json(spread, planner)})
                bar.update()
    ingress_entry = _ingress_entry(planners[BY_RANGES], chosen[0])
    value = {
        "topology": topology.name,
        "scheme": scheme.name,
        "src": chosen[0].src,
        "dst": chosen[0].dst,
        "tunnels": [[chosen[0].src, *(hop.dst for hop in path)] for path in chosen[0].paths],
        "weights": list(ingress_entry.commodity.weights),
        "slots": _slots(ingress_entry),
        "flows": arguments.hash_split,
        "spreads": found,
        "holds": all(each["holds"] for each in found if each["split"] == BY_RANGES),
    }
    emit(arguments, value, hash_split_text(value))
    return 0 if value["holds"] else 1


def _chosen(
    arguments: argparse.Namespace, topology: Topology, commodities: Sequence[TunnelCommodity]
) -> tuple[TunnelCommodity, ...]:
    """Commodities of the pair, one a class, with the weights that were asked for."""
    pairs = dict.fromkeys(each.pair for each in commodities)
    if arguments.pair is None:
        most = max(sum(weight > 0 for weight in each.weights) for each in commodities)
        pair = next(each.pair for each in commodities if sum(weight > 0 for weight in each.weights) == most)
    else:
        pair = read_pair("--pair", arguments.pair, topology)
        if pair not in pairs:
            ends = [",".join(each) for each in pairs]
            raise BadInputError(f"--pair {arguments.pair}: nothing is planned for it; {suggest(','.join(pair), ends)}")
    found = tuple(each for each in commodities if each.pair == pair)
    if arguments.weights is None:
        return found
    weights = _weights(arguments.weights, len(found[0].paths))
    return tuple(replace(each, weights=weights) for each in found)


def _weights(text: str, count: int) -> tuple[float, ...]:
    try:
        weights = tuple(float(part) for part in text.split(","))
    except ValueError:
        weights = ()
    if len(weights) != count or not all(0 <= each < float("inf") for each in weights) or not any(weights):
        raise BadInputError(
            f"--weights is {text!r}, and the pair has {count} tunnels; give {count} numbers with commas between them, "
            f"none below 0 and not all 0"
        )
    return tuple(each / sum(weights) for each in weights)


def _ingress_entry(planner: TunnelPlanner, commodity: TunnelCommodity) -> IngressEntry:
    return next(each for each in planner.ingress_entries[commodity.src] if each.commodity.pair == commodity.pair)


def _slots(ingress_entry: IngressEntry) -> list[int]:
    """Hash slots by tunnel."""
    numbers = range(len(ingress_entry.commodity.paths))
    return [sum(piece.slots.size for piece in ingress_entry.base if piece.tunnel == number) for number in numbers]


def _spread_json(spread: Spread, planner: TunnelPlanner) -> dict[str, Any]:
    keeps, tags = planner.failover.keeps_others, planner.failover.tags_victims
    failures: list[dict[str, Any]] = [
        {
            "down": moves.down,
            "victims": sum(moves.victims.flows),
            "victims_flows": list(moves.victims.flows),
            "p_value": (moves.victims if keeps else moves.everybody).p_value,
            "others": moves.others,
            "moved": moves.moved,
        }
        for moves in spread.failures
    ]
    fair = [spread.split.p_value, *(each["p_value"] for each in failures)]
    stays = not (keeps and tags) or not any(each["moved"] for each in failures)
    return {
        "flows": list(spread.split.flows),
        "shares": list(spread.split.shares),
        "worst_error": spread.split.worst_error,
        "chi_square": spread.split.chi_square,
        "p_value": spread.split.p_value,
        "failures": failures,
        "unrepaired": spread.unrepaired,
        "holds": min(fair) >= IMPROBABLE and stays and not spread.unrepaired,
    }


def hash_split_text(value: dict[str, Any]) -> str:
    """The result for a person."""
    columns = [f"{each['protocol']}, {each['split']}" for each in value["spreads"]]
    rows = [
        (
            f"{number + 1}  {'-'.join(nodes)}",
            f"{value['weights'][number]:.3f}",
            value["slots"][number],
            *(f"{each['shares'][number]:.3f}" for each in value["spreads"]),
        )
        for number, nodes in enumerate(value["tunnels"])
    ]
    for name, key, form in (("largest error", "worst_error", ".3f"), ("chi-square", "chi_square", ".1f")):
        rows.append((name, None, None, *(f"{each[key]:,{form}}" for each in value["spreads"])))
    rows.append(("p", None, None, *(_p(each["p_value"]) for each in value["spreads"])))
    head = (
        f"{value['scheme']} on {value['topology']}, {value['src']} to {value['dst']}: {value['flows']:,} flows, "
        "distinguished by their ports, through a real Open vSwitch"
    )
    shares = table(rows, ("tunnel", "weight", "slots", *columns), right=range(1, len(columns) + 3))
    lines = [head, "", indented(shares)]
    if any(each["failures"] for each in value["spreads"]):
        lines += ["", indented(_failures_table(value))]
    ranges = [each for each in value["spreads"] if each["split"] == BY_RANGES]
    lines += [
        "",
        f"  p: chance that a fair draw is at least this far from the weights; below {IMPROBABLE} they are not kept",
        f"  once repaired: {sum(each['unrepaired'] for each in ranges):,} flows elsewhere than before",
        "  the hash ranges keep the promise" if value["holds"] else "  THE HASH RANGES BREAK THE PROMISE",
    ]
    return "\n".join(lines)


def _failures_table(value: dict[str, Any]) -> str:
    rows = [
        (
            f"{moves['down'] + 1} fails",
            f"{each['protocol']}, {each['split']}",
            f"{moves['victims']:,}",
            " / ".join(f"{count:,}" for number, count in enumerate(moves["victims_flows"]) if number != moves["down"]),
            _p(moves["p_value"]),
            f"{moves['moved']:,}",
            f"{moves['others']:,}",
        )
        for number in range(len(value["tunnels"]))
        for each in value["spreads"]
        for moves in each["failures"][number : number + 1]
    ]
    head = ("tunnel", "", "victims", "to the other tunnels", "p", "others moved", "of")
    return table(rows, head, right=range(2, len(head)))


def _p(value: float) -> str:
    return f"{value:.4f}" if value >= IMPROBABLE else f"< {IMPROBABLE}"
