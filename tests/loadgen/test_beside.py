"""Good switches beside a rogue one: every echo request is counted, and Armor's apps answer all of them."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.cli.main import main
from experiments.loadgen.connection import Target
from experiments.loadgen.decide.beside import HEADER, BesideResult, Switch, divided, kinds_of
from experiments.loadgen.decide.misbehave import KINDS
from experiments.loadgen.decide.switch import hear
from experiments.loadgen.generator import LoadError
from experiments.loadgen.good_switches import GoodSwitches, hear_commands_quickly
from mininet_topos.catalogue import load_topology
from mininet_topos.errors import BadInputError
from mininet_topos.topology import Node, Topology
from ryu_apps.openflow import encode
from ryu_apps.openflow.wire import BundleControl, MsgType, header, message, split_messages
from tests.loadgen.fake_controller import FakeController
from tests.patience import patient_s

SWITCHES = (Switch(1, (1, 2, 3)), Switch(2, (1, 2)))
RESULT = BesideResult("sdfast", "flood", 2.0, 5.0, 100, 0, 0, 0, False, 50.0)
MEASURED = ("--seconds", "0.5", "--rate", "100", "--patience-s", "60", "--json")
JSON_KEYS = ("app", "kind", "quiet_p99_ms", "beside_p99_ms", "ratio", "lost")


def targets(fake: FakeController) -> tuple[Target, ...]:
    return tuple(Target("127.0.0.1", port) for port in fake.ports)


@pytest.mark.parametrize("name", ["square", "figure2", "darkstrand", "parallel"])
def test_the_last_switch_of_a_topology_is_rogue_and_the_others_have_its_ports(name: str) -> None:
    topology = load_topology(name)
    good, rogue = divided(topology)
    assert [each.dpid for each in (*good, rogue)] == list(range(1, len(topology.node_names) + 1))
    for node, each in zip(topology.node_names, (*good, rogue), strict=True):
        assert each.ports == tuple(range(1, len(topology.links_from[node]) + 2))


def test_a_topology_of_one_switch_has_none_that_could_be_good() -> None:
    with pytest.raises(BadInputError, match="has 1 node; give a topology of 2"):
        divided(Topology("one", (Node("s1"),), ()))


@given(st.floats(0.01, 1e4), st.floats(0.01, 1e4))
def test_the_ratio_says_how_much_longer_answers_take(quiet_ms: float, beside_ms: float) -> None:
    found = replace(RESULT, quiet_p99_ms=quiet_ms, beside_p99_ms=beside_ms)
    assert found.ratio == pytest.approx(beside_ms / quiet_ms, abs=1e-3)
    assert found.held


def test_without_an_answer_there_is_no_ratio() -> None:
    found = replace(RESULT, beside_p99_ms=None, lost=100)
    assert found.ratio is None
    assert found.row() == ("flood", "2.00", "-", "-", "100 of 100", "0", "0.0", "runs")
    assert len(HEADER) == len(found.row())


@pytest.mark.parametrize("change", [{"lost": 1}, {"connections_ended": 1}, {"controller_ended": True}, {"asked": 0}])
def test_what_good_switches_lose_does_not_hold(change: dict[str, int]) -> None:
    assert not replace(RESULT, **change).held


def test_a_window_without_a_request_is_named() -> None:
    found = replace(RESULT, asked=0, quiet_p99_ms=None, beside_p99_ms=None)
    assert found.remarks == ("no echo request was due in a window; raise --rate or --seconds",)


def test_ids_that_the_rogue_switch_gets_are_named() -> None:
    found = replace(RESULT, ids_taken=(1, 3), warnings=("late",))
    assert not found.held
    assert found.remarks == (
        "the app has served the rogue switch as good switches, datapath ids 1, 3",
        "warning: late",
    )


@pytest.mark.parametrize(
    "given",
    [
        encode.hello(),
        encode.barrier_request(3),
        encode.port_desc_request(xid=4),
        encode.echo_request(b"x", 5),
        encode.bundle_control(1, BundleControl.OPEN_REQUEST, 0, 6),
        message(MsgType.FLOW_MOD, bytes(48), 7),
        message(MsgType.GROUP_MOD, bytes(8), 8),
        encode.bundle(9, (message(MsgType.FLOW_MOD, bytes(48)),), xid=9),
    ],
)
def test_good_switches_say_what_any_emulated_switch_says(given: bytes) -> None:
    for each in split_messages(given)[0]:
        assert hear_commands_quickly(each, 1, (1, 2)).reply == hear(each, 1, (1, 2)).reply


@pytest.mark.slow
@pytest.mark.ryu
@pytest.mark.parametrize(("address", "is_taken"), [("127.0.0.2", False), ("127.0.0.1", True)])
def test_an_app_gives_the_id_of_a_switch_to_nobody_but_its_own_end(
    address: str, is_taken: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("experiments.loadgen.beside.ROGUE_HOST", address)
    argv = ["--misbehave", "claims-id", "--app", "sdfast", "--topo", "pair", "--rogue-rate", "1", "--seconds", "5"]
    code = main(["load", *argv, *MEASURED[2:]])
    assert json.loads(capsys.readouterr().out)["ids_taken"] == ([1] if is_taken else [])
    assert code == int(is_taken)


def test_all_stands_for_every_kind() -> None:
    assert kinds_of("all", KINDS) == KINDS
    assert kinds_of("stall", KINDS) == ("stall",)


@pytest.mark.slow
def test_every_switch_asks_in_turn_and_every_answer_is_counted() -> None:
    with FakeController() as fake, GoodSwitches(SWITCHES, targets(fake)) as switches:
        windows = [switches.ask(100, 0.5, 1, patient_s(20)) for _ in range(2)]
    for window in windows:
        assert (window.result.offered, window.result.answered, window.result.lost) == (50, 50, 0)
        assert window.result.delays.p99_ms is not None
    assert switches.n_ended == 0
    xids = [header(each).xid for _, each in fake.seen if header(each).msg_type == MsgType.ECHO_REQUEST]
    assert len(set(xids)) == len(xids) == 200  # with those of the half second before each window


@pytest.mark.slow
def test_answers_that_do_not_come_are_lost() -> None:
    with FakeController(echoes=lambda n: n <= 20) as fake, GoodSwitches(SWITCHES, targets(fake)) as switches:
        window = switches.ask(100, 0.5, 1, 0.3)
    assert window.result.unanswered >= 30
    assert window.result.lost >= 30


@pytest.mark.slow
def test_a_controller_without_a_handshake_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiments.loadgen.good_switches.READY_S", 0.3)
    unreachable = (Target("127.0.0.1", 1),)
    with (
        pytest.raises(LoadError, match="has not finished 2 of 2 handshakes"),
        GoodSwitches(SWITCHES, unreachable),
    ):
        pass


def test_more_connections_than_can_be_watched_are_refused() -> None:
    with pytest.raises(LoadError, match="901 switches with 1 connections each"):
        GoodSwitches([SWITCHES[0]] * 901, (Target("127.0.0.1", 1),))


@pytest.mark.slow
@pytest.mark.ryu
@pytest.mark.parametrize("kind", KINDS)
def test_an_app_of_armor_answers_good_switches_beside_every_kind(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["load", "--misbehave", kind, "--app", "sdfast", "--topo", "square", *MEASURED])
    found = json.loads(capsys.readouterr().out)
    assert tuple(found)[: len(JSON_KEYS)] == JSON_KEYS
    assert (found["app"], found["kind"], found["asked"]) == ("sdfast", kind, 50)
    assert (found["lost"], found["connections_ended"], found["controller_ended"]) == (0, 0, False)
    assert found["rogue_pps"] > 0
    assert code == 0


@pytest.mark.slow
@pytest.mark.ryu
def test_stock_ryu_answers_nobody_after_an_entry_of_length_0(capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["load", "--misbehave", "endless", "--app", "simple_switch_13", "--topo", "pair", *MEASURED]
    argv[argv.index("--patience-s") + 1] = "1"
    assert main(argv) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["lost"] > 0


@pytest.mark.slow
@pytest.mark.ryu
def test_pso_gets_a_connection_for_each_class_and_an_app_to_serve(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["load", "--misbehave", "truncated", "--app", "pso", "--topo", "pair", *MEASURED]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["app"] == "pso,experiments/loadgen/responder.py"
    assert found["lost"] == 0


@pytest.mark.slow
@pytest.mark.ryu
def test_all_kinds_make_a_table_with_a_row_each(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("experiments.cli.load.KINDS", ("truncated", "port-lies"))
    argv = ["load", "--misbehave", "all", "--app", "shortest", "--topo", "pair", *MEASURED]
    assert main([each for each in argv if each != "--json"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[3:5]] == ["truncated", "port-lies"]
