"""`armor net`: a network that a controller of this machine serves, until Ctrl-C."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys

import pytest

from emulation.runfile import list_runs
from experiments.cli.net import text
from tests.control.running import RunningApp
from tests.patience import patient_s

pytestmark = [pytest.mark.emulation, pytest.mark.ryu]
VALUE = {
    "topology": "square",
    "hosts": [{"host": "h1", "pid": 5, "address": "10.0.0.1"}, {"host": "h3", "pid": 6, "address": "10.0.0.3"}],
    "switches": [{"node": "s1", "management": "/run/s1.mgmt"}],
}


@pytest.mark.parametrize(
    ("controller", "line"),
    [
        ("127.0.0.1:6653", "armor controller sdfast square\n"),
        ("127.0.0.1:6700", "armor controller sdfast square -- --ofp-tcp-listen-port 6700\n"),
    ],
)
def test_the_text_names_a_controller_that_listens_where_the_switches_connect(controller, line):
    assert line in text(VALUE | {"controller": controller})


def test_a_controller_of_this_machine_serves_the_network_and_ctrl_c_ends_it(tmp_path):
    with RunningApp("sdfast", "square", tmp_path) as app:
        words = [sys.executable, "-m", "armor", "net", "square", "--json"]
        words += ["--controller", f"127.0.0.1:{app.openflow_port}"]
        network = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            assert network.stdout is not None
            value = json.loads(network.stdout.readline())
            assert app.wait_ready(90)["ready"]
            hosts = {each["host"]: each for each in value["hosts"]}
            ping = ["mnexec", "-a", str(hosts["h1"]["pid"]), "ping", "-c", "3", "-W", "5", hosts["h3"]["address"]]
            done = subprocess.run(ping, capture_output=True, text=True, timeout=patient_s(60), check=False)
            (received,) = re.findall(r"([0-9]+) received", done.stdout)
            assert int(received) >= 2
        finally:
            network.send_signal(signal.SIGINT)
            _out, err = network.communicate(timeout=patient_s(60))
        assert (network.returncode, "Traceback" in err) == (130, False)
    assert network.pid not in [run.owner.pid for run in list_runs()]
