"""The rules of known switches, as text: a change of any rule shows up as a diff to be read.

`pytest tests/plan/test_golden.py --update-golden` rewrites the files; a missing file is a failure.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from mininet_topos.catalogue import load_topology
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.text import names_of, plan_text
from ryu_apps.schemes import find_scheme, plan_network, route_schemes
from tests.schemes import FIRST_OUTSIDE, modes_of

GOLDEN = Path(__file__).resolve().parents[1] / "golden"

# The paper's Figure 2 at B, where its crankback turns; a square in whole; two failures at once; parallel links; a real
# network's switch with three neighbours.
PLACES = (("figure2", "s2", 1), ("square", "s2", 2), ("parallel", "s1", 1), ("darkstrand", "s4", 1))
# Golden texts are of Armor's own schemes.
VARIANTS = tuple(
    (scheme.name, mode, planner)
    for scheme in route_schemes().values()
    if scheme.number is None or scheme.number < FIRST_OUTSIDE
    for mode in modes_of(scheme)
    for planner in (("tree", "pair") if scheme.name == "sdfast" else ("tree",))
)
# The pair planner has ten times the rows: small networks show it.
CASES = [
    (topology, node, max_failures, *variant)
    for topology, node, max_failures in PLACES
    for variant in VARIANTS
    if variant[2] == "tree" or topology != "darkstrand"
]


def file_name(topology: str, node: str, scheme: str, mode: str, planner: str) -> str:
    """Name of the file with the rules of a switch."""
    variant = f"-{mode}-{planner}" if scheme == "sdfast" else f"-{mode}" if find_scheme(scheme).modes else ""
    return f"{topology}-{node}-{scheme}{variant}.txt"


@pytest.mark.parametrize(("topology_name", "node", "max_failures", "scheme", "mode", "planner"), CASES)
def test_the_rules_of_a_known_switch_are_what_they_were(
    request: pytest.FixtureRequest,
    topology_name: str,
    node: str,
    max_failures: int,
    scheme: str,
    mode: str,
    planner: str,
) -> None:
    topology = load_topology(topology_name)
    kept = (str(topology.link_id(topology.links_from[node][0].direction)),) if find_scheme(scheme).buffers else ()
    options = PlanOptions(mode=mode, planner=planner, max_failures=max_failures, replayed=kept)
    plan = next(plan for plan in plan_network(scheme, topology, options).values() if plan.node == node)
    text = plan_text(plan, names_of(topology, node))
    file = GOLDEN / file_name(topology_name, node, scheme, mode, planner)
    if request.config.getoption("--update-golden"):
        file.write_text(text, encoding="utf-8")
    assert file.is_file(), f"{file.name} is missing; look at the rules and make it with --update-golden"
    assert text == file.read_text(encoding="utf-8")


def test_no_golden_file_is_left_without_a_test() -> None:
    expected = {file_name(topology, node, scheme, mode, planner) for topology, node, _, scheme, mode, planner in CASES}
    assert {file.name for file in GOLDEN.iterdir()} == expected
