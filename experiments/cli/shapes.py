"""Plans in a shape (replicated, two-table, decomposed), as rows or as counts of what they cost.

armor plan kuijia gscale --demands random:5:900 --priorities four --shape decomposed --count
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from experiments.cli.not_covered import not_covered_lines
from experiments.terminal.output import emit, table
from mininet_topos.errors import BadInputError
from ryu_apps.plan.choices import DECOMPOSED, DSCP_FIELD, MPLS_FIELD, REPLICATED, TWO_TABLE, uses_agent

if TYPE_CHECKING:
    from mininet_topos.topology import Topology
    from ryu_apps.plan.decompose.shapes import TableOutcome
    from ryu_apps.plan.rows import RulePlan
    from ryu_apps.plan.scheme import Scheme

_MEANINGS = {
    REPLICATED: "tables as planned: a row for each class of traffic",
    TWO_TABLE: "keys in a first table, and a table for every different rest (the paper's heuristic)",
    DECOMPOSED: "tables taken apart where one field decides another (value correspondence)",
}
FIELD_WORDS = {MPLS_FIELD: "label", DSCP_FIELD: "DSCP"}
_SIZES = ("tables", "rows", "fields", "replicated_rows", "replicated_fields")


def check_shape(arguments: argparse.Namespace, scheme: Scheme, plans: Mapping[int, RulePlan]) -> None:
    """Refuse a shape for plans whose rows are learned, moved in or rewritten one by one while the network runs.

    Raises
    ------
    BadInputError
        Such a scheme, and another shape than replicated.
    """
    if arguments.shape == REPLICATED:
        return
    if scheme.restoration is not None:
        reason = "its controller rewrites single rows"
    elif uses_agent(arguments.mode) and any(plan.backups for plan in plans.values()):
        reason = "its agent moves rows in from the backup database"
    elif any(_learns(plan) for plan in plans.values()):
        reason = "its switches learn rows"
    else:
        return
    raise BadInputError(
        f"--shape {arguments.shape} is not for {scheme.name!r}: {reason}, which are made for the tables as planned; "
        f"use --shape {REPLICATED}"
    )


def show(
    arguments: argparse.Namespace, topology: Topology, about: Mapping[str, Any], plans: Mapping[int, RulePlan]
) -> int:
    """Print the plans of the switches that were asked for, in the shape of --shape; with --count what they cost."""
    from ryu_apps.plan.kuijia.installed import installed_plan, installed_plans
    from ryu_apps.plan.serial import plan_to_json
    from ryu_apps.plan.text import names_of, plan_text

    wanted = {dpid: plan for dpid, plan in plans.items() if not arguments.switch or plan.node in arguments.switch}
    value = {**about, "shape": arguments.shape}
    if arguments.count:
        shaped = {dpid: installed_plan(plan, arguments.shape) for dpid, plan in wanted.items()}
        counted = {**value, **count_json(wanted, shaped)}
        emit(arguments, counted, count_text(counted))
        return 0
    printed = installed_plans(wanted, arguments.shape).values()
    if arguments.json:
        emit(arguments, {**value, "switches": [plan_to_json(plan) for plan in printed]}, "")
        return 0
    texts = [plan_text(plan, names_of(topology, plan.node)) for plan in printed]
    texts.append("".join(f"# {line}\n" for line in not_covered_lines(value)))
    emit(arguments, value, "\n".join(texts).rstrip("\n"))
    return 0


def count_json(
    plans: Mapping[int, RulePlan], shaped: Mapping[int, tuple[RulePlan, tuple[TableOutcome, ...]]]
) -> dict[str, Any]:
    """Rows and fields of every switch and in all, beside those of the plans as they were, and what is saved (%).

    Buckets of groups count with their actions; a shape does not change them. `bytes` are those of the flow-mods that
    bring the rows, `largest_bytes` those of the longest one.
    """
    from ryu_apps.openflow.encode import flow_add
    from ryu_apps.plan.decompose.count import count_fields, memory_bits

    switches = []
    for dpid, (made, outcomes) in shaped.items():
        before, lengths = plans[dpid], [len(flow_add(row)) for row in made.flows]
        sizes = (
            len({row.table_id for row in made.flows}),
            len(made.flows),
            count_fields(made.flows, made.groups),
            len(before.flows),
            count_fields(before.flows, before.groups),
        )
        switches.append(
            {
                "node": made.node,
                **_with_saving(dict(zip(_SIZES, sizes, strict=True))),
                "bytes": sum(lengths),
                "largest_bytes": max(lengths, default=0),
                "kept": {str(each.table_id): each.kept_because for each in outcomes if each.kept_because},
            }
        )
    total = {name: sum(switch[name] for switch in switches) for name in (*_SIZES, "bytes") if name != "tables"}
    total |= {"largest_bytes": max((switch["largest_bytes"] for switch in switches), default=0)}
    return {"switches": switches, "total": {**_with_saving(total), "memory_bits": memory_bits(total["fields"])}}


def count_text(value: Mapping[str, Any]) -> str:
    """Counts for a person."""
    head: Sequence[str] = ("switch", "tables", "rows", "fields", "replicated: rows", "fields", "saved %")
    rows: list[Sequence[str]] = [
        (
            each["node"],
            *(f"{each[name]:,}" if name in each else "" for name in _SIZES),
            f"{each['saved_percent']:.1f}",
        )
        for each in (*value["switches"], {"node": "all", **value["total"]})
    ]
    if value["shape"] == REPLICATED:
        head, rows = head[:4], [row[:4] for row in rows]  # there is nothing to compare with
    field = f", tunnels in the {FIELD_WORDS[value['tunnel_field']]}" if "tunnel_field" in value else ""
    lines = [f"{value['scheme']} on {value['topology']}{field}, {value['shape']}: {_MEANINGS[value['shape']]}", ""]
    lines += [f"  {line}" for line in table(rows, head, right=range(1, len(head))).splitlines()]
    kept = {reason: (each["node"], number) for each in value["switches"] for number, reason in each["kept"].items()}
    total = value["total"]
    lines += ["", f"  a field is a match field or an action; {total['memory_bits']:,} bit in all"]
    lines += [f"  flow-mods of {total['bytes']:,} bytes in all; the largest has {total['largest_bytes']:,}"]
    lines += [f"  left as it was, at {node} table {number}: {reason}" for reason, (node, number) in kept.items()]
    return "\n".join(lines)


def _with_saving(sizes: dict[str, Any]) -> dict[str, Any]:
    before = sizes["replicated_fields"]
    return {**sizes, "saved_percent": 100.0 * (1 - sizes["fields"] / before) if before else 0.0}


def _learns(plan: RulePlan) -> bool:
    from ryu_apps.plan.rows import Learn

    return any(isinstance(action, Learn) for row in plan.flows for action in row.apply_actions)
