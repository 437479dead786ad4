"""The PMT in a switch's database: operations, and a real ovsdb-server with ovs-vswitchd."""

from __future__ import annotations

import json

import pytest

from experiments.cli.main import main
from mininet_topos.errors import BadInputError
from ryu_apps.control.priority.decide.channels import connections
from ryu_apps.control.priority.decide.switch_table import (
    CLASS_KEY,
    MAIN,
    PMT_KEY,
    BridgeRow,
    ControllerRow,
    find_bridge,
    push_operations,
)
from ryu_apps.pmt.rules import PolicyMapTable
from ryu_apps.pmt.serial import show, to_json
from tests.control.priority.running import PMT, RECORDER, RunningRyu, until
from tests.control.priority.test_channels import OUT_OF_BAND, example
from tests.dummy_ovs import DummyOvs

IN_BAND = example("in_band")
MAIN_ROW = ControllerRow("u0", "tcp:10.0.0.9:6653", copied={"max_backoff": 1000})


def bridge(*controllers: ControllerRow, **external_ids: str) -> BridgeRow:
    return BridgeRow("b", "s1", f"{1:016x}", external_ids, controllers)


def test_a_first_push_marks_the_home_row_and_adds_one_row_a_class_beside_it() -> None:
    operations = push_operations(bridge(MAIN_ROW), OUT_OF_BAND)
    added = [each["row"] for each in operations if each["op"] == "insert"]
    wanted = {f"tcp:10.0.0.9:{row.port}": str(row.dscp) for row in connections(OUT_OF_BAND, 6653) if not row.is_main}
    assert {row["target"]: dict(row["other_config"][1])["dscp"] for row in added} == wanted
    assert all(row["max_backoff"] == 1000 for row in added)
    updated = [each for each in operations if each["op"] == "update"]
    assert [dict(each["row"]["other_config"][1]) for each in updated] == [{"dscp": "56"}]
    mutations = operations[-1]["mutations"]
    assert mutations[-1] == ["external_ids", "insert", ["map", [[PMT_KEY, to_json(OUT_OF_BAND)]]]]


@pytest.mark.parametrize("place", ["ssl:10.0.0.9", "ssl:[2001:db8::9]"])
def test_class_connections_keep_the_scheme_and_the_host_of_the_main_connection(place) -> None:
    operations = push_operations(bridge(ControllerRow("u0", f"{place}:6653")), OUT_OF_BAND)
    added = {each["row"]["target"] for each in operations if each["op"] == "insert"}
    assert added == {f"{place}:{row.port}" for row in connections(OUT_OF_BAND, 6653) if not row.is_main}


def test_a_bridge_that_listens_for_controllers_too_still_has_one_main_connection() -> None:
    alone, listening = bridge(MAIN_ROW), bridge(MAIN_ROW, ControllerRow("u1", "ptcp:6654"))
    assert push_operations(listening, OUT_OF_BAND) == push_operations(alone, OUT_OF_BAND)


def test_a_table_without_rules_takes_the_class_connections_away_and_leaves_the_main_connection() -> None:
    main = ControllerRow("u0", "tcp:10.0.0.9:6653", {"dscp": "56"}, {CLASS_KEY: MAIN})
    others = ControllerRow("u1", "tcp:10.0.0.9:6656", {"dscp": "48"}, {CLASS_KEY: "2"})
    foreign = ControllerRow("u2", "tcp:10.0.0.77:6653")
    operations = push_operations(bridge(main, others, foreign), PolicyMapTable())
    assert [each["op"] for each in operations] == ["mutate"]
    assert operations[0]["mutations"][0] == ["controller", "delete", ["set", [["uuid", "u1"]]]]


@pytest.mark.parametrize(
    ("controllers", "words"),
    [
        ((), "bridge s1 has 0 controllers"),
        ((MAIN_ROW, ControllerRow("u1", "tcp:10.0.0.8:6653")), "bridge s1 has 2 controllers"),
        ((ControllerRow("u1", "ssl:10.0.0.8"),), "is no tcp:HOST:PORT or ssl:HOST:PORT"),
    ],
)
def test_a_bridge_whose_main_connection_is_unknown_is_refused(controllers, words) -> None:
    with pytest.raises(BadInputError, match=words):
        push_operations(bridge(*controllers), OUT_OF_BAND)


def test_bridges_are_found_by_name_by_datapath_id_or_alone() -> None:
    one, other = bridge(), BridgeRow("c", "s2", f"{2:016x}", {}, ())
    assert find_bridge((one, other), name="s2") is other
    assert find_bridge((one, other), dpid=1) is one
    assert find_bridge((one,)) is one
    with pytest.raises(BadInputError, match="more than one bridge; its bridges: s1, s2"):
        find_bridge((one, other))
    with pytest.raises(BadInputError, match="no bridge 's3'"):
        find_bridge((one, other), name="s3")


@pytest.fixture
def ovs():
    with DummyOvs() as running:
        running.add_bridge("s1", 1, (1, 2), "tcp:127.0.0.1:16653")
        yield running


def controllers(ovs: DummyOvs) -> dict[str, tuple[str, str]]:
    """Row id and mark by target."""
    rows = json.loads(ovs.vsctl("--format=json", "--columns=target,_uuid,other_config", "list", "controller"))["data"]
    return {target: (uuid[1], dict(config[1]).get("dscp", "")) for target, uuid, config in rows}


@pytest.mark.ovs
def test_what_push_writes_show_shows_and_a_second_push_changes_nothing(ovs, capsys) -> None:
    assert main(["pmt", "push", ovs.database, str(PMT)]) == 0
    assert {target: mark for target, (_, mark) in controllers(ovs).items()} == {
        f"tcp:127.0.0.1:{row.port}": str(row.dscp) for row in connections(OUT_OF_BAND, 16653)
    }
    assert json.loads(json.loads(ovs.vsctl("get", "bridge", "s1", f"external_ids:{PMT_KEY}")))["version"] == 1
    capsys.readouterr()
    assert main(["pmt", "show", ovs.database]) == 0
    shown = capsys.readouterr().out
    assert shown == show(OUT_OF_BAND)
    assert main(["pmt", "check", str(PMT)]) == 0
    assert capsys.readouterr().out == shown
    before = controllers(ovs)
    assert main(["pmt", "push", ovs.database, str(PMT), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["changed"] is False
    assert controllers(ovs) == before


@pytest.mark.ovs
def test_show_compares_with_a_file_and_says_when_there_is_nothing(ovs, capsys) -> None:
    assert main(["pmt", "show", ovs.database]) == 2
    assert "has no PMT; give it one with 'armor pmt push" in capsys.readouterr().err
    assert main(["pmt", "push", ovs.database, str(PMT)]) == 0
    assert main(["pmt", "show", ovs.database, str(PMT)]) == 0
    assert main(["pmt", "show", ovs.database, str(PMT.with_name("in_band.yaml"))]) == 1
    assert "another table" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("check",), "'armor pmt check' takes FILE; 0 names were given"),
        (("push", "s1"), "'armor pmt push' takes SWITCH FILE"),
        (("check", "no/such.yaml"), "PMT 'no/such.yaml' cannot be read"),
        (("show", "s1"), "no switch 's1' is running"),
        (("shw", "s1"), "action 'shw' is not known"),
    ],
)
def test_bad_input_is_one_sentence(words, sentence, capsys, monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("ARMOR_STATE_DIR", str(tmp_path))
    assert main(["pmt", *words]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert sentence in captured.err
    assert len(captured.err.splitlines()) == 1


@pytest.mark.ovs
@pytest.mark.ryu
def test_the_service_pushes_its_table_and_follows_a_change_without_a_lost_connection(tmp_path, ovs, capsys) -> None:
    settings = {"ARMOR_PSO_SWITCH_DB": ovs.database}
    with RunningRyu(tmp_path, "ryu_apps/pso.py", RECORDER, pmt=PMT, **settings) as ryu:
        # A connection whose mark changes is opened anew; here all marks are right from the beginning.
        columns = ("max_backoff=1000", "other_config:dscp=56")
        target = f"tcp:127.0.0.1:{ryu.openflow_port}"
        ovs.vsctl("set-controller", "s1", target, "--", "set", "controller", "s1", *columns)
        until(lambda: sorted(ryu.connections(1)) == [0, 1, 2, 3, 4], "the switch opens all per-class connections")
        states = [line for line in ryu.events() if line.startswith("state main")]
        assert main(["pmt", "push", ovs.database, str(PMT.with_name("in_band.yaml"))]) == 0
        until(lambda: sorted(ryu.connections(1)) == [0, 1, 2, 3], "the service follows")
        until(lambda: "id=2" in _rows(ovs) and "tp_dst=20000" not in _rows(ovs), "its rows follow")
        assert ryu.state()["errors"] == {}
        assert [line for line in ryu.events() if line.startswith("state main")] == states
        marks = {target.rpartition(":")[2]: mark for target, (_, mark) in controllers(ovs).items()}
        wanted = {str(row.port): str(row.dscp) for row in connections(IN_BAND, ryu.openflow_port)}
        assert marks == wanted


def _rows(ovs: DummyOvs) -> str:
    return ovs.ofctl("dump-flows", "s1", "table=253")
