"""Cases per second of `armor verify`, beside the readable walker's, and the time and memory of a large network.

    python -m benchmarks.verify_speed [--trials 5] [--out FILE]

Three ways to walk the same cases, trial by trial in turn, so that their ratio holds whatever the machine: `compiled` is
what `armor verify` does, on one core; `interpreted` is the same with the interpreter in place of the compiled rules
(plans that cannot be compiled); `readable` sends two packets of every case through `ryu_apps.plan.walk.Network`, which
is the oracle of the tests, and tries no partly updated network. Planning is timed apart. The large network has the
size of the Topology Zoo's Cogentco (197 nodes, 243 links): all pairs, all single failures, on all cores, planning
included. Every trial is a JSON line of the result file.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from itertools import chain
from statistics import median

from benchmarks.trial_rows import memory_mb, parser_of, record
from experiments.verify import Request, verify_scheme
from experiments.verify.behaviour import behaviour_of
from experiments.verify.cases import failure_masks
from experiments.verify.result import Tally
from experiments.verify.verifier import Verifier
from experiments.verify.walk.dynamics import dynamics_of
from experiments.verify.wiring import bits
from mininet_topos.catalogue import load_topology
from mininet_topos.topology import Topology
from ryu_apps.plan.addressing import hosts_of
from ryu_apps.plan.interpret import Packet
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.rows import RulePlan
from ryu_apps.plan.walk import Network
from ryu_apps.schemes import find_scheme
from te_solver.routes import ResidualRoutes

LARGE = "random:197:243:7"
Row = dict[str, object]

# (topology, scheme, options, failures, ways beside `compiled`)
CASES: tuple[tuple[str, str, dict[str, object], int, tuple[str, ...]], ...] = (
    ("darkstrand", "sdfast", {"mode": "learned", "planner": "tree"}, 1, ("interpreted", "readable")),
    ("darkstrand", "sdfast", {"mode": "learned", "planner": "pair"}, 1, ()),
    ("darkstrand", "sdfast", {"mode": "agent", "planner": "tree"}, 1, ()),
    ("darkstrand", "sdfast", {"mode": "learned", "planner": "tree"}, 2, ()),
    ("darkstrand", "ffg", {}, 1, ()),
    ("usnet", "sdfast", {"mode": "learned", "planner": "tree"}, 1, ()),
)


def compiled(request: Request) -> tuple[int, float]:
    """Cases and seconds of `armor verify` on one core."""
    result = verify_scheme(request, jobs=1)
    return result.tally.cases, result.seconds


def interpreted(request: Request) -> tuple[int, float]:
    """The same with the interpreter in place of the compiled rules."""
    topology, scheme = request.topology, find_scheme(request.scheme)
    plans = scheme.plan(topology, request.options)
    began = time.perf_counter()
    verifier = Verifier(topology, plans, behaviour_of(scheme, topology, request.options))
    verifier.interpret_instead()
    tally = Tally()
    for batch in verifier.batches(failure_masks(len(topology.link_ids), request.failures, None, 1), 10_000):
        tally.add(verifier.tally(batch))
    return tally.cases, time.perf_counter() - began


def readable(request: Request) -> tuple[int, float]:
    """Two packets of every case whose destination is the first host, through the readable network."""
    topology, hosts = request.topology, list(hosts_of(request.topology).values())
    plans = find_scheme(request.scheme).plan(topology, request.options)
    crossed = primary_masks(topology)
    cases, seconds = 0, 0.0
    for mask in failure_masks(len(topology.link_ids), request.failures, None, 1):
        failed = frozenset(topology.link_ids[number] for number in bits(mask))
        for source in range(1, len(hosts)):
            if not crossed[source] & mask:
                continue
            network = network_of(topology, plans, request, failed)
            began = time.perf_counter()
            for _ in range(2):
                network.send(hosts[source].node, Packet(hosts[source].ipv4, hosts[0].ipv4))
            seconds += time.perf_counter() - began
            cases += 1
    return cases, seconds


def network_of(topology: Topology, plans: dict[int, RulePlan], request: Request, failed: frozenset) -> Network:
    """A network in which nothing has been sent yet."""
    return Network(topology, plans, dynamics_of(request.options.mode, plans), failed)


def primary_masks(topology: Topology) -> list[int]:
    """Links on the primary path of every node towards the first."""
    residual = ResidualRoutes(topology)
    table, found = residual.next_links(), []
    for start in range(len(topology.nodes)):
        node, mask = start, 0
        while node:
            link = table[node, 0]
            mask |= 1 << int(residual.link_number[link])
            node = topology.index_of[residual.links[link].dst]
        found.append(mask)
    return found


WAYS: dict[str, Callable[[Request], tuple[int, float]]] = {
    "compiled": compiled,
    "interpreted": interpreted,
    "readable": readable,
}


def trials(count: int) -> Iterator[Row]:
    """Every case, every way, in turn."""
    for name, scheme, settings, failures, others in CASES:
        options = PlanOptions(max_failures=failures, **settings)  # type: ignore[arg-type]
        request = Request(load_topology(name), scheme, options, failures)
        for trial in range(count):
            for way in ("compiled", *others):
                cases, seconds = WAYS[way](request)
                row: Row = {"topology": name, "scheme": scheme, **settings, "failures": failures, "trial": trial}
                yield {**row, "how": way, "cases": cases, "seconds": seconds, "cases_per_s": cases / seconds}


def large_network() -> Iterator[Row]:
    """One row: the large network once, planning included."""
    began = time.perf_counter()
    result = verify_scheme(Request(load_topology(LARGE), "sdfast", PlanOptions()), jobs=os.cpu_count())
    seconds = time.perf_counter() - began
    yield {
        "topology": LARGE,
        "how": "large",
        "trial": 0,
        "cases": result.tally.cases,
        "holds": result.holds,
        "jobs": result.jobs,
        "plan_seconds": result.plan_seconds,
        "seconds": seconds,
        "cases_per_s": result.tally.cases / result.seconds,
        **memory_mb(os.getpid()),
    }


def summary(rows: list[Row]) -> list[str]:
    """Median and spread of each case, and ratios to `compiled`."""
    groups: dict[tuple[object, ...], dict[str, list[float]]] = {}
    for row in rows:
        key = tuple(row.get(name) for name in ("topology", "scheme", "mode", "planner", "failures"))
        groups.setdefault(key, {}).setdefault(str(row["how"]), []).append(float(row["cases_per_s"]))  # type: ignore[arg-type]
    lines = []
    for key, ways in groups.items():
        name = " ".join(str(part) for part in key if part is not None)
        for way, rates in ways.items():
            ratio = (
                f"  {median(ways['compiled']) / median(rates):6.1f} times slower"
                if way in WAYS and way != "compiled"
                else ""
            )
            lines.append(
                f"{name:40} {way:12} {median(rates):10,.0f} cases/s  ({min(rates):,.0f} to {max(rates):,.0f}){ratio}"
            )
    seconds, planning, peak = (rows[-1][name] for name in ("seconds", "plan_seconds", "peak_rss_mb"))
    return [*lines, f"{LARGE}: {seconds:.1f} s in all, {planning:.1f} s of it planning, peak {peak:.0f} MB"]


def main() -> int:
    """Run the cases, write the rows, print a summary."""
    parser = parser_of("verify_speed", __doc__)
    parser.add_argument("--trials", type=int, default=5)
    given = parser.parse_args()
    return record("verify_speed", given.out, chain(trials(given.trials), large_network()), summary)


if __name__ == "__main__":
    sys.exit(main())
