"""docs/schemes.md: every scheme has its place there, and its drawing shows what packets do."""

from __future__ import annotations

import re

import pytest

from experiments.comparison.compare import modes_of, schemes_named
from experiments.verify.verify import Request, verify_scheme
from experiments.verify.walk.dynamics import dynamics_of
from mininet_topos.catalogue import load_topology
from ryu_apps.plan.addressing import hosts_of
from ryu_apps.plan.interpret import Packet
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.scheme import Scheme
from ryu_apps.plan.walk import DELIVERED, Network
from ryu_apps.schemes import all_schemes
from tests.quality.layers import ROOT

MANUAL = (ROOT / "docs" / "schemes.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^### (.*?)\n(.*?)(?=^##)", MANUAL, re.MULTILINE | re.DOTALL))
RING = load_topology("ring:5")
FAILED = next(link for link in RING.link_ids if str(link) == "s2-s3")
PACKETS = 4


@pytest.mark.parametrize("scheme", schemes_named(()), ids=lambda each: each.name)
def test_the_drawing_of_a_scheme_shows_what_packets_do(scheme: Scheme) -> None:
    section = SECTIONS[f"`{scheme.name}`"]
    first, later = (re.search(rf"{which} packets? +(.*)", section) for which in ("first", "later"))
    assert first is not None
    assert later is not None
    for request in modes_of(scheme, Request(RING, "", PlanOptions()), None):
        ways = ways_of(scheme, request.options)
        assert ways[0] == first[1]
        if scheme.restoration is None:
            assert set(ways[1:]) == {later[1]}
        else:
            result = verify_scheme(request, jobs=1)
            assert (result.tally.converged.delivered, result.mean_stretch) == (result.tally.cases, 1.0)
            assert later[1] == "s1 s5 s4 s3"  # the only shortest path


def ways_of(scheme: Scheme, options: PlanOptions) -> list[str]:
    """Ways of some packets from s1 to s3, one after the other."""
    plans, hosts = scheme.plan(RING, options), hosts_of(RING)
    network = Network(RING, plans, dynamics_of(scheme.mode_of(options), plans), frozenset((FAILED,)))
    walks = [network.send("s1", Packet(hosts["s1"].ipv4, hosts["s3"].ipv4)) for _ in range(PACKETS)]
    return [" ".join(walk.path) + ("" if walk.outcome == DELIVERED else ", lost") for walk in walks]


@pytest.mark.parametrize("scheme", all_schemes().values(), ids=lambda each: each.name)
def test_every_scheme_has_a_section_with_a_drawing_its_promise_its_cost_and_its_source(scheme: Scheme) -> None:
    section = next(text for heading, text in SECTIONS.items() if f"`{scheme.name}`" in heading)
    assert section.lstrip().startswith("```\ns1 ")
    assert "- Promise: " in section
    assert scheme.promise in " ".join(section.split()).replace("Promise: delivery for up", "Promise: up")
    assert "- Cost: " in section
    assert "- Source: " in section
