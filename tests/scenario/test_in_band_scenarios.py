"""The keys `control` and `control_at` of scenario files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from experiments.scenario.document import to_document
from experiments.terminal.inputs import parse
from experiments.testbed.runs.folder import Work
from experiments.testbed.runs.parts import emulated_network
from mininet_topos.errors import BadInputError

PMT = Path(__file__).resolve().parents[2] / "examples" / "pmt" / "in_band.yaml"
HEAD = "topology: square\nscheme: shortest\ntraffic: [{from: h1, to: h3}]\nfailures: [{link: [s1, s2], at_s: 2}]\n"
CLASSES = f"pmt: {PMT}\ncapacity_mbps: 10\n"


@pytest.mark.parametrize(
    ("lines", "at"),
    [
        ("", None),
        ("control: out_of_band\n", None),
        ("control: in_band\n", "s1"),
        ("control: in_band\ncontrol_at: s3\n", "s3"),
        (f"control: in_band\n{CLASSES}", "s1"),
    ],
)
def test_the_controller_is_attached_where_the_scenario_says_and_the_document_gives_it_back(
    lines: str, at: str | None
) -> None:
    scenario = parse(HEAD + lines, "run.yaml")
    assert scenario.control_at == at
    assert parse(json.dumps(to_document(scenario)), "run.yaml") == scenario


def test_the_network_of_a_run_has_its_control_in_band(tmp_path: Path) -> None:
    scenario = parse(HEAD + f"control: in_band\ncontrol_at: s2\n{CLASSES}", "run.yaml")
    network = emulated_network(scenario, scenario.variations[0], Work(tmp_path), 100)
    assert network.options.in_band_at == "s2"
    assert network.control_plan is not None
    assert network.control_plan.order[0] == "s2"


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("control: inband", "run.yaml:5: control 'inband' is not known; did you mean 'in_band'?"),
        ("control_at: s1", "run.yaml:5: control_at is for control: in_band"),
        ("control: in_band\ncontrol_at: s9", "run.yaml:6: control_at 's9' is no node of 'square'"),
        ("control: in_band\ncontrol_delay_ms: 3", "run.yaml:6: in-band control has no links of its own"),
        (f"topology: ring:4\ncontrol: in_band\npmt: {PMT}", "run.yaml:6: link s1>s2 of 'ring:4' has no capacity"),
        (f"control: in_band\n{CLASSES}queues: single", "as queues does; remove one"),
    ],
)
def test_what_cannot_be_is_named_with_its_line(lines: str, words: str) -> None:
    with pytest.raises(BadInputError) as caught:
        parse((HEAD if "topology" not in lines else HEAD.partition("\n")[2]) + lines + "\n", "run.yaml")
    assert words in str(caught.value)


def test_schemes_of_tunnels_and_classes_do_not_share_the_queues_of_links() -> None:
    text = HEAD.replace("shortest", "kuijia") + f"demands: 'random:2:5'\ncontrol: in_band\n{CLASSES}"
    with pytest.raises(BadInputError, match="as scheme 'kuijia' does; remove one"):
        parse(text, "run.yaml")
