"""Where apps wait for switches: on loopback, unless somebody names another address."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pytest

from experiments.loadgen.ports import free_port
from tests.control.running import MANAGER, ROOT, START_S, RunningApp
from tests.patience import wait_until

pytestmark = [pytest.mark.ryu, pytest.mark.slow]

LISTENS = "0A"


def listening(pid):
    """(Host, port) of the TCP sockets on which a process listens, as the kernel says."""
    own = {os.readlink(each) for each in Path(f"/proc/{pid}/fd").iterdir() if each.is_symlink()}
    assert not Path("/proc/net/tcp6").exists() or not list(rows_of(pid, "tcp6", own))
    return {
        (socket.inet_ntoa(bytes.fromhex(host)[::-1]), int(port, 16))
        for host, _colon, port in (fields[1].partition(":") for fields in rows_of(pid, "tcp", own))
    }


def rows_of(pid, table, own):
    for line in Path(f"/proc/{pid}/net/{table}").read_text(encoding="ascii").splitlines()[1:]:
        fields = line.split()
        if fields[3] == LISTENS and f"socket:[{fields[9]}]" in own:
            yield fields


@pytest.mark.parametrize(
    ("environment", "arguments", "host"),
    [
        ({}, (), "127.0.0.1"),
        ({"OS_DEFAULT__OFP_LISTEN_HOST": "127.0.0.2"}, (), "127.0.0.2"),
        ({"OS_DEFAULT__OFP_LISTEN_HOST": "127.0.0.2"}, ("--ofp-listen-host", "127.0.0.3"), "127.0.0.3"),
    ],
)
def test_a_scheme_listens_on_loopback_and_else_where_it_is_asked_to(
    tmp_path, monkeypatch, environment, arguments, host
):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with RunningApp("sdfast", "square", tmp_path, arguments) as app:
        wanted = {(host, app.openflow_port), ("127.0.0.1", app.rest_port)}
        wait_until(lambda: listening(app.process.pid) == wanted, "it listens there and nowhere else", START_S)


@pytest.mark.parametrize(
    ("app", "settings"),
    [("reactive", {"ARMOR_TOPOLOGY": "square"}), ("pso", {"ARMOR_PSO_PMT": "examples/pmt/out_of_band.yaml"})],
)
def test_apps_without_a_scheme_listen_on_loopback_too(app, settings):
    port = free_port()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ARMOR_")}
    command = [*MANAGER, "--ofp-tcp-listen-port", str(port), f"{ROOT}/ryu_apps/{app}.py"]
    process = subprocess.Popen(command, cwd=ROOT, env={**environment, **settings})
    try:
        wait_until(lambda: ("127.0.0.1", port) in listening(process.pid), "it listens", START_S)
        assert {host for host, _port in listening(process.pid)} == {"127.0.0.1"}
    finally:
        process.kill()
        process.wait()
