"""The interpreter and a real Open vSwitch agree on every scheme, and a disagreement would be seen and named."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from emulation.private_switch import find_program
from emulation.runfile import STATE_VARIABLE
from experiments.verify.against_ovs.compare import Comparison, compare_plans, compare_with_ovs
from experiments.verify.against_ovs.datapath_actions import Forwarding, Labels, flow_of, parse_trace
from experiments.verify.against_ovs.dummy_ovs import DummyOvs, dummy_ovs
from experiments.verify.against_ovs.samples import Scene, SceneMaker
from machine.unixctl import UnixCtl
from mininet_topos.catalogue import load_topology
from mininet_topos.errors import ArmorError, BadInputError, MissingRequirementError, PlanError
from mininet_topos.topology import Topology
from ryu_apps.plan.ids import Kind, Table, split_cookie
from ryu_apps.plan.interpret import Packet
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.rows import Bucket, FlowRow, Group, GroupRow, Learn, Output, RulePlan, match
from ryu_apps.schemes import plan_network, route_schemes
from tests.examples import scaled
from tests.schemes import modes_of

FIGURE2 = load_topology("figure2")
SAMPLES = max(75, scaled(150))  # fewer teach too little to be sure that anything was taught
VARIANTS = [
    (scheme.name, mode, planner)
    for scheme in route_schemes().values()
    for mode in modes_of(scheme)
    for planner in (("tree", "pair") if scheme.name == "sdfast" else ("tree",))
]


@pytest.mark.ovs
@pytest.mark.parametrize(("scheme", "mode", "planner"), VARIANTS)
def test_the_interpreter_agrees_with_a_real_switch(scheme: str, mode: str, planner: str) -> None:
    outcome = compare_with_ovs(FIGURE2, scheme, PlanOptions(mode=mode, planner=planner), samples=SAMPLES, seed=11)
    assert outcome.first_difference is None
    assert outcome.differences == 0
    assert outcome.packets == SAMPLES
    assert outcome.hops > outcome.packets
    learns = scheme in ("sdfast", "lossless")  # in agent mode only which notifications have come
    assert (outcome.learned_rows > 0) == learns
    assert (outcome.learned_rows > 10) or not (learns and mode == "learned")


@pytest.mark.ovs
@pytest.mark.parametrize(("planner", "hard_timeout_s"), [("tree", 0), ("pair", 0), ("tree", 3600)])
def test_the_interpreter_agrees_on_notifications_and_what_they_teach(planner: str, hard_timeout_s: int) -> None:
    options = PlanOptions(planner=planner, notification="flood", hard_timeout_s=hard_timeout_s)
    outcome = compare_with_ovs(FIGURE2, "sdfast", options, samples=SAMPLES, seed=13)
    assert (outcome.differences, outcome.first_difference) == (0, None)
    assert outcome.learned_rows > 50


def forgetting_drops(row: FlowRow) -> FlowRow:
    """Notifications teach, and no row drops the next one."""
    teaching = (each for each in row.apply_actions if not (isinstance(each, Learn) and each.table_id == Table.NOTIFY))
    return replace(row, apply_actions=tuple(teaching))


@pytest.mark.ovs
def test_a_switch_that_does_not_drop_the_same_notification_again_is_found() -> None:
    plans = plan_network("sdfast", FIGURE2, PlanOptions(notification="flood"))
    outcome = compare_plans(FIGURE2, changed(plans, forgetting_drops), plans, samples=100, seed=13)
    assert outcome.differences > 0


@pytest.mark.ovs
def test_the_interpreter_agrees_on_rows_that_last_an_hour() -> None:
    options = PlanOptions(hard_timeout_s=3600)
    outcome = compare_with_ovs(FIGURE2, "sdfast", options, samples=scaled(100), seed=12)
    assert (outcome.differences, outcome.first_difference) == (0, None)


def changed(plans: dict[int, RulePlan], change: object) -> dict[int, RulePlan]:
    """Plans of which every flow is changed by a function."""
    return {dpid: replace(plan, flows=tuple(map(change, plan.flows))) for dpid, plan in plans.items()}  # type: ignore[call-overload]


def without_learning(row: FlowRow) -> FlowRow:
    return replace(row, apply_actions=tuple(action for action in row.apply_actions if not isinstance(action, Learn)))


def learning_otherwise(row: FlowRow) -> FlowRow:
    actions = (replace(action, cookie=9) if isinstance(action, Learn) else action for action in row.apply_actions)
    return replace(row, apply_actions=tuple(actions))


def guarding_nothing(row: FlowRow) -> FlowRow:
    """The guard lets tagged frames of hosts pass to the routes."""
    return replace(row, goto_table=int(Table.ROUTE)) if row.priority == 60000 else row


@pytest.mark.ovs
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (without_learning, "Open vSwitch says learns"),
        (learning_otherwise, "expected learns"),
        (guarding_nothing, "Open vSwitch says drop"),
    ],
)
def test_a_wrong_interpreter_is_caught_and_the_difference_can_be_asked_again(change: object, words: str) -> None:
    plans = plan_network("sdfast", FIGURE2, PlanOptions(max_failures=1))
    outcome = compare_plans(FIGURE2, plans, changed(plans, change), samples=150, seed=11)
    assert outcome.differences > 0
    assert outcome.first_difference is not None
    assert words in outcome.first_difference
    assert "in_port=" in outcome.first_difference


@pytest.mark.ovs
def test_a_wrong_idea_of_liveness_is_caught() -> None:
    plans = plan_network("ffg", FIGURE2, PlanOptions())
    hopeful = {
        dpid: replace(plan, groups=tuple(replace(row, buckets=row.buckets[:1]) for row in plan.groups))
        for dpid, plan in plans.items()
    }
    assert compare_plans(FIGURE2, plans, hopeful, samples=300, seed=11).differences > 0


@pytest.fixture(scope="module")
def switch() -> Iterator[DummyOvs]:
    """A switch with one bridge, b1, of ports 1..3; group 1 prefers port 2 to port 3."""
    with dummy_ovs() as private:
        private.add_bridges({1: [1, 2, 3]})
        group = GroupRow(1, "ff", (Bucket((Output(2),), watch_port=2), Bucket((Output(3),), watch_port=3)))
        private.install(RulePlan(1, "s1", (FlowRow(0, 1, match(), (Group(1),)),), (group,)))
        yield private


@pytest.mark.ovs
def test_failed_ports_are_known_to_groups_as_soon_as_they_are_set(switch: DummyOvs) -> None:
    for down, port in ((set(), 2), ({(1, 2)}, 3), ({(1, 3)}, 2), (set(), 2), ({(1, 2)}, 3)):
        switch.set_failed_ports(down)
        answer = parse_trace(switch.trace(1, flow_of(Packet(), 1)), 0)
        assert answer == Forwarding(outputs=((port, 0, ()),))


@pytest.mark.ovs
def test_a_refused_command_says_which_one_and_why(switch: DummyOvs) -> None:
    with pytest.raises(ArmorError, match=r"ofproto/trace --names b77 .* was refused: .*[Uu]nknown"):
        switch.trace(77, "in_port=1")
    with pytest.raises(ArmorError, match=r"ovs-ofctl .* failed"):
        switch.delete_flows(1, "nonsense=1")


@pytest.mark.ovs
def test_a_private_switch_leaves_neither_files_nor_processes() -> None:
    with dummy_ovs() as private:
        directory = private.directory
        assert len(_daemons(directory)) == 2
    assert not directory.exists()
    assert _daemons(directory) == []


def _daemons(directory: Path) -> list[int]:
    """Processes whose command line names the directory."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if str(directory).encode() in words:
                found.append(int(entry.name))
    return found


def test_a_missing_program_is_named_with_the_repair(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda *_, **__: None)
    with pytest.raises(MissingRequirementError, match=r"ovs-vswitchd is not installed; .*make setup"):
        find_program("ovs-vswitchd")


@pytest.fixture
def state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run files and folders of the test itself, away from other runs of this machine; short, for names of sockets."""
    folder = tmp_path_factory.mktemp("st")
    monkeypatch.setenv(STATE_VARIABLE, str(folder))
    return folder


@pytest.mark.ovs
def test_a_daemon_that_does_not_start_says_why_and_leaves_nothing(state: Path, monkeypatch) -> None:
    monkeypatch.setattr(
        "emulation.private_switch.find_program",
        lambda name: find_program("ovs-ofctl" if name == "ovs-vswitchd" else name),
    )
    with pytest.raises(ArmorError, match=r"ovs-ofctl did not start: .*unrecognized option"), dummy_ovs():
        pytest.fail("it started")
    assert not [*state.glob("runs/*"), *state.glob("tmp/*")]
    assert _daemons(state) == []


@pytest.mark.ovs
@pytest.mark.parametrize("daemon", ["ovsdb-server", "ovs-vswitchd"])
def test_a_daemon_that_is_killed_is_an_error_and_leaves_nothing(daemon: str, state: Path, monkeypatch) -> None:
    monkeypatch.setattr("emulation.private_switch._ANSWER_TIMEOUT_S", 2.0)

    def measure() -> None:
        with dummy_ovs() as ovs:
            ovs.add_bridges({1: [1]})
            (pid,) = [pid for pid in _daemons(state) if Path(f"/proc/{pid}/comm").read_text().strip() == daemon]
            os.kill(pid, signal.SIGKILL)
            while True:
                ovs.add_bridges({2: [1]})
                ovs.empty(2)

    with pytest.raises(ArmorError):
        measure()
    assert not [*state.glob("runs/*"), *state.glob("tmp/*")]
    assert _daemons(state) == []


def test_a_missing_schema_is_named_with_where_it_was_sought(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("emulation.private_switch.find_program", lambda name: name)
    monkeypatch.setattr("emulation.private_switch._SHARE_DIRS", (str(tmp_path),))
    with pytest.raises(MissingRequirementError, match=f"vswitch.ovsschema is in none of {tmp_path}"), dummy_ovs():
        pytest.fail("it started")


def test_an_unknown_scheme_is_bad_input_before_anything_is_started() -> None:
    with pytest.raises(BadInputError, match="sdfsat"):
        compare_with_ovs(FIGURE2, "sdfsat", PlanOptions(), samples=1, seed=1)


TRACE = """Flow: udp,in_port=1

bridge("b4")
 0. ip, priority 10
     -> table=3 ip,dl_vlan=12 priority=5 cookie=0x9 hard=60 actions=drop

Datapath actions: {}
"""


@pytest.mark.parametrize(
    ("vlan_tci", "actions", "outputs", "punts"),
    [
        (0, "drop", (), ()),
        (0, "b4p2", ((2, 0, ()),), ()),
        (0x1005, "b4p2", ((2, 0x1005, ()),), ()),
        (0, "push_vlan(vid=11,pcp=2),b4p12", ((12, 0x500B, ()),), ()),
        (0x1005, "pop_vlan,b4p1", ((1, 0, ()),), ()),
        (0x1005, "pop_vlan,push_vlan(vid=6,pcp=0),b1p2,b1p3", ((2, 0x1006, ()), (3, 0x1006, ())), ()),
        (
            0x1005,
            "userspace(pid=0,controller(reason=1,controller_id=7,max_len=9)),pop_vlan,b1p1",
            ((1, 0, ()),),
            ((7, 0x1005),),
        ),
    ],
)
def test_datapath_actions_are_read_as_what_leaves_with_which_tag(
    vlan_tci: int, actions: str, outputs: tuple[tuple[int, int, Labels], ...], punts: tuple[tuple[int, int], ...]
) -> None:
    answer = parse_trace(TRACE.format(actions), vlan_tci)
    assert (answer.outputs, answer.punts) == (outputs, punts)
    assert answer.learned == (FlowRow(3, 5, match(eth_type=0x800, vlan_vid=0x100C), cookie=9, hard_timeout_s=60),)


@pytest.mark.parametrize("copy", ["clone(ct,recirc(0x1)),pop_vlan,b1p2", "ct,recirc(0x1),pop_vlan,b1p2"])
def test_the_second_pass_of_a_copy_is_read_where_the_copy_is_made(copy: str) -> None:
    second = "\nrecirc(0x1) - resume conntrack with default ct_state=trk|new\nDatapath actions: b1p1,b1p3\n"
    answer = parse_trace(TRACE.format(f"push_vlan(vid=5,pcp=3),{copy}") + second, 0)
    assert answer.outputs == ((1, 0x7005, ()), (3, 0x7005, ()), (2, 0, ()))


@pytest.mark.parametrize(
    ("came", "actions", "labels"),
    [
        ((), "push_mpls(label=7,tc=0,ttl=64,bos=1,eth_type=0x8847)", ((7, 0),)),
        (((7, 1),), "push_mpls(label=9,tc=2,ttl=64,bos=0,eth_type=0x8847)", ((9, 2), (7, 1))),
        (((9, 2), (7, 1)), "pop_mpls(eth_type=0x8847)", ((7, 1),)),
        (((7, 1),), "pop_mpls(eth_type=0x800)", ()),
    ],
)
def test_pushes_and_pops_of_labels_are_read_off_datapath_actions(came: Labels, actions: str, labels: Labels) -> None:
    assert parse_trace(TRACE.format(f"{actions},b1p2"), 0, came).outputs == ((2, 0, labels),)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Flow: udp\n", "holds 0 answers"),
        (TRACE.format("drop") + "Translation failed (Recursion too deep)", "Recursion too deep"),
        (TRACE.format("hash(l4(0))"), "'hash(l4(0))'"),
        (TRACE.format("ct,recirc(0x1)") + "\nrecirc(0x1) - resume conntrack\n", "holds 1 answers"),
        (TRACE.format("other_port"), "'other_port'"),
    ],
)
def test_an_answer_that_is_not_understood_is_an_error_and_not_a_drop(text: str, words: str) -> None:
    with pytest.raises(PlanError) as caught:
        parse_trace(text, 0)
    assert words in str(caught.value)


def maker(seed: int, topology: Topology = FIGURE2) -> SceneMaker:
    plans = plan_network("sdfast", topology, PlanOptions(mode="agent"))
    return SceneMaker(topology, {plan.node: plan for plan in plans.values()}, seed)


def scenes(seed: int, packets: int = 1000) -> list[Scene]:
    return list(maker(seed).scenes(packets))


def test_the_same_seed_asks_the_same_and_another_asks_something_else() -> None:
    assert scenes(3) == scenes(3)
    assert scenes(3) != scenes(4)


def test_random_scenes_hold_what_matters() -> None:
    drawn = scenes(5)
    packets = [(scene, injection) for scene in drawn for injection in scene.injections]
    assert len(packets) == 1000
    assert {len(scene.failed_ports) for scene in drawn} >= {0, 1, 2, 4}
    assert {scene.learning for scene in drawn} == {False, True}
    assert any(scene.agent_rows for scene in drawn)
    kinds = {split_cookie(row.cookie).kind for scene in drawn for rows in scene.agent_rows.values() for row in rows}
    assert kinds == {Kind.AGENT}
    assert any(injection.in_port == 1 and injection.packet.vlan_tci for _, injection in packets)
    assert any(injection.in_port > 1 and injection.packet.vlan_tci for _, injection in packets)
    assert any(injection.packet.vlan_tci & 0xFFF > 100 for _, injection in packets)  # a tag that no row knows
    assert {injection.packet.eth_type for _, injection in packets} == {0x800, 0x806, 0x86DD}


def test_a_network_without_links_still_has_scenes() -> None:
    lonely = Topology("lonely", FIGURE2.nodes[:1], ())
    scene = maker(1, lonely).scene(5)
    assert not scene.failed_ports
    assert {injection.in_port for injection in scene.injections} == {1}


def test_a_comparison_keeps_the_first_difference() -> None:
    outcome = Comparison().plus(packets=3).differing("one").differing("two")
    assert (outcome.differences, outcome.first_difference) == (2, "one")
    assert json.loads(json.dumps(outcome.to_json()))["packets"] == 3


def answering(path: Path, answers: list[bytes]) -> threading.Thread:
    """A daemon that answers each request with the next bytes, and then hangs up."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()

    def serve() -> None:
        with listener, listener.accept()[0] as connection:
            for answer in answers:
                connection.recv(1000)
                connection.sendall(answer)

    thread = threading.Thread(target=serve)
    thread.start()
    return thread


def test_answers_are_distinguished_however_they_fail(tmp_path: Path) -> None:
    path = tmp_path / "ctl"
    daemon = answering(path, [b'{"id":1,"result":"a","error":null}\n', b' {"id":2,"result":"\xc3\xa4","error":null}'])
    with UnixCtl(path) as control:
        assert (control.run("one"), control.run("two")) == ("a", "\u00e4")
    daemon.join()


def test_a_daemon_that_hangs_up_or_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "ctl"
    with pytest.raises(ArmorError, match="no daemon answers at"):
        UnixCtl(path)
    daemon = answering(path, [b'{"id":1,'])
    with UnixCtl(path) as control, pytest.raises(ArmorError, match="did not answer 'version'"):
        control.run("version")
    daemon.join()
