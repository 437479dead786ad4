"""Starting an app with bad settings: one sentence, exit code 2."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.loadgen.ports import free_port
from tests.control.running import MANAGER, ROOT, START_S, RunningApp
from tests.patience import patient_s

pytestmark = [pytest.mark.ryu, pytest.mark.slow]

TWO_PARTS = (
    '{"name": "parts", "nodes": [{}, {}, {}, {}], "links": [{"src": "s1", "dst": "s2"}, {"src": "s3", "dst": "s4"}]}'
)


def ends_with(settings, *arguments, app="sdfast"):
    """What a ryu-manager that cannot start says, in the line that is ours."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ARMOR_")}
    done = subprocess.run(
        [*MANAGER, "--ofp-tcp-listen-port", str(free_port()), *arguments, f"{ROOT}/ryu_apps/{app}.py"],
        env={**environment, "ARMOR_REST_PORT": "0", **settings},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=patient_s(START_S),
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    (line,) = (line for line in done.stderr.splitlines() if line.startswith("armor: "))
    return line


def test_ryu_does_not_wait_for_a_library_that_looks_up_names():
    environment = {name: value for name, value in os.environ.items() if name != "EVENTLET_NO_GREENDNS"}
    argv = [sys.executable, "-X", "importtime", *MANAGER[1:], "--version"]
    done = subprocess.run(argv, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if "import time:" in line}
    assert "eventlet" in imported
    assert "dns" not in imported


def test_a_missing_topology_is_one_sentence():
    assert "ARMOR_TOPOLOGY" in ends_with({})


def test_an_unknown_topology_and_an_unknown_mode_are_one_sentence():
    assert "darkstrnad" in ends_with({"ARMOR_TOPOLOGY": "darkstrnad"})
    assert "magic" in ends_with({"ARMOR_TOPOLOGY": "square", "ARMOR_MODE": "magic"})


def test_a_topology_in_two_parts_is_one_sentence(tmp_path):
    path = tmp_path / "parts.json"
    path.write_text(TWO_PARTS, encoding="utf-8")
    assert "parts" in ends_with({"ARMOR_TOPOLOGY": str(path)})


def test_a_misspelt_setting_in_the_file_is_one_sentence(tmp_path):
    path = tmp_path / "armor.conf"
    path.write_text("[armor]\ntopology = square\nmod = agent\n", encoding="utf-8")
    line = ends_with({}, "--config-file", str(path))
    assert "'mod'" in line
    assert "did you mean mode?" in line


@pytest.mark.parametrize(
    ("option", "content", "word"),
    [
        ("--config-file", b"topology\n", "No ':' or '=' found"),
        ("--config-file", b"\x99\xff", "can't decode"),
        ("--config-file", None, "Failed to find some config files"),
        ("--config-dir", None, "Failed to read config file directory"),
    ],
)
def test_a_configuration_that_ryu_cannot_read_is_one_sentence(tmp_path, option, content, word):
    path = tmp_path / "armor.conf"
    if content is not None:
        path.write_bytes(content)
    assert word in ends_with({}, option, str(path))


@pytest.mark.parametrize(
    ("option", "content", "words"),
    [
        ("--pid-file", None, "No such file or directory"),
        ("--user-flags", None, "there is no options file"),
        ("--user-flags", "def broken(:", "SyntaxError"),
        ("--user-flags", "raise ValueError('no value')", "ValueError: no value"),
    ],
)
def test_a_file_of_ryus_that_cannot_be_used_is_one_sentence(tmp_path, option, content, words):
    path = tmp_path / ("missing/file" if content is None else "file.py")
    if content is not None:
        path.write_text(content, encoding="utf-8")
    line = ends_with({"ARMOR_TOPOLOGY": "square"}, option, str(path))
    assert words in line
    assert str(path) in line


def test_a_setting_of_ryu_of_the_wrong_type_ends_it_with_2(tmp_path):
    path = tmp_path / "armor.conf"
    path.write_text("[DEFAULT]\nofp_tcp_listen_port = abc\n", encoding="utf-8")
    words = [sys.executable, "-m", "ryu_apps.manager", "--config-file", str(path), "ryu_apps/sdfast.py"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False, timeout=patient_s(START_S))
    assert (done.returncode, done.stderr) == (2, "argument --ofp_tcp_listen_port: Invalid Integer value: abc\n")


def test_an_app_that_does_not_exist_is_one_sentence():
    assert "'" + f"{ROOT}/ryu_apps/sdfst.py" + "'" in ends_with({}, app="sdfst")


def test_the_environment_has_our_ryu_manager():
    assert "from armor.ryu_manager import main" in Path(sys.executable).with_name("ryu-manager").read_text()


INTERRUPT = "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n"


@pytest.mark.parametrize("shadowed", ["eventlet.py", "ryu_app_of_a_user.py"])
def test_ctrl_c_while_ryu_starts_is_no_traceback(tmp_path, shadowed):
    (tmp_path / shadowed).write_text(INTERRUPT, encoding="utf-8")
    done = interrupted(tmp_path, "ryu_apps.manager", "ryu_app_of_a_user")
    assert (done.returncode, "Traceback" in done.stderr, "KeyboardInterrupt" in done.stderr) == (130, False, False)


@pytest.mark.parametrize(
    "module", ["ovsdb_backup", "ovsdb_backup.agent", "ovsdb_backup.tunnel_agent", "dataplane.protect_service"]
)
def test_ctrl_c_while_an_agent_starts_is_no_traceback(tmp_path, module):
    (tmp_path / "argparse.py").write_text(INTERRUPT, encoding="utf-8")
    done = interrupted(tmp_path, module)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")


def interrupted(folder, *words):
    """A program that meets, among its imports, a module that sends it SIGINT; started as from a terminal."""
    return subprocess.run(
        [sys.executable, "-m", *words],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(folder)},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        capture_output=True,
        text=True,
        timeout=patient_s(START_S),
        check=False,
    )


@pytest.mark.parametrize(("app", "which"), [("sdfast", "openflow"), ("sdfast", "rest"), ("reactive", "openflow")])
def test_a_taken_port_is_one_sentence(app, which):
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        settings = {"ARMOR_TOPOLOGY": "square", **({"ARMOR_REST_PORT": port} if which == "rest" else {})}
        arguments = ("--ofp-listen-host", "127.0.0.1", "--ofp-tcp-listen-port", port) if which == "openflow" else ()
        assert port in ends_with(settings, *arguments, app=app)


def test_settings_are_read_from_the_group_armor_of_a_file(tmp_path):
    path = tmp_path / "armor.conf"
    path.write_text("[DEFAULT]\nverbose = False\n[armor]\ntopology = ring:3\nmode = agent\n", encoding="utf-8")
    with RunningApp("sdfast", "", tmp_path, arguments=("--config-file", str(path))) as app:
        state = app.get("/armor/state")
        assert (state["topology"], state["options"]["mode"]) == ("ring:3", "agent")


def test_demands_that_cannot_be_used_are_one_sentence(tmp_path):
    path = tmp_path / "demands.csv"
    path.write_text("src,dst,demand_mbps\ns1,s99,5\n", encoding="utf-8")
    line = ends_with({"ARMOR_TOPOLOGY": "gscale", "ARMOR_DEMANDS": str(path)}, app="kuijia")
    assert "line 2" in line
    assert "s99" in line
    assert "missing.csv" in ends_with({"ARMOR_TOPOLOGY": "gscale", "ARMOR_DEMANDS": "missing.csv"}, app="te")
    assert "capacity" in ends_with({"ARMOR_TOPOLOGY": "darkstrand", "ARMOR_DEMANDS": "uniform:5"}, app="rescaling")
