"""Parts of the report: numbers as words, strips, drawings, colours."""

from __future__ import annotations

import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.analysis.timeline import STAGES, stage_label
from experiments.report.blocks import Grid
from experiments.report.drawings import failure_drawing, scenario_of
from experiments.report.folders import read_folder
from experiments.report.render import TEMPLATES
from experiments.report.strip import StripRow, axis_end, strip_svg
from experiments.report.words import MINUS, VERDICTS, command_line, interval, number, verdict_cell
from experiments.scenario.values import Scenario
from tests.report import folders

RESULT = {"failure_s": 2.0, "until_s": 10.0}


@given(st.floats(min_value=1e-6, max_value=1e6))
def test_axis_ends_behind_the_last_value_and_wastes_little(value):
    assert value <= axis_end([0.0, value]) <= 2 * value


@given(
    st.text(),
    st.dictionaries(st.sampled_from(list(STAGES)), st.one_of(st.none(), st.floats(-5, 1e5))),
)
def test_strip_is_xml_with_every_stage_inside_the_picture(name, stages):
    root = ElementTree.fromstring(strip_svg([StripRow(name, stages)]))
    texts = [element for element in root.iter() if element.tag.endswith("text")]
    words = [element.text for element in texts]
    for stage, value in stages.items():
        assert (stage_label(stage) in words) == (value is not None)
    width = float(root.get("width"))
    assert all(0 <= float(element.get("x")) <= width for element in texts)


def test_labels_of_a_strip_do_not_overlap():
    stages = dict.fromkeys(STAGES, 10.0)
    root = ElementTree.fromstring(strip_svg([StripRow("a", stages), StripRow("b", {"steady": 1000.0})]))
    places = sorted(float(e.get("x")) for e in root.iter() if e.text in map(stage_label, STAGES))
    assert len(places) == len(STAGES) + 1
    assert all(after - before > 70 for before, after in pairwise(places[:6]))


def test_strip_of_a_run_that_lost_nothing_says_so():
    assert "no packet of the probes was affected" in strip_svg([StripRow("a", dict.fromkeys(STAGES))])


@given(st.floats(min_value=1e-9, max_value=1e12) | st.integers(0, 10**12))
def test_numbers_keep_their_size(value):
    assert float(number(value).replace(",", "").replace(MINUS, "-")) == pytest.approx(value, rel=0.006)
    assert number(-value) == (MINUS + number(value) if value else number(value))


def test_half_an_interval_is_a_bound():
    assert interval(1.5, None) == "at least 1.50"
    assert interval(None, 2) == "at most 2"
    assert interval(1, 2) == "1 to 2"


def test_commands_are_quoted_for_the_shell():
    assert command_line({"command": ["armor", "run", "it's.yaml"]}) == """armor run 'it'"'"'s.yaml'"""


def test_every_kind_of_verdict_has_a_symbol_of_its_own():
    symbols = {kind: text.split()[0] for kind, text in VERDICTS.values()}
    assert len(set(symbols.values())) == len(symbols)
    assert verdict_cell("a new word").text == "a new word"


def test_grid_with_ragged_rows_is_refused():
    with pytest.raises(ValueError, match="2 cells"):
        Grid("t", ("a", "b"), (("1",),))


def drawing(failures, returned=()):
    text = folders.SCENARIO.replace("{link: [s9, s10], at_s: 2, repair_at_s: 10}", failures)
    scenario = scenario_of(text, "x")
    assert isinstance(scenario, Scenario)
    return failure_drawing(scenario, len(scenario.failures) - 1, RESULT, returned)


def test_one_way_failure_is_drawn_with_its_direction():
    both = drawing("{link: [s9, s10], at_s: 2}", [folders.probe_row()])
    one = drawing("{link: [s9, s10], kind: one-way, from: s9, at_s: 2}", [folders.probe_row()])
    other = drawing("{link: [s9, s10], kind: one-way, from: s10, at_s: 2}", [folders.probe_row()])
    assert len({both.data, one.data, other.data}) == 3


def test_links_that_failed_before_and_are_down_are_drawn_too():
    alone = drawing("{link: [s9, s10], at_s: 2}", [folders.probe_row()])
    later = drawing("{link: [s2, s26], at_s: 1}\n  - {link: [s9, s10], at_s: 2}", [folders.probe_row()])
    mended = drawing(
        "{link: [s2, s26], at_s: 1, repair_at_s: 1.5}\n  - {link: [s9, s10], at_s: 2}", [folders.probe_row()]
    )
    assert later.data != alone.data
    assert mended.data == alone.data


@pytest.mark.parametrize("failure", ["{node: s5, at_s: 2}", "{controller: true, at_s: 2}"])
def test_failure_of_no_link_is_drawn_only_when_a_packet_shows_what_it_did(failure):
    assert drawing(failure).tag == "text"
    assert drawing(failure, [folders.probe_row()]).tag == "picture"


def test_way_back_of_an_answer_is_drawn_from_its_sender():
    answer = folders.probe_row(way="back", **{"from": "s10", "to": "s4"})
    assert "a packet from s4 to s10 walks 5 hops back" in drawing("{link: [s9, s10], at_s: 2}", [answer]).alt


def test_rows_of_probes_are_read_only_where_packets_returned(tmp_path):
    path = folders.run_folder(tmp_path / "run")
    with (path / "probes.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"run": "sdfast-learned", "back_hops": 0}\n')
    assert [row["back_hops"] for row in read_folder(path).returned] == [5, 1]


def luminance(colour):
    """Relative luminance (WCAG 2.1)."""
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_text_stands_out_from_its_background_as_level_aa_asks():
    style = (TEMPLATES / "page.css").read_text(encoding="utf-8")
    rules = re.findall(r"\{([^{}]*)\}", style)
    pairs = []
    for rule in rules:
        colour = re.search(r"(?<![-\w])color: (#\w{6})", rule)
        background = re.search(r"background: (#\w{6})", rule)
        if colour:
            pairs.append((colour[1], background[1] if background else "#ffffff"))
    assert len(pairs) >= 9
    for colour, background in pairs:
        light, dark = sorted((luminance(colour), luminance(background)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5, (colour, background)
