"""The key `sqr` of scenario files: which links, which packets, how many, and the backstop."""

from __future__ import annotations

import json

import pytest

from dataplane.model.marking import Marking
from dataplane.model.switch import Backstop
from experiments.scenario.document import to_document
from experiments.scenario.parse import ScenarioContext, parse_scenario
from experiments.scenario.values import Replay
from mininet_topos.errors import BadInputError
from tests.scenario.test_scenario import GOOD, load, schemes


def test_buffered_links_belong_to_scheme_sqr_and_survive_being_written_down() -> None:
    scenario_context = ScenarioContext(load, schemes("sqr", "ffg"))
    text = GOOD.replace("scheme: sdfast", "schemes: [sqr, ffg]") + "sqr: {links: [[s1, s2]], slots: 1024}\n"
    kept = parse_scenario(text, "run.yaml", scenario_context)
    assert kept.variations[0].replay == Replay(("s1-s2",), 1024)
    assert kept.variations[1].replay is None
    assert parse_scenario(json.dumps(to_document(kept)), "run.yaml", scenario_context) == kept
    marked = text.replace("1024", "1024, marked: 'dscp=46,tcp=443', pause_above_bytes: 9000, resume_below_bytes: 5000")
    short = parse_scenario(marked, "run.yaml", scenario_context)
    assert short.variations[0].replay == Replay(
        ("s1-s2",), 1024, marked=Marking((443,), (46,)), backstop=Backstop(9000, 5000)
    )
    assert parse_scenario(json.dumps(to_document(short)), "run.yaml", scenario_context) == short
    for wrong, words in (
        (marked.replace("dscp=46", "dscp=64"), "DSCP 64: give 0 to 63"),
        (marked.replace("dscp", "tos"), "'tos=46'; give entries such as dscp=46"),
        (marked.replace(", resume_below_bytes: 5000", ""), "give both pause_above_bytes"),
        (marked.replace("5000", "9001"), "resume must be above 0 and not above pause"),
        (text.replace("1024", "1000"), "slots is 1000; give a power of two"),
        (text.replace("[s1, s2]]", "[s1, s4]]"), "run.yaml:7: link"),
        (text.replace("slots", "slotz"), "did you mean"),
        (text.replace("schemes: [sqr, ffg]", "scheme: ffg"), "sqr is for schemes that buffer packets"),
        (text.partition("sqr: {")[0], "scheme sqr needs links"),
    ):
        with pytest.raises(BadInputError, match=words):
            parse_scenario(wrong, "run.yaml", scenario_context)


def test_sdfast_tags_are_vlan_ids_so_lossless_refuses_marks_by_vlan() -> None:
    text = GOOD.replace("scheme: sdfast", "scheme: lossless") + "sqr: {links: [[s1, s2]], marked: 'dscp=46,vlan=7'}\n"
    with pytest.raises(BadInputError, match="VLAN ids; mark by dscp or tcp"):
        parse_scenario(text, "run.yaml", ScenarioContext(load, schemes("lossless")))
