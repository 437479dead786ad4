"""The rules of Kuijia's Figure 2, and of figures of ours beside it, as text: a change shows up as a diff to be read.

`pytest tests/plan/kuijia/test_golden.py --update-golden` rewrites the files; a missing file is a failure. The paper's
ports differ: here a host is on port 1, and links follow in the order of the neighbours.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mininet_topos.topology import LinkId
from ryu_apps.plan.kuijia.options import TunnelOptions
from ryu_apps.plan.text import names_of, plan_text
from ryu_apps.schemes import plan_tunnels
from tests.plan.kuijia.networks import FIGURE2_OPTIONS, figure1, figure1_traffic

GOLDEN = Path(__file__).parent / "golden"
FAILURE = (frozenset({LinkId("s2", "s4")}),)
WEIGHTS = (0.5, 0.3, 0.2)
HIGH, LOW = (replace(figure1_traffic(WEIGHTS), priority=priority) for priority in (1, 6))
IN_DSCP = replace(FIGURE2_OPTIONS, tunnel_field="dscp")

# Figure 2 before and after the failure at its four switches; Figure 3a; the eight queues of section 4.3; tunnels in the
# DSCP (section 5); comparison.
CASES = {
    "figure2-s1": ("s1", "kuijia", (figure1_traffic(),), FIGURE2_OPTIONS, ()),
    "figure2-s2": ("s2", "kuijia", (figure1_traffic(),), FIGURE2_OPTIONS, ()),
    "figure2-s3": ("s3", "kuijia", (figure1_traffic(),), FIGURE2_OPTIONS, ()),
    "figure2-s4": ("s4", "kuijia", (figure1_traffic(),), FIGURE2_OPTIONS, ()),
    "figure2-s1-failed": ("s1", "kuijia", (figure1_traffic(),), FIGURE2_OPTIONS, FAILURE),
    "figure3a-s1-failed": ("s1", "rescaling", (figure1_traffic(WEIGHTS),), TunnelOptions(), FAILURE),
    "figure3b-s1-failed": ("s1", "kuijia", (figure1_traffic(WEIGHTS),), TunnelOptions(), FAILURE),
    "eight-s1-failed": ("s1", "kuijia", (HIGH, LOW), TunnelOptions("eight"), FAILURE),
    "eight-s3": ("s3", "kuijia", (HIGH, LOW), TunnelOptions("eight"), ()),
    "dscp-s1-failed": ("s1", "kuijia", (figure1_traffic(),), IN_DSCP, FAILURE),
    "dscp-s2": ("s2", "kuijia", (figure1_traffic(),), IN_DSCP, ()),
    "select-s1": ("s1", "te", (figure1_traffic(WEIGHTS),), TunnelOptions(split="select"), ()),
}


@pytest.mark.parametrize("case", CASES)
def test_the_rules_of_a_known_switch_are_what_they_were(request: pytest.FixtureRequest, case: str) -> None:
    node, scheme, commodities, options, failures = CASES[case]
    plans = plan_tunnels(scheme, figure1(), commodities, options, failures)
    plan = next(plan for plan in plans.values() if plan.node == node)
    text = plan_text(plan, names_of(figure1(), node))
    file = GOLDEN / f"{case}.txt"
    if request.config.getoption("--update-golden"):
        file.write_text(text, encoding="utf-8")
    assert file.is_file(), f"{file.name} is missing; look at the rules and make it with --update-golden"
    assert text == file.read_text(encoding="utf-8")


def test_no_golden_file_is_left_without_a_test() -> None:
    assert {file.stem for file in GOLDEN.iterdir()} == set(CASES)
