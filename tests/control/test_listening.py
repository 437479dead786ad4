"""Where apps listen: on loopback unless an address is named, and nowhere that docs/security.md does not say."""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from experiments.loadgen.ports import free_port
from tests.control.running import MANAGER, ROOT, START_S, RunningApp
from tests.documented_sockets import documented_ports
from tests.patience import wait_until

pytestmark = [pytest.mark.ryu, pytest.mark.slow]
LISTENS = "0A"
OPENFLOW, REST = documented_ports("controller app")


def listening(pid):
    """(Host, port) of the TCP sockets on which a process listens, as the kernel says."""
    own = set()
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            own.add(os.readlink(descriptor))
    assert not list(rows_of(pid, "tcp6", own))
    return {
        (socket.inet_ntoa(bytes.fromhex(host)[::-1]), int(port, 16))
        for host, _colon, port in (fields[1].partition(":") for fields in rows_of(pid, "tcp", own))
    }


def rows_of(pid, table, own):
    file = Path(f"/proc/{pid}/net/{table}")
    for line in file.read_text(encoding="ascii").splitlines()[1:] if file.exists() else ():
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
        shown = {OPENFLOW: (host, app.openflow_port), REST: ("127.0.0.1", app.rest_port)}
        wanted = {shown[port] for port in documented_ports("controller app")}
        wait_until(lambda: listening(app.process.pid) == wanted, "it listens there and nowhere else", START_S)


@pytest.mark.parametrize("scheme", ["kuijia", "protect"])
def test_apps_with_resources_of_their_own_listen_nowhere_else(tmp_path, scheme):
    with RunningApp(scheme, "square", tmp_path) as app:
        wanted = {("127.0.0.1", app.openflow_port), ("127.0.0.1", app.rest_port)}
        wait_until(lambda: listening(app.process.pid) == wanted, "it listens there and nowhere else", START_S)


def test_nobody_can_connect_before_the_controller_listens_for_good():
    """A connection taken by the look whether the port is free would be closed again before anybody reads it."""
    program = """
import socket, sys
from ryu import cfg
from ryu_apps.control.listening import prepare_listening

class Looks(socket.socket):
    def close(self):
        with plain() as switch:
            print(switch.connect_ex(self.getsockname()))
        super().close()

cfg.CONF(args=["--ofp-tcp-listen-port", sys.argv[1]], project="ryu")
plain, socket.socket = socket.socket, Looks
prepare_listening()
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(free_port())], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.stdout == f"{errno.ECONNREFUSED}\n", done.stderr[-3000:]


def test_reactive_and_pso_listen_on_loopback(tmp_path):
    port, metrics_port = free_port(), free_port()
    settings = {
        "ARMOR_TOPOLOGY": "square",
        "ARMOR_PSO_PMT": "examples/pmt/out_of_band.yaml",
        "ARMOR_PSO_METRICS_PORT": str(metrics_port),
    }
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ARMOR_")}
    apps = [f"{ROOT}/ryu_apps/{app}.py" for app in ("pso", "reactive")]
    process = subprocess.Popen(
        [*MANAGER, "--ofp-tcp-listen-port", str(port), *apps], cwd=ROOT, env={**environment, **settings}
    )
    *classes, metrics = documented_ports("pso")
    shown = {each: port + each - OPENFLOW for each in classes} | {metrics: metrics_port, OPENFLOW: port}
    wanted = {("127.0.0.1", each) for each in shown.values()}
    try:
        wait_until(lambda: listening(process.pid) == wanted, "it listens there and nowhere else", START_S)
    finally:
        process.kill()
        process.wait()
