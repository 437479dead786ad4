"""The key `pmt` of scenario files."""

from __future__ import annotations

import pytest

from experiments.analysis.dumps import compare_dump
from experiments.scenario.document import to_document
from experiments.terminal.inputs import parse
from experiments.testbed.runs.parts import controller_command
from mininet_topos.errors import BadInputError
from ryu_apps.control.priority.decide.channels import controller_ids
from ryu_apps.control.priority.decide.divert import sorting_rows
from ryu_apps.plan.rows import RulePlan
from ryu_apps.pmt.parse import parse_pmt
from tests.control.priority.running import PMT
from tests.control.priority.test_channels import OUT_OF_BAND

HEAD = "topology: square\nscheme: sdfast\ntraffic: [{from: h1, to: h3}]\nfailures: [{link: [s1, s2], at_s: 2}]\n"


def test_a_table_is_read_from_a_file_beside_the_scenario_or_from_the_scenario_itself(tmp_path) -> None:
    (tmp_path / "table.yaml").write_text(PMT.read_text(encoding="utf-8"), encoding="utf-8")
    from_file = parse(HEAD + "pmt: table.yaml\n", str(tmp_path / "run.yaml"))
    assert from_file.pmt == OUT_OF_BAND
    inline = parse(HEAD + "pmt: {rules: [{traffic_type: 1, action: 'queue_id:0'}]}\n", "run.yaml")
    assert inline.pmt == parse_pmt("rules: [{traffic_type: 1, action: 'queue_id:0'}]")
    assert parse(HEAD, "run.yaml").pmt is None


def test_the_document_of_a_scenario_gives_the_table_back() -> None:
    import json

    scenario = parse(HEAD + f"pmt: {PMT}\n", "run.yaml")
    assert parse(json.dumps(to_document(scenario)), "run.yaml").pmt == OUT_OF_BAND


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("pmt: no/such.yaml", "run.yaml:5: no/such.yaml cannot be read"),
        ("pmt: {rules: [{traffic_type: 9, action: 'queue_id:0'}]}", "traffic_type: 9 is not known"),
        ("pmt: [1]", "run.yaml:5: pmt must be"),
    ],
)
def test_a_table_that_cannot_be_used_is_named_with_its_line(line, words) -> None:
    with pytest.raises(BadInputError) as caught:
        parse(HEAD + line + "\n", "run.yaml")
    assert words in str(caught.value)


def test_the_service_runs_under_the_schemes_app_when_messages_have_classes() -> None:
    assert [word.rpartition("/")[2] for word in controller_command("sdfast", with_pso=True)] == [
        "ryu-manager",
        "pso.py",
        "sdfast.py",
    ]
    assert len(controller_command("sdfast")) == 2


def test_rows_of_pso_are_not_taken_for_stale_ones() -> None:
    rows = sorting_rows(OUT_OF_BAND, controller_ids(OUT_OF_BAND, (2, 3)))
    assert compare_dump(RulePlan(1, "s1"), rows, (), lambda _tag_id: False).is_clean
