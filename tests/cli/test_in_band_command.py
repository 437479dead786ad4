"""`armor plan in-band`: rows for people, for programs, and as commands that a plain switch takes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from experiments.cli.main import main
from ryu_apps.plan.addressing import dpid_of
from ryu_apps.plan.in_band.plan import plan_in_band
from ryu_apps.plan.serial import plan_from_json
from tests.dummy_ovs import DummyOvs
from tests.plan.in_band.test_on_ovs import TOPOLOGY
from tests.plan.in_band.walking import channel_at

PMT = str(Path(__file__).resolve().parents[2] / "examples" / "pmt" / "in_band.yaml")


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["plan", "in-band", "figure2", *words]) == 0
    return capsys.readouterr().out


def test_rows_name_the_ends_of_the_control_network(capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "--controller-at", "s2", "--switch", "s2")
    assert "#   port 64768: the controller\n" in text
    assert "# to switch s3; from the controller; by s3 C, else by s6 F" in text
    assert "Switch s3" not in text


def test_switches_come_in_the_order_in_which_they_are_reached(capsys: pytest.CaptureFixture[str]) -> None:
    value = json.loads(said(capsys, "--controller-at", "s3", "--pmt", PMT, "--json"))
    plans = [plan_from_json(each) for each in value["switches"]]
    assert [each.node for each in plans] == list(plan_in_band(TOPOLOGY, channel_at("s3")).order)
    assert {each["dscp"] for each in value["connections"]} == {56, 48, 40, 0}
    assert all(dpid_of(TOPOLOGY, each.node) == each.dpid for each in plans)


@pytest.mark.ovs
def test_the_commands_of_each_switch_are_taken_by_open_vswitch(capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "--controller-at", "s2", "--format", "ovs-ofctl", "--pmt", PMT)
    controller, *switches = text.split("# s")
    assert "behind port 64768 of s2" in controller
    assert [each.partition(":")[0] for each in switches[:2]] == ["2", "1"]
    with DummyOvs() as ovs:
        for number, commands in enumerate(switches, 1):
            head, *lines = commands.splitlines()
            name = f"s{head.partition(':')[0]}"
            assert head.endswith(f"{number} of {len(switches)}, on the switch itself")
            ovs.add_bridge(name, int(name[1:]), range(1, 5))
            for line in lines[:2]:
                ovs.vsctl(*line.split()[1:])
            assert lines[2].startswith("ip address replace 10.255.0.")
            assert lines[3] == f"ip link set {name} up"
            assert lines[4] == f"ovs-ofctl -O OpenFlow13 bundle {name} - <<'ROWS'"
            end = lines.index("ROWS")
            ovs.run(
                "ovs-ofctl", "-OOpenFlow13", "bundle", ovs.management(name), "-", text="\n".join(lines[5:end]) + "\n"
            )
            held = ovs.ofctl("dump-flows", name).count("actions=")
            assert held == sum(line.startswith("flow add") for line in lines)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("in-band", "figure2", "--controller-at", "s9"), "cannot be attached to 's9'"),
        (("in-band", "figure2", "--shape", "decomposed"), "--shape is for schemes of tunnels, not for 'in-band'"),
        (("in-band", "figure2", "--count"), "--count is for schemes, not for in-band"),
        (("in-band", "figure2", "--demands", "random:2:5"), "not for 'in-band'"),
        (("in-band", "figure2", "--pmt", "no/such.yaml"), "'no/such.yaml' cannot be read"),
        (("shortest", "figure2", "--controller-at", "s1"), "--controller-at is for in-band, not for 'shortest'"),
        (("shortest", "figure2", "--format", "ovs-ofctl"), "--format is for in-band"),
    ],
)
def test_what_has_no_meaning_is_refused(
    words: tuple[str, ...], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", *words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert complaint in err
