"""Apps that know nothing of PSO, in real networks behind it: SD-FAST, Kuijia, and Ryu's own learning switch."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from emulation.runfile import STATE_VARIABLE
from ryu_apps.pmt.parse import parse_pmt
from ryu_apps.pmt.serial import show
from tests.emulation.test_mn_custom import PRIVATE, START_OPEN_VSWITCH
from tests.undisturbed import undisturbed_run

pytestmark = [pytest.mark.emulation, pytest.mark.ryu]

ROOT = Path(__file__).resolve().parents[2]
PMT = ROOT / "examples" / "pmt" / "out_of_band.yaml"
DATABASE = "unix:/var/run/openvswitch/db.sock"
PORT = 6700  # switches of `mn` listen on 6654 and above
WAIT = """
import json, sys, time, urllib.request

end = time.monotonic() + 60
while time.monotonic() < end:
    try:
        with urllib.request.urlopen("http://127.0.0.1:9653/pso") as answer:
            switches = json.load(answer)["switches"]
            if [len(switch["connections"]) for switch in switches] == [5, 5, 5]:
                sys.exit(0)
    except OSError:
        pass
    time.sleep(0.1)
sys.exit("waited 60 s in vain for all per-class connections")
"""


# The middle of three tunnels fails; and a link whose failure makes packets backtrack.
SCENARIOS = {
    "kuijia": """
topology: theta
scheme: kuijia
capacity_mbps: 4
flows:
  - {name: victim, from: h1, to: h2, kind: udp, mbps: 0.6, tunnel: 1, moves_to: 0}
  - {name: kept, from: h1, to: h2, kind: udp, mbps: 0.6, tunnel: 0}
failures: [{link: [s4, s5], at_s: 2}]
duration_s: 6
""",
    "sdfast": """
topology: figure2
scheme: sdfast
traffic: [{from: h1, to: h5}]
failures: [{link: [s4, s5], at_s: 1}]
duration_s: 3
""",
}


@pytest.mark.parametrize("scheme", sorted(SCENARIOS))
def test_a_scheme_answers_failures_under_pso_as_without_it(scheme, tmp_path_factory, monkeypatch, capsys) -> None:
    folder = tmp_path_factory.mktemp("run")
    monkeypatch.setenv(STATE_VARIABLE, str(tmp_path_factory.mktemp("state")))  # sockets need short paths
    path = folder / "scenario.yaml"
    path.write_text(f"{SCENARIOS[scheme]}link_delays: false\nbfd_interval_ms: 100\npmt: {PMT}\n", encoding="utf-8")
    _, (result,) = undisturbed_run(path, folder / "out", capsys)
    (failure,) = result["failures"]
    assert failure["stages_ms"]["switch_over"] is not None
    # What a busy machine cannot disturb: the switches hold what they should, and packets get through again.
    sound = [each for each in result["claims"] if re.search("rows|holds its plan|recovers", each["name"])]
    assert sound
    assert all(each["held"] for each in sound), sound
    for flow in result.get("flows") or ():
        assert flow["after_mbps"] > 0.5 * flow["offered_mbps"], flow


def _until_said(words: str, path: Path) -> str:
    return f"timeout 40 sh -c 'until grep -q \"{words}\" {path}; do sleep 0.1; done' && echo found: {words}"


def test_every_host_reaches_every_other_and_each_switch_has_its_class_connections(tmp_path) -> None:
    wait, script = tmp_path / "wait.py", tmp_path / "user.sh"
    wait.write_text(WAIT, encoding="utf-8")
    environment = f"ARMOR_PSO_PMT={PMT} ARMOR_PSO_SWITCH_DB={DATABASE}"
    manager = f"{sys.executable} -m ryu.cmd.manager --ofp-tcp-listen-port {PORT}"
    mn = "mn --topo linear,3 --switch ovs,datapath=user,protocols=OpenFlow13"
    capture = (
        f"timeout 60 tcpdump -i lo -nnvl 'tcp portrange {PORT}-{PORT + 9}' >{tmp_path}/capture 2>{tmp_path}/said &"
    )
    commands = [
        f"sh {sys.executable} {wait}",
        f"sh {capture}",
        f"sh {_until_said('listening on', tmp_path / 'said')}",
        "pingall",
        # The paper's CS7 for the main connection, and CS5 for packet-ins and packet-outs of other services.
        f"sh {_until_said('tos 0xe0', tmp_path / 'capture')}",
        f"sh {_until_said('tos 0xa0', tmp_path / 'capture')}",
        "sh ovs-vsctl --columns=target,other_config,is_connected list controller",
        f"sh {sys.executable} -m experiments pmt show {DATABASE} --bridge s1",
    ]
    script.write_text(
        f"{START_OPEN_VSWITCH}\ncd {ROOT}\n"
        f"{environment} {manager} ryu_apps/pso.py ryu.app.simple_switch_13 >{tmp_path}/ryu.log 2>&1 &\n"
        f"{mn} --controller remote,ip=127.0.0.1,port={PORT} <<'END' 2>&1\n" + "\n".join(commands) + "\nEND\n",
        encoding="utf-8",
    )
    done = subprocess.run([*PRIVATE, "sh", str(script)], capture_output=True, text=True, check=False, timeout=180)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0% dropped (6/6 received)" in done.stdout
    assert "found: tos 0xe0" in done.stdout
    assert "found: tos 0xa0" in done.stdout
    assert 'dscp="56"' in done.stdout
    assert show(parse_pmt(PMT.read_text(encoding="utf-8"))) in done.stdout
