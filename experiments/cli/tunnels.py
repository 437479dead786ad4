"""`armor plan` and `armor verify` for schemes of tunnels: kuijia, rescaling, te.

armor plan kuijia gscale --demands random:5:900 --failed s2-s4 --switch s2
armor verify kuijia gscale --failures 1
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import combinations
from math import comb
from random import Random
from typing import TYPE_CHECKING, Any

from experiments.cli.hash_split import refuse_pair, verify_hash_split
from experiments.cli.parser import (
    PLAN_OPTIONS,
    add_choices,
    positive_number,
    refuse_given,
    refuse_plan_options,
    whole_number,
)
from experiments.cli.shapes import FIELD_WORDS, show
from experiments.terminal.output import emit, hold_note, progress, table, writable
from mininet_topos.errors import BadInputError
from mininet_topos.wording import counted
from ryu_apps.plan.choices import NOTIFIERS, PRIORITIES, SHAPES, SPLITS, TUNNEL_FIELDS
from te_solver.choices import MAX_TUNNELS, TE_SOLVERS, TUNNEL_KINDS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mininet_topos.topology import LinkId, Topology
    from ryu_apps.plan.kuijia.commodities import TunnelCommodity
    from ryu_apps.plan.kuijia.options import Prefix, TunnelOptions
    from ryu_apps.plan.kuijia.plan import Failures, TunnelPlanner
    from ryu_apps.plan.options import PlanOptions
    from ryu_apps.plan.rows import RulePlan

_ONLY_FOR_TUNNELS = (
    *(
        "failed",
        "demands",
        "default_capacity_mbps",
        "low_to_high",
        "prefix",
        "agent_configurations",
        "hash_split",
        "pair",
        "weights",
    ),
    *("tunnels", "tunnel_kind", "te_solver", "priorities", "split", "notified_by", "tunnel_field"),
)


def add_tunnel_arguments(parser: argparse.ArgumentParser) -> None:
    """What schemes of tunnels are planned from."""
    group = parser.add_argument_group("schemes of tunnels (kuijia, rescaling, te)")
    group.add_argument("--demands", metavar="SPEC|FILE", help="solve these (default: all pairs, equal weights)")
    group.add_argument("--default-capacity-mbps", type=positive_number("--default-capacity-mbps"), metavar="MBPS")
    group.add_argument("--low-to-high", type=positive_number("--low-to-high"), metavar="RATIO", help="two classes")
    group.add_argument(
        "--tunnels", type=whole_number("--tunnels", 1, MAX_TUNNELS), default=3, metavar="K", help="a pair (3)"
    )
    add_choices(
        group,
        ("tunnel-kind", TUNNEL_KINDS, "how tunnels are chosen"),
        ("te-solver", TE_SOLVERS, "what solves --demands"),
        ("priorities", PRIORITIES, "classes and queues"),
        ("split", SPLITS, "hash ranges, or a SELECT group for comparison"),
        ("notified-by", NOTIFIERS, "who notifies the ingress about failed tunnels; agents need rows for LDIs"),
        ("tunnel-field", TUNNEL_FIELDS, "what packets carry tunnel and tag in: label and TC, or DSCP and ECN"),
        ("shape", SHAPES, "tables as planned, or taken apart"),
    )
    group.add_argument(
        "--prefix",
        metavar="NODE=PREFIX",
        action="append",
        default=[],
        help="addresses behind a switch, as s4=10.0.2.0/24 (may be given again)",
    )


def refuse_tunnel_arguments(arguments: argparse.Namespace) -> None:
    """Refuse arguments that only schemes of tunnels read.

    Raises
    ------
    BadInputError
        One of them was given.
    """
    refuse_given(arguments, _ONLY_FOR_TUNNELS, f"is for schemes of tunnels, not for {arguments.scheme!r}; remove it")


def refuse_shape(arguments: argparse.Namespace) -> None:
    """Refuse a shape where only schemes of tunnels take one: `armor verify`.

    Raises
    ------
    BadInputError
        Another shape than replicated.
    """
    refuse_given(arguments, ("shape",), f"is for schemes of tunnels, not for {arguments.scheme!r}; remove it")


def load_planner(arguments: argparse.Namespace, topology: Topology) -> TunnelPlanner:
    """Planner of the arguments that `add_tunnel_arguments` declared.

    Raises
    ------
    BadInputError
        Demands, prefixes or options that cannot be used.
    """
    from ryu_apps.plan.kuijia.plan import TunnelPlanner
    from ryu_apps.schemes import find_tunnel_scheme

    options = _options(arguments)
    return TunnelPlanner(find_tunnel_scheme(arguments.scheme), topology, _commodities(arguments, topology), options)


def tunnel_planner(arguments: argparse.Namespace) -> Callable[[Topology, PlanOptions], Mapping[int, RulePlan]] | None:
    """Plans of any network, for all pairs of it; None where the arguments name nodes or demands of one network."""
    if arguments.demands is not None or arguments.prefix:
        return None
    return lambda topology, _options: load_planner(arguments, topology).plans()


def plan_tunnels(arguments: argparse.Namespace, topology: Topology) -> int:
    """Run `armor plan` for a scheme of tunnels."""
    refuse_plan_options(arguments, PLAN_OPTIONS)
    from ryu_apps.schemes import find_tunnel_scheme

    scheme = find_tunnel_scheme(arguments.scheme)
    failures = [frozenset({topology.parse_link(name)}) for name in arguments.failed]
    if arguments.agent_configurations is not None and arguments.notified_by != "agent":
        raise BadInputError("--agent-configurations are for agents; add --notified-by agent, or leave them out")
    planner = load_planner(arguments, topology)
    if arguments.agent_configurations is not None:
        _write_configurations(planner, arguments.agent_configurations)
    value = {
        "topology": topology.name,
        "scheme": scheme.name,
        "priorities": arguments.priorities,
        "split": arguments.split,
        "notified_by": arguments.notified_by,
        "tunnel_field": arguments.tunnel_field,
        "failed": [str(link) for event in failures for link in event],
    }
    return show(arguments, topology, value, planner.plans(failures))


def _write_configurations(planner: TunnelPlanner, folder: str) -> None:
    """Write the configuration of every switch's agent to FOLDER/NODE.json."""
    from ryu_apps.plan.kuijia.agent_configuration import configuration_text

    nodes = planner.topology.node_names
    for node in nodes:
        writable(f"{folder}/{node}.json").write_text(configuration_text(planner, node), encoding="utf-8")
    hold_note(f"written: {len(nodes)} agent configurations in {folder}")


def verify_tunnels(arguments: argparse.Namespace, topology: Topology) -> int:
    """Run `armor verify` for a scheme of tunnels."""
    refuse_plan_options(arguments, PLAN_OPTIONS)
    refuse_given(arguments, ("jobs",), "is not for schemes of tunnels; leave it out")
    if arguments.hash_split is not None:
        useless = ("against_ovs", "failures", "sample", "samples", "tunnel_field")
        refuse_given(arguments, useless, "has no meaning with --hash-split; leave it out")
        return verify_hash_split(arguments, topology, _commodities(arguments, topology), _options(arguments))
    refuse_pair(arguments)
    planner = load_planner(arguments, topology)
    if arguments.against_ovs:
        return _against_ovs(arguments, topology, planner)
    if arguments.split == "select":
        raise BadInputError("--split select cannot be verified: the slots of a group are the switch's own; use ranges")
    from ryu_apps.plan.kuijia.audit import Audit, audit

    total, histories = draw_histories(topology.link_ids, arguments.failures, arguments.sample, arguments.seed)
    found = Audit()
    with progress(total, "failures", "") as bar:
        for failures in histories:
            found = found.plus(audit(planner, [failures], arguments.shape))
            bar.update()
    value = {
        "topology": topology.name,
        "scheme": arguments.scheme,
        "priorities": arguments.priorities,
        "shape": arguments.shape,
        "tunnel_field": arguments.tunnel_field,
        "failures": arguments.failures,
        "histories": total,
        "commodities": sum(len(ingress_entries) for ingress_entries in planner.ingress_entries.values()),
        **found.to_json(),
        "holds": not found.faults,
    }
    emit(arguments, value, audit_text(value))
    return 1 if found.faults else 0


def draw_histories(
    links: tuple[LinkId, ...], size: int, sample: int | None, seed: int
) -> tuple[int, Iterator[Failures]]:
    """How many histories of failures, and the histories.

    Every set of `size` links (or `sample` of them, drawn at random) fails at once and, when there are several, one link
    after another too, in the order of the links.

    Raises
    ------
    BadInputError
        More links than there are.
    """
    if size > len(links):
        raise BadInputError(f"--failures is {size}, and the topology has {len(links)} links; give fewer")
    sets = comb(len(links), size)
    every: Iterator[tuple[LinkId, ...]] = combinations(links, size)
    if sample is not None and sample < sets:
        random = Random(seed)
        order = {link: number for number, link in enumerate(links)}
        every = (tuple(sorted(random.sample(links, size), key=order.__getitem__)) for _ in range(sample))
        sets = sample
    histories: Iterator[Failures] = (
        history
        for together in every
        for history in ([frozenset(together)], [frozenset({link}) for link in together])[: 1 + (size > 1)]
    )
    return sets * (1 + (size > 1)), histories


def audit_text(value: dict[str, Any]) -> str:
    """The result of an audit for a person."""
    rows = [
        ("cases", value["cases"], "a commodity, and a history of failed links"),
        ("slots", value["slots"], "1,024 a case, each walked or proven alike to one that is"),
        ("delivered", value["delivered"], "over a living tunnel, to the right host"),
        ("dropped", value["dropped"], "no tunnel is left, or the scheme does not recover"),
        ("victims", value["victims"], "delivered in a victim queue at every switch"),
        ("moved", value["moved"], "left a living tunnel"),
        ("broken promises", len(value["faults"]), ""),
    ]
    head = (
        f"{value['scheme']} on {value['topology']}, {value['commodities']:,} commodities, {value['priorities']} "
        f"priorities, tunnels in the {FIELD_WORDS[value['tunnel_field']]}: "
        f"{counted(value['failures'], 'failed link')}, "
        f"{counted(value['histories'], 'history', 'histories')}"
    )
    shown = table([(name, f"{count:,}", meaning) for name, count, meaning in rows], right=(1,))
    lines = [head, "", *(f"  {line}" for line in shown.splitlines()), ""]
    lines += [f"  BROKEN: {fault}" for fault in value["faults"][:_SHOWN_FAULTS]]
    return "\n".join([*lines, "  the promise holds" if value["holds"] else "  THE PROMISE IS BROKEN"])


_SHOWN_FAULTS = 5


def _against_ovs(arguments: argparse.Namespace, topology: Topology, planner: TunnelPlanner) -> int:
    from experiments.verify.against_ovs.compare import Comparison
    from experiments.verify.against_ovs.tunnels import compare_tunnels
    from ryu_apps.plan.kuijia.installed import installed_plans

    if arguments.split == "select":
        raise BadInputError(
            "--against-ovs traces no SELECT group, whose hash comes after the trace; use --split ranges"
        )
    failures = _drawn_failures(planner, arguments.failures, arguments.seed)
    found, after = Comparison(), arguments.samples // 2
    for history, samples in (((), arguments.samples - after), (failures, after)):
        plans = planner.plans(history)
        shaped = installed_plans(plans, arguments.shape)
        found = found.together(compare_tunnels(topology, shaped, plans, samples=samples, seed=arguments.seed))
    value = {
        "topology": topology.name,
        "scheme": arguments.scheme,
        "shape": arguments.shape,
        "priorities": arguments.priorities,
        "notified_by": arguments.notified_by,
        "tunnel_field": arguments.tunnel_field,
        "failed": [str(link) for event in failures for link in sorted(event)],
        **found.to_json(),
    }
    lines = [
        f"{arguments.scheme} on {topology.name}, {arguments.shape} tables, {arguments.priorities} priorities, "
        f"tunnels in the {FIELD_WORDS[arguments.tunnel_field]}: {found.packets:,} packets, "
        f"{found.hops:,} switches visited, in {found.seconds:.1f} s",
        f"  half of them with the rows that are there once {' and then '.join(value['failed'])} failed",
        f"  {found.differences} differences between the interpreter and Open vSwitch",
    ]
    lines += [f"  first: {found.first_difference}"] if found.first_difference else []
    emit(arguments, value, "\n".join(lines))
    return 1 if found.differences else 0


def _drawn_failures(planner: TunnelPlanner, count: int, seed: int) -> Failures:
    """Links with tunnels, drawn at random, each a moment of its own."""
    links = sorted({planner.topology.link_id(hop) for path in planner.labels for hop in path})
    if count > len(links):
        raise BadInputError(f"--failures is {count}, and {len(links)} links have tunnels; give fewer")
    return [frozenset({link}) for link in Random(seed).sample(links, count)]


def _options(arguments: argparse.Namespace) -> TunnelOptions:
    from ryu_apps.plan.kuijia.options import TunnelOptions

    prefixes = _prefixes(arguments.prefix)
    return TunnelOptions(arguments.priorities, arguments.split, prefixes, arguments.notified_by, arguments.tunnel_field)


def _commodities(arguments: argparse.Namespace, topology: Topology) -> tuple[TunnelCommodity, ...]:
    from ryu_apps.plan.kuijia.sources import equal_commodities, plan_traffic, planned_commodities
    from ryu_apps.schemes import find_tunnel_scheme

    if arguments.demands is None:
        if arguments.low_to_high is not None:
            raise BadInputError("--low-to-high splits demands; give --demands too")
        refuse_given(arguments, ("te_solver",), "solves demands; give --demands too")
        return equal_commodities(topology, None, arguments.tunnels, arguments.tunnel_kind, arguments.metric)
    from experiments.cli.te_problem import load_problem
    from te_solver.solve import SolveOptions

    failover = find_tunnel_scheme(arguments.scheme).tunnels
    problem, options = load_problem(arguments), SolveOptions(te_solver=arguments.te_solver)
    plan = plan_traffic(problem, options, failover.reserved_failures if failover else 0)
    allocation = plan.allocation
    size = f"{len(problem.demands)} demands over {len(problem.tunnels)} tunnels"
    hold_note(f"note: {allocation.solved_by} solved {size}, within {allocation.gap:.1e} of the best")
    return planned_commodities(plan, options, precomputes=failover is not None and failover.precomputes)


def _prefixes(texts: list[str]) -> tuple[tuple[str, tuple[Prefix, ...]], ...]:
    from ryu_apps.plan.kuijia.options import parse_prefix

    found: dict[str, tuple[Prefix, ...]] = {}
    for text in texts:
        node, equals, prefix = text.partition("=")
        if not equals:
            raise BadInputError(f"--prefix {text!r} names no switch; write NODE=PREFIX, for example s4=10.0.2.0/24")
        found[node] = (*found.get(node, ()), parse_prefix(prefix))
    return tuple(found.items())
