"""Traffic engineering: allocate demands to tunnels, fail links, and sweep over many of both.

armor te solve gscale --demands random:5:1200
armor te failure gscale --demands gravity:8000 --link s4-s7
armor te sweep --figure kuijia-fig4

Demands are random:PAIRS:MBPS, uniform:MBPS, gravity:TOTAL_MBPS, bimodal:MBPS, or a file: CSV with the header
src,dst,demand_mbps[,priority], or a JSON list of objects with these keys. Priorities are queues: 1 (first) to 4 are
high, 6 is background.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.cli.parser import add_choices, choice, positive_number, refuse_given, whole_number
from experiments.scenario.suggest import suggest
from experiments.terminal.output import emit, note, refuse_unwritable, writable
from experiments.terminal.pictures import save
from mininet_topos.errors import BadInputError
from mininet_topos.topology import FailureScenario, Topology
from te_solver.choices import BASE_POINTS, METRICS, OBJECTIVES, SOLVERS, TE_SOLVERS, TUNNEL_KINDS

if TYPE_CHECKING:
    from te_solver.solve import SolveOptions

ACTIONS = ("solve", "failure", "sweep")
FIGURES = ("kuijia-fig4", "te-schemes", "te-ffc-price")
PICTURES = (".png", ".svg", ".pdf")
DEFAULT_FOLDER = "results/te"
# Options by the action that reads them; `failure` reads those of the problem, too.
_PROBLEM = (
    *("demands", "default_capacity_mbps", "tunnels", "tunnel_kind", "metric", "objective", "base_point", "solver"),
    *("te_solver", "threads", "low_to_high"),
)
_FAILURE = ("link", "node", "schemes", "failure_probability", "availability")
_SWEEP = ("figure", "workers", "dask", "quick", "again")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `armor te`."""
    parser.add_argument("action", metavar="solve|failure|sweep", type=choice("action", ACTIONS))
    parser.add_argument("topology", metavar="TOPO", nargs="?", help="solve, failure: a name or a file")
    _add_problem_arguments(parser)
    _add_failure_arguments(parser)
    _add_sweep_arguments(parser)


def _add_problem_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("solve and failure")
    group.add_argument("--demands", metavar="SPEC|FILE", help="what is sent (default: 40 random pairs)")
    group.add_argument("--default-capacity-mbps", type=positive_number("--default-capacity-mbps"), metavar="MBPS")
    group.add_argument("--tunnels", type=whole_number("--tunnels", 1, 16), default=3, metavar="K", help="a pair (3)")
    add_choices(
        group,
        ("tunnel-kind", TUNNEL_KINDS, "how tunnels are chosen"),
        ("metric", METRICS, "length of a tunnel"),
        ("objective", OBJECTIVES, "what is best"),
        ("te-solver", TE_SOLVERS, "cvxpy, or the fast solver, certified alike"),
        ("base-point", BASE_POINTS, "which of the best allocations"),
    )
    group.add_argument(
        "--solver", type=choice("solver", tuple(SOLVERS)), metavar="|".join(SOLVERS), help="cvxpy's solver"
    )
    group.add_argument(
        "--threads", type=whole_number("--threads", 1, 256), default=1, metavar="N", help="of the fast solver (1)"
    )
    group.add_argument(
        "--low-to-high",
        type=positive_number("--low-to-high"),
        metavar="RATIO",
        help="split every demand into a high and a low class (10 in Kuijia's paper)",
    )


def _add_failure_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("failure")
    group.add_argument("--link", metavar="LINK", action="append", default=[], help="a failed link, as s2-s4")
    group.add_argument("--node", metavar="NODE", action="append", default=[], help="a failed node")
    group.add_argument("--schemes", metavar="NAMES", help="some of the schemes, with commas (default: all)")
    group.add_argument(
        "--failure-probability", type=positive_number("--failure-probability"), default=0.001, metavar="P"
    )
    group.add_argument("--availability", type=positive_number("--availability"), default=0.99, metavar="SHARE")


def _add_sweep_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("sweep")
    group.add_argument("--figure", type=choice("figure", FIGURES), metavar="|".join(FIGURES))
    group.add_argument(
        "--workers", type=whole_number("--workers", 1, 1024), default=1, metavar="N", help="processes (1)"
    )
    group.add_argument("--dask", metavar="ADDRESS", help="run on a dask.distributed cluster, as tcp://HOST:8786")
    group.add_argument("--quick", action="store_true", help="a small part of the sweep")
    group.add_argument("--again", action="store_true", help="compute finished units again")


def run(arguments: argparse.Namespace) -> int:
    """Run `armor te`."""
    foreign = {"solve": (*_FAILURE, *_SWEEP), "failure": _SWEEP, "sweep": (*_PROBLEM, *_FAILURE)}
    refuse_given(arguments, foreign[arguments.action], f"is not for 'armor te {arguments.action}'; leave it out")
    if arguments.action == "sweep":
        if arguments.topology is not None:
            raise BadInputError(f"'armor te sweep' takes no topology; remove {arguments.topology!r}")
        if arguments.figure is None:
            raise BadInputError(f"'armor te sweep' needs --figure; use one of {', '.join(FIGURES)}")
        from experiments.cli.te_sweep import sweep

        return sweep(arguments)
    if arguments.out is not None:
        refuse_unwritable(arguments.out)
    if arguments.topology is None:
        raise BadInputError(f"'armor te {arguments.action}' needs a topology; 'armor topo list' shows the names")
    return (_solve if arguments.action == "solve" else _failure)(arguments)


def _solve(arguments: argparse.Namespace) -> int:
    from experiments.cli.te_problem import load_problem
    from experiments.cli.te_text import allocation_text, allocation_value
    from te_solver.solve import solve

    allocation = solve(load_problem(arguments), _solve_options(arguments))
    # Tables of large allocations take longer than solving: only what is asked for is written.
    value = allocation_value(allocation) if arguments.json else None
    emit(arguments, value, "" if arguments.json else allocation_text(allocation))
    return 0


def _failure(arguments: argparse.Namespace) -> int:
    from experiments.charts.failure import failure_figure
    from experiments.cli.te_problem import load_problem
    from experiments.cli.te_text import failure_text, outcome_value
    from te_solver.schemes import SCHEMES, SchemeOptions, fail, plan_schemes
    from te_solver.solve import solve

    names = list(SCHEMES) if arguments.schemes is None else [name.strip() for name in arguments.schemes.split(",")]
    for name in names:
        if name not in SCHEMES:
            raise BadInputError(f"--schemes names {name!r}; {suggest(name, SCHEMES)}")
    problem = load_problem(arguments)
    scenario, what = _scenario(arguments, problem.network.topology)
    picture = _picture(arguments, what)
    refuse_unwritable(picture)
    options = SchemeOptions(_solve_options(arguments), arguments.failure_probability, arguments.availability)
    plans = plan_schemes(problem, names, options)
    outcomes = {name: fail(name, plan, scenario, options) for name, plan in plans.items()}
    optimum_mbps = solve(problem, options.solve).demand_mbps.sum()
    title = f"{problem.network.topology.name}: {what} fails, {len(problem.demands)} demands, {options.solve.base_point}"
    save(failure_figure(title, outcomes), writable(picture))
    value = {
        "topology": problem.network.topology.name,
        "failed": what,
        "optimum_mbps": float(optimum_mbps),
        "schemes": {name: outcome_value(plans[name], outcome, optimum_mbps) for name, outcome in outcomes.items()},
        "picture": picture,
    }
    emit(arguments, value, failure_text(title, outcomes))
    note(f"written: {picture}")
    return 0


def _solve_options(arguments: argparse.Namespace) -> SolveOptions:
    from te_solver.solve import SolveOptions

    who = arguments.solver, arguments.te_solver, arguments.threads
    return SolveOptions(arguments.objective, arguments.base_point, *who)


def _scenario(arguments: argparse.Namespace, topology: Topology) -> tuple[FailureScenario, str]:
    links = [topology.parse_link(text) for text in arguments.link]
    for node in arguments.node:
        if node not in topology.index_of:
            raise BadInputError(
                f"--node names {node!r}, no node of {topology.name!r}; {suggest(node, topology.node_names)}"
            )
    if not links and not arguments.node:
        raise BadInputError(f"nothing fails; give --link NODE-NODE (for example {topology.link_ids[0]}) or --node NODE")
    what = ", ".join([*map(str, links), *arguments.node])
    return FailureScenario(links=frozenset(links), nodes=frozenset(arguments.node)), what


def _picture(arguments: argparse.Namespace, what: str) -> str:
    """Where the picture goes: --out when that ends like a picture (the table then goes to standard output)."""
    if arguments.out is not None and Path(arguments.out).suffix.lower() in PICTURES:
        name, arguments.out = str(arguments.out), None
        return name
    stem = Path(arguments.topology).stem.replace(":", "-")
    return f"{DEFAULT_FOLDER}/failure-{stem}-{what.replace(', ', '+').replace('#', '.')}.png"
