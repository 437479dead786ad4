"""What a new user does: `ryu-manager ryu_apps/sdfast.py` in one terminal and a plain `mn` network in another.

Everything runs in private namespaces (see test_mn_custom.py).
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.emulation.test_mn_custom import FILE, PRIVATE, START_OPEN_VSWITCH
from tests.rights import capabilities_of, with_capabilities

pytestmark = [pytest.mark.emulation, pytest.mark.ryu]

ROOT = Path(__file__).resolve().parents[2]
LINEAR = {
    "name": "linear3",
    "nodes": [{}, {}, {}],
    "links": [{"src": "s1", "dst": "s2"}, {"src": "s2", "dst": "s3"}],
}
WAIT = """
import json, sys, time, urllib.request

DONE = {
    "ready": lambda state: state["ready"],
    "failed": lambda state: state["failed_links"],
    "returned": lambda state: not state["failed_links"] and not state["returning_links"],
}
end = time.monotonic() + 60
while time.monotonic() < end:
    try:
        with urllib.request.urlopen("http://127.0.0.1:8080/armor/state") as answer:
            if DONE[sys.argv[1]](json.load(answer)):
                sys.exit(0)
    except OSError:
        pass
    time.sleep(0.1)
sys.exit("waited 60 s in vain until " + sys.argv[1])
"""


def said_by_mn(topology: str, mn_options: str, commands: str, folder: Path, settings: str = "") -> str:
    """Everything that `mn` says, beside an app for `topology` in the same network namespace."""
    environment = f"ARMOR_TOPOLOGY={topology} ARMOR_WAIT_TO_RESTORE_S=1 ARMOR_EVENTS={folder}/events.jsonl {settings}"
    app = f"{environment} {sys.executable} -m ryu.cmd.manager {ROOT}/ryu_apps/sdfast.py >{folder}/ryu.log 2>&1 &"
    options = "--switch ovs,datapath=user,protocols=OpenFlow13 --controller remote,ip=127.0.0.1,port=6653"
    script = folder / "user.sh"
    script.write_text(
        f"{START_OPEN_VSWITCH}\n{app}\nmn {mn_options} {options} <<'END' 2>&1\n{commands}\nEND\n", encoding="utf-8"
    )
    done = subprocess.run([*PRIVATE, "sh", str(script)], capture_output=True, text=True, check=False, timeout=180)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_recovery_works_in_a_network_that_plain_mn_has_built(tmp_path):
    script = tmp_path / "wait.py"
    script.write_text(WAIT, encoding="utf-8")
    until = f"sh {sys.executable} {script}"
    learned = "sh for s in 1 2 3 4 5 6 7 8; do ovs-ofctl -OOpenFlow13 dump-flows s$s table=3; done | grep -c cookie"
    commands = [
        f"{until} ready",
        "pingall",
        "link s4 s5 down",
        f"{until} failed",
        "pingall",
        learned,
        "link s4 s5 up",
        f"{until} returned",
        "pingall",
        learned,
    ]
    said = said_by_mn("figure2", f"--custom {FILE} --topo armor,figure2", "\n".join(commands), tmp_path)
    assert re.findall(r"(\d+)% dropped", said) == ["0", "0", "0"]
    counts = [int(line.split()[-1]) for line in said.splitlines() if re.fullmatch(r"mininet> \d+", line)]
    assert counts[0] > 0
    assert counts[1] == 0
    events = [json.loads(line)["event"] for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    assert "return_done" in events
    assert "error" not in events


def test_agents_recover_a_network_of_plain_mn(tmp_path):
    """One ovs-vswitchd has all bridges; the agents have no more rights than the systemd unit leaves them."""
    script = tmp_path / "wait.py"
    script.write_text(WAIT, encoding="utf-8")
    until = f"sh {sys.executable} {script}"
    agents = [sys.executable, "-m", "armor", "agent", "--all", "--backup-file", f"{tmp_path}/backup.db"]
    agents += ["--", "--realtime", "--wait-to-restore-s", "1"]
    command = " ".join(with_capabilities(capabilities_of("armor-agent@.service"), agents))
    rows = "sh for s in 1 2 3 4 5 6 7 8; do ovs-ofctl -OOpenFlow13 dump-flows s$s cookie=0x0202000000000000/"
    rows += "0xffff000000000000; done | grep -c cookie"
    commands = [
        f"sh cd {ROOT} && exec {command} >{tmp_path}/agents.log 2>&1 & echo $! >{tmp_path}/agents.pid",
        f"{until} ready",
        "pingall",
        "link s4 s5 down",
        f"{until} failed",
        "pingall",
        rows,
        f"sh pkill -KILL -P $(cat {tmp_path}/agents.pid)",
        "sh sleep 3",
        "pingall",
        "link s4 s5 up",
        f"{until} returned",
        "sh sleep 2",
        "pingall",
        rows,
        f"sh kill -INT $(cat {tmp_path}/agents.pid)",
    ]
    database = "ARMOR_MODE=agent ARMOR_BACKUP_DB=unix:/run/openvswitch/db.sock"
    said = said_by_mn("figure2", f"--custom {FILE} --topo armor,figure2", "\n".join(commands), tmp_path, database)
    log = (tmp_path / "agents.log").read_text(encoding="utf-8")
    assert re.findall(r"(\d+)% dropped", said) == ["0", "0", "0", "0"], said + log
    counts = [int(line.split()[-1]) for line in said.splitlines() if re.fullmatch(r"mininet> \d+", line)]
    assert (counts[0] > 0, counts[1]) == (True, 0), said + log
    assert log.count("ended with -9; it is started again") == 8, log


def test_hosts_with_their_own_mac_addresses_reach_each_other(tmp_path):
    topology = tmp_path / "linear3.json"
    topology.write_text(json.dumps(LINEAR), encoding="utf-8")
    script = tmp_path / "wait.py"
    script.write_text(WAIT, encoding="utf-8")
    rewriting = "sh ovs-ofctl -OOpenFlow13 dump-flows s3 | grep -c 'set_field:.*->eth_dst'"
    static = "py h1.cmd('arp -s 10.0.0.3 02:00:00:00:00:03; ping -c 3 -i 0.2 10.0.0.3')"
    commands = [f"sh {sys.executable} {script} ready", "pingall", rewriting, static]
    said = said_by_mn(str(topology), "--topo linear,3", "\n".join(commands), tmp_path)
    assert "0% dropped (6/6 received)" in said
    assert "mininet> 2" in said
    assert "3 packets transmitted, 3 received" in said
