"""The file for plain `mn`: the same ports as Armor's own emulation, under the system's Python.

Plain `mn` uses Open vSwitch's default paths and, after an error, kills processes by name. So it gets private
network, mount and process namespaces, in which the default paths are empty and nobody else is to be found. It also
deletes `/tmp/*.log` and `/tmp/*.out` of every user (mininet/clean.py); so only the folders of /tmp are there.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import pytest

from mininet_topos import toy
from mininet_topos.ports import assign_ports

pytestmark = pytest.mark.emulation

FILE = Path(__file__).parents[2] / "emulation" / "mn_custom.py"
PRIVATE = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
START_OPEN_VSWITCH = """
set -e
mount -t tmpfs none /run && mkdir -p /run/openvswitch /run/tmp
mount --bind /tmp /run/tmp
mount -t tmpfs none /tmp
for folder in /run/tmp/*/; do
    mkdir "/tmp/$(basename "$folder")"
    mount --bind "$folder" "/tmp/$(basename "$folder")" || [ ! -d "$folder" ]  # another test has removed it
done
mount -t tmpfs none /etc/openvswitch
mount -t tmpfs none /var/log/openvswitch
ip link set lo up
ovsdb-tool create /etc/openvswitch/conf.db /usr/share/openvswitch/vswitch.ovsschema
ovsdb-server /etc/openvswitch/conf.db --remote=punix:/run/openvswitch/db.sock --pidfile --detach -vconsole:off
ovs-vsctl --no-wait init
ovs-vswitchd --pidfile --detach -vconsole:off
"""


def run_mn(topology: str, switch: str, commands: str, folder: Path) -> str:
    """Everything that `mn` says when it is given these commands on its command line."""
    script = folder / "mn.sh"
    mn = f"mn --custom {FILE} --topo armor,{topology} --controller none --switch {switch}"
    script.write_text(f"{START_OPEN_VSWITCH}\n{mn} <<'END' 2>&1\n{commands}\nEND\n", encoding="utf-8")
    done = subprocess.run([*PRIVATE, "sh", str(script)], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_plain_mn_builds_a_topology_with_armors_ports(tmp_path: Path) -> None:
    show = "sh ovs-vsctl --bare --columns=name,ofport list Interface | paste -s -d ' '"
    said = run_mn("star", "ovs,datapath=user,failMode=standalone", f"sh sleep 1\npingall 1\n{show}", tmp_path)
    assert "0% dropped (20/20 received)" in said
    topology = toy.star()
    for (node, port), direction in assign_ports(topology).direction_at.items():
        assert f"{node}-eth{port} {port}" in said, direction
    assert all(f"{node}-eth1 1" in said for node in topology.node_names)


def test_plain_mn_puts_scaled_capacities_on_links(tmp_path: Path) -> None:
    said = run_mn("pair,scale=0.1 --link tc", "ovs,datapath=user", "sh tc class show dev s1-eth2", tmp_path)
    assert "rate 10Mbit ceil 10Mbit" in said


def test_plain_mn_names_an_unknown_topology(tmp_path: Path) -> None:
    said = run_mn("no-such-topology", "ovs,datapath=user", "", tmp_path)
    assert "'no-such-topology'" in said
    assert "Creating network" not in said


def test_files_of_the_machine_survive_the_clean_up_of_plain_mn(tmp_path: Path) -> None:
    script = tmp_path / "clean.sh"
    script.write_text(f"{START_OPEN_VSWITCH}\ntouch /tmp/mine.log\nmn --clean 2>&1\nls /tmp\n", encoding="utf-8")
    with tempfile.NamedTemporaryFile(dir="/tmp", suffix=".log") as somebodys:
        done = subprocess.run([*PRIVATE, "sh", str(script)], capture_output=True, text=True, check=False, timeout=120)
        assert "Cleanup complete" in done.stdout
        assert "mine.log" not in done.stdout
        assert Path(somebodys.name).exists()
