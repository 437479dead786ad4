"""Walk every failure case of a scheme through the interpreter, from the first packet until the path settles.

  armor verify sdfast darkstrand
  armor verify sdfast darkstrand --failures 3 --sample 500 --seed 7
  armor verify sdfast darkstrand --nodes
  armor verify sdfast darkstrand --against-ovs --samples 2000
  armor verify kuijia gscale --failures 1
  armor verify protect darkstrand --failures 1
  armor verify lossless darkstrand --mode agent
  armor verify sqr darkstrand --marked dscp=46
  armor verify kuijia gscale --hash-split 10000 --pair h1,h12 --weights 0.5,0.3,0.2

A case is an ordered pair of hosts and a set of failed links that hits its primary path. With --against-ovs, random
packets go through the interpreter and through a real Open vSwitch instead. Where a controller rewrites routes, the
cases are also decided once it has, and while any of the switches have their new rows. Under sqr and lossless both ends
of every link keep packets, and a stream of them is followed; with --marked one of unmarked packets, too. The exit code
is 1 when a case breaks what the scheme promises, or when the two disagree. docs/verify.md says what every number means.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from experiments.cli.buffers import add_marked_argument, buffered
from experiments.cli.hash_split import add_hash_split_arguments
from experiments.cli.memory import add_memory_argument, memory_for
from experiments.cli.not_covered import not_covered_json, not_covered_lines
from experiments.cli.parser import (
    add_plan_arguments,
    add_protect_argument,
    plan_options,
    read_protected_flows,
    refuse_given,
    whole_number,
)
from experiments.cli.tunnels import (
    add_tunnel_arguments,
    refuse_shape,
    refuse_tunnel_arguments,
    tunnel_planner,
    verify_tunnels,
)
from experiments.terminal.inputs import load_topology
from experiments.terminal.output import emit, indented, progress, table
from mininet_topos.wording import counted
from ryu_apps.plan.choices import mode_words, uses_agent

if TYPE_CHECKING:
    from mininet_topos.topology import LinkId, Topology
    from ryu_apps.plan.options import PlanOptions
    from ryu_apps.plan.protection import ProtectedFlow
    from ryu_apps.plan.scheme import Scheme


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `armor verify`."""
    add_plan_arguments(parser)
    group = parser.add_argument_group("cases")
    group.add_argument(
        "--failures", type=whole_number("--failures", 1), default=1, metavar="N", help="links that fail at once"
    )
    group.add_argument(
        "--nodes", action="store_true", help="switches fail, each with all its links; --failures counts switches"
    )
    group.add_argument(
        "--sample", type=whole_number("--sample", 1), metavar="N", help="draw N sets of failed links instead of all"
    )
    group.add_argument(
        "--jobs",
        type=whole_number("--jobs", 1, 1024),
        metavar="N",
        help="processes (default: as many as pay, at most one a core)",
    )
    group = parser.add_argument_group("against Open vSwitch")
    group.add_argument("--against-ovs", action="store_true", help="compare the interpreter with a real Open vSwitch")
    group.add_argument(
        "--samples", type=whole_number("--samples", 1), default=2000, metavar="N", help="packets (default 2000)"
    )
    add_hash_split_arguments(parser)
    add_protect_argument(parser, "all that two disjoint paths join")
    add_marked_argument(parser)
    add_tunnel_arguments(parser)
    add_memory_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run `armor verify`."""
    from mininet_topos.connectivity import require_connected
    from ryu_apps.schemes import find_scheme

    scheme = find_scheme(arguments.scheme)
    options = plan_options(arguments)
    topology = load_topology(arguments.topology)
    require_connected(topology)
    options = buffered(arguments, scheme, topology, options)
    flows = read_protected_flows(arguments, topology, protects=scheme.protects)
    planner = scheme.plan if scheme.tunnels is None else tunnel_planner(arguments)
    with memory_for(arguments, topology, options, planner, notifies=bool(scheme.modes)):
        return _verified(arguments, scheme, topology, options, flows)


def _verified(
    arguments: argparse.Namespace,
    scheme: Scheme,
    topology: Topology,
    options: PlanOptions,
    flows: tuple[ProtectedFlow, ...] | None,
) -> int:
    if not arguments.against_ovs:
        refuse_given(arguments, ("samples",), "is for --against-ovs; add it, or write --sample")
    if scheme.tunnels is not None:
        refuse_given(arguments, ("nodes",), f"is not for {arguments.scheme!r}; leave it out")
        return verify_tunnels(arguments, topology)
    refuse_tunnel_arguments(arguments)
    refuse_shape(arguments)
    if arguments.against_ovs:
        refuse_given(
            arguments, ("failures", "sample", "jobs", "nodes"), "has no meaning with --against-ovs; leave it out"
        )
    if scheme.protects or scheme.buffers:
        refuse_given(arguments, ("jobs", "nodes"), f"is not for {arguments.scheme!r}; leave it out")
    if scheme.protects and not arguments.against_ovs:
        return _protection(arguments, scheme, topology, flows)
    if scheme.buffers and not arguments.against_ovs:
        return _packet_buffer(arguments, scheme, topology, options)
    check = _against_ovs if arguments.against_ovs else _cases
    return check(arguments, scheme, topology, options)


def _cases(arguments: argparse.Namespace, scheme: Scheme, topology: Topology, options: PlanOptions) -> int:
    from experiments.verify.verify import Request, verify_scheme

    drawn = arguments.failures, arguments.sample, arguments.seed
    request = Request(topology, scheme.name, options, *drawn, nodes=arguments.nodes)
    with progress(100, "cases", "%") as bar:
        result = verify_scheme(
            request, arguments.jobs, lambda done, every: bar.update(100 * done // every - 100 * (done - 1) // every)
        )
    value = result.to_json() | not_covered_json(scheme, topology, options)
    emit(arguments, value, cases_text(value))
    return 0 if result.holds else 1


def _protection(
    arguments: argparse.Namespace, scheme: Scheme, topology: Topology, flows: tuple[ProtectedFlow, ...] | None
) -> int:
    from experiments.cli.protect_text import protection_text
    from experiments.verify.streams.protection import all_flows, verify_protect

    failed_sets = _failed_sets(arguments, topology)
    with progress(len(failed_sets), "failures", "") as bar:
        result = verify_protect(
            scheme,
            topology,
            all_flows(topology) if flows is None else flows,
            failed_sets,
            arguments.metric,
            progress=bar.update,
        )
    emit(arguments, result.to_json(), protection_text(result.to_json()))
    return 0 if result.holds else 1


def _packet_buffer(arguments: argparse.Namespace, scheme: Scheme, topology: Topology, options: PlanOptions) -> int:
    from experiments.cli.buffering_text import buffering_text
    from experiments.verify.streams.buffering import verify_buffering

    failed_sets = _failed_sets(arguments, topology)
    with progress(len(failed_sets), "failures", "") as bar:
        result = verify_buffering(topology, scheme, options, failed_sets, bar.update)
    emit(arguments, result.to_json(), buffering_text(result.to_json(), scheme.promise))
    return 0 if result.holds else 1


def _failed_sets(arguments: argparse.Namespace, topology: Topology) -> list[frozenset[LinkId]]:
    from experiments.verify.cases import failure_masks

    links = topology.link_ids
    masks = failure_masks(len(links), arguments.failures, arguments.sample, arguments.seed)
    return [frozenset(link for number, link in enumerate(links) if mask >> number & 1) for mask in masks]


def _against_ovs(arguments: argparse.Namespace, scheme: Scheme, topology: Topology, options: PlanOptions) -> int:
    from experiments.verify.against_ovs.compare import compare_with_ovs

    with progress(arguments.samples, "packets", "") as bar:
        comparison = compare_with_ovs(
            topology, scheme.name, options, samples=arguments.samples, seed=arguments.seed, progress=bar.update
        )
    value = {"topology": topology.name, "scheme": scheme.name, "mode": options.mode, **comparison.to_json()}
    emit(arguments, value, _comparison_text(value))
    return 1 if comparison.differences else 0


def cases_text(value: dict[str, Any]) -> str:
    """The result of a verification for a person."""
    mode = mode_words(value["mode"])
    head = f"{value['scheme']} on {value['topology']}{mode}, {value['planner']} planner, {value['routes']} routes: "
    head += f"{counted(value['failures'], 'failed switch' if value['nodes'] else 'failed link')} at once"
    shown = [(name, f"{count:,}", meaning) for name, count, meaning in _case_rows(value)]
    lines = [head, "", indented(table(shown, right=(1,)))]
    if value["updating"] is not None:
        lines += ["", indented(table(_stage_rows(value), _STAGE_HEAD, right=(1, 2, 3, 4)))]
    lines += ["", indented(table(_size_rows(value), _SIZE_HEAD, right=(1, 2))), ""]
    lines.append(f"  mean stretch {_number(value['mean_stretch'])}, of first packets {_number(value['first_stretch'])}")
    lines.append(f"  {value['seconds']:.2f} s, {value['cases_per_s'] or 0:,.0f} cases a second")
    lines += [f"  {line}" for line in not_covered_lines(value)]
    lines += [f"  BROKEN: {example}" for example in value["examples"]]
    lines.append("  the promise holds" if value["holds"] else "  THE PROMISE IS BROKEN")
    return "\n".join(lines)


_STAGE_HEAD = ("", "delivered", "disconnected", "dropped", "looped", "")
_SIZE_HEAD = ("per switch", "most", "mean", "")


def _case_rows(value: dict[str, Any]) -> list[tuple[str, int, str]]:
    restores = value["updating"] is not None
    until = "from the first packet on, whatever part of the network knows"
    settled = "the controller has acted" if restores else "the path has settled"
    longest = counted(value["longest_crankback"], "hop")
    rows = [
        ("cases", value["cases"], "an ordered pair, and failed links that hit its primary path"),
        ("delivered", value["delivered"], f"{until}, and once the controller has acted" if restores else until),
        ("disconnected", value["disconnected"], "nothing joins the pair any more; dropped, never looped"),
        ("dropped", value["dropped"], "though the pair is still joined"),
        ("looped", value["looped"], ""),
        ("broken promises", value["broken"], f"of {value['promised']:,} cases that the scheme promises to deliver"),
        ("crankback cases", value["crankback_cases"], f"longest crankback {longest}"),
        ("still backtracking", value["backtracking_after_convergence"], f"packets after {settled}"),
    ]
    if value["notifying"] is not None:
        each = value["notifying"]
        meaning = f"until nobody backtracks, most; mean {each['mean_rounds']}, while everybody sends one packet a round"
        rows.append(("rounds", each["most_rounds"], meaning))
        meaning = f"frames of notifications a failure, most; mean {each['mean_frames']:,}"
        rows.append(("notification frames", each["most_frames"], meaning))
    if uses_agent(value["mode"]):
        meaning = "replies that go back over their own path, once the first packet has arrived"
        rows.append(("replies backtracking", value["reply_backtracks"], meaning))
    if restores:
        meaning = f"can loop while switches are rewritten; {value['micro_loops_on_return']:,} while they return"
        rows.append(("micro-loops", value["micro_loops"], meaning))
    return rows


def _stage_rows(value: dict[str, Any]) -> list[tuple[str, ...]]:
    rewriting = value["rewriting"]
    rewrites = f"{rewriting['mean_rows']:,} rows at {rewriting['mean_switches']:,} switches on average"
    meanings = {
        "transient": "before the controller acts",
        "updating": f"any switches written; {rewrites}",
        "converged": "all switches written",
        "returning": "links back, any switches written back",
    }
    fates = _STAGE_HEAD[1:5]
    return [(stage, *(f"{value[stage][fate]:,}" for fate in fates), meaning) for stage, meaning in meanings.items()]


def _size_rows(value: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    kinds = {"flows": "", "groups": "", "backups": "rows for failed links in the backup database"}
    return [
        (kind, f"{value[kind]['most']:,}", f"{value[kind]['mean']:,.1f}", meaning) for kind, meaning in kinds.items()
    ]


def _number(stretch: float | None) -> str:
    return "-" if stretch is None else f"{stretch:.3f}"


def _comparison_text(value: dict[str, Any]) -> str:
    lines = [
        f"{value['scheme']} on {value['topology']}: {value['packets']:,} packets, {value['hops']:,} switches visited, "
        f"{value['learned_rows']:,} learned rows, in {value['seconds']:.1f} s",
        f"  {value['differences']} differences between the interpreter and Open vSwitch",
    ]
    if value["first_difference"]:
        lines.append(f"  first: {value['first_difference']}")
    return "\n".join(lines)
