"""Set-up says in one sentence what it lacks, its pins cover what it installs, and plain Ryu works."""

from __future__ import annotations

import base64
import os
import shutil
import socket
import subprocess
import sys
import zipfile
from importlib.metadata import requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from experiments.loadgen.ports import free_port
from scripts.patch_ryu import AFTER, BEFORE, patch, patched
from tests.patience import patient_s, wait_until
from tests.quality.layers import ROOT

INPUTS = ("setup.py", "pyproject.toml", "requirements", "scripts")
POLICY = "/usr/sbin/policy-rc.d"
# What set-up may call besides the fakes; nothing else is on its PATH, so sudo and apt are never the real ones.
TOOLS = ("bash", "cat", "chmod", "cut", "dirname", "env", "flock", "grep", "rm", "sed", "sha256sum", "tee")

WEBSOCKET_APP = """
from ryu.app.wsgi import ControllerBase, Response, WSGIApplication, route, websocket
from ryu.base import app_manager

class Pages(ControllerBase):
    @route("pages", "/hello", methods=["GET"])
    def hello(self, req, **_):
        return Response(content_type="text/plain", body=b"hello")

    @websocket("socket", "/socket")
    def talk(self, ws):
        ws.send("first")

class App(app_manager.RyuApp):
    _CONTEXTS = {"wsgi": WSGIApplication}

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        kwargs["wsgi"].register(Pages, {})
"""


class Sandbox:
    """A copy of the set-up files, and a PATH on which the system's tools are fakes that log their calls."""

    def __init__(self, folder: Path) -> None:
        self.root, self.bin, self.calls = folder / "armor", folder / "bin", folder / "calls"
        self.bin.mkdir()
        for name in INPUTS:
            source, target = ROOT / name, self.root / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copytree(source, target) if source.is_dir() else shutil.copy(source, target)
        for tool in TOOLS:
            (self.bin / tool).symlink_to(shutil.which(tool) or f"{tool}-is-missing")
        self.calls.touch()

    def fake(self, name: str, body: str) -> None:
        script = self.bin / name
        script.write_text(f'#!/bin/sh\necho "{name} $*" >> {self.calls}\n{body}\n', encoding="utf-8")
        script.chmod(0o755)

    def run(self, **variables: str) -> subprocess.CompletedProcess[str]:
        environment = {"PATH": str(self.bin), "HOME": str(self.root), **variables}
        command = [str(self.root / "scripts" / "setup.sh")]
        return subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=patient_s(300),
        )


@pytest.fixture
def sandbox(tmp_path):
    if not Path("/usr/bin/dpkg-query").exists():
        pytest.skip("set-up runs on Debian and Ubuntu")
    box = Sandbox(tmp_path)
    box.fake("id", "echo 1000")
    box.fake("dpkg-query", "exit 1")
    return box


def assert_one_sentence(outcome, *words):
    assert outcome.returncode == 2, outcome
    lines = outcome.stderr.splitlines()
    assert len(lines) == 1, lines
    assert lines[0].startswith("setup: ")
    for word in words:
        assert word in lines[0]


def test_missing_right_is_one_sentence_that_names_a_package(sandbox):
    outcome = sandbox.run()
    assert_one_sentence(outcome, "openvswitch-switch", "needs root", "no sudo", "run make as root")
    assert "apt-get" not in sandbox.calls.read_text()


def test_refused_sudo_is_one_sentence(sandbox):
    sandbox.fake("sudo", "exit 1")
    assert_one_sentence(sandbox.run(), "sudo refused")


@pytest.mark.parametrize("step", ["update", "install"])
def test_unreachable_debian_registry_is_one_sentence_and_the_service_policy_is_taken_back(sandbox, step):
    body = f'case "$*" in *apt-get*" {step}"*) echo "E: no route to the mirror"; exit 100;; esac'
    sandbox.fake("sudo", body)
    assert_one_sentence(sandbox.run(), "apt-get", "no route to the mirror", ".venv-setup.log")
    calls = sandbox.calls.read_text()
    assert f"tee {POLICY}" in calls or Path(POLICY).exists()
    assert calls.count(f"tee {POLICY}") == calls.count(f"rm -f {POLICY}")


@pytest.mark.slow
def test_unreachable_python_registry_is_one_sentence_and_leaves_no_stamp(sandbox):
    sandbox.fake("dpkg-query", "echo ii")
    outcome = sandbox.run(PIP_NO_INDEX="1", PIP_FIND_LINKS="")
    assert_one_sentence(outcome, "pip cannot install", "pbr")
    assert not (sandbox.root / ".venv" / "armor-setup.stamp").exists()


@pytest.mark.slow
def test_a_package_of_another_content_is_refused(sandbox, tmp_path):
    sandbox.fake("dpkg-query", "echo ii")
    index = tmp_path / "index"
    index.mkdir()
    lines = (ROOT / "requirements" / "build_hashes.txt").read_text(encoding="utf-8").splitlines()
    for pin in (Requirement(line.rstrip(" \\")) for line in lines if "==" in line):
        (specifier,) = pin.specifier
        stem = f"{pin.name}-{specifier.version}"
        with zipfile.ZipFile(index / f"{stem}-py3-none-any.whl", "w") as wheel:
            wheel.writestr(f"{stem}.dist-info/METADATA", f"Name: {pin.name}\nVersion: {specifier.version}\n")
    outcome = sandbox.run(PIP_NO_INDEX="1", PIP_FIND_LINKS=str(index))
    assert_one_sentence(outcome, "pip cannot install", "DO NOT MATCH THE HASHES")
    assert not (sandbox.root / ".venv" / "armor-setup.stamp").exists()


def test_proxy_reaches_apt_through_sudo(sandbox):
    sandbox.fake("sudo", 'case "$*" in *apt-get*) exit 100;; esac')
    sandbox.run(http_proxy="http://proxy.invalid:3128")
    assert "sudo env http_proxy=http://proxy.invalid:3128 apt-get" in sandbox.calls.read_text()


def pins() -> list[Requirement]:
    lines = (ROOT / "requirements" / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return [Requirement(line) for line in lines if line and not line.startswith("#")]


@pytest.mark.parametrize("python", ["3.10", "3.11", "3.12", "3.13"])
def test_every_requirement_has_one_pin_that_satisfies_it(python):
    environment = {"python_version": python, "python_full_version": f"{python}.0", "extra": "all"}
    valid = [pin for pin in pins() if pin.marker is None or pin.marker.evaluate(environment)]
    versions: dict[str, str] = {}
    for pin in valid:
        (specifier,) = pin.specifier
        assert specifier.operator == "=="
        assert canonicalize_name(pin.name) not in versions, f"{pin.name} is pinned twice for Python {python}"
        versions[canonicalize_name(pin.name)] = specifier.version
    wanted = [Requirement(line) for line in requires("armor-sdn") or []]
    assert wanted
    for requirement in wanted:
        version = versions.get(canonicalize_name(requirement.name))
        assert version, f"{requirement.name} has no pin for Python {python}"
        assert requirement.specifier.contains(version), f"{requirement} is pinned to {version}"


def locked() -> list[tuple[Requirement, int]]:
    """Requirements of the lists of hashes, each with the number of its hashes."""
    found = []
    for name in ("hashes.txt", "build_hashes.txt"):
        text = (ROOT / "requirements" / name).read_text(encoding="utf-8").replace("\\\n", "")
        for line in text.splitlines():
            words = line.split(" --hash=sha256:")
            if not line.startswith("#"):
                found.append((Requirement(words[0]), len({word.strip() for word in words[1:]})))
    return found


@pytest.mark.parametrize("python", ["3.10", "3.11", "3.12", "3.13"])
def test_the_lists_of_hashes_are_those_of_the_pins(python):
    """`make lock` writes them; with `--no-deps`, what they leave out would be missing."""
    environment = {"python_version": python, "python_full_version": f"{python}.0", "extra": "all"}

    def versions(some: list[Requirement]) -> dict[str, str]:
        valid = [each for each in some if each.marker is None or each.marker.evaluate(environment)]
        return {canonicalize_name(each.name): str(each.specifier) for each in valid}

    entries = locked()
    assert all(number > 0 for _, number in entries)
    hashed, pinned = versions([requirement for requirement, _ in entries]), versions(pins())
    assert hashed == {name: pinned[name] for name in hashed}
    wanted = [Requirement(line) for line in requires("armor-sdn") or []]
    of_all = [each for each in wanted if each.marker is None or each.marker.evaluate({**environment, "extra": "all"})]
    assert {canonicalize_name(each.name) for each in of_all} <= hashed.keys()


def test_patch_replaces_the_dropped_import_once_and_is_idempotent(tmp_path):
    file = tmp_path / "wsgi.py"
    file.write_text(f"class A:\n{BEFORE}    x = ALREADY_HANDLED\n", encoding="utf-8")
    patch(file)
    once = file.read_text(encoding="utf-8")
    patch(file)
    assert once == file.read_text(encoding="utf-8") == f"class A:\n{AFTER}    x = ALREADY_HANDLED\n"
    assert list(tmp_path.iterdir()) == [file]


def test_an_audit_that_cannot_be_made_is_said():
    nobody = f"http://127.0.0.1:{free_port()}/"
    command, environment = [str(ROOT / "scripts" / "audit.sh")], {**os.environ, "ARMOR_AUDIT_URL": nobody}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=patient_s(60))
    assert done.stdout == f"audit: left out: no answer from {nobody}, the database of known vulnerabilities\n"


@pytest.mark.parametrize("source", ["", BEFORE + BEFORE])
def test_patch_refuses_another_ryu(source):
    with pytest.raises(ValueError, match=r"not that of Ryu 4\.34"):
        patched(source)


def ask(port: int, request: str) -> bytes:
    """Send one request to the local server once it listens, and return all that comes until it closes."""

    def connected() -> socket.socket | None:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=patient_s(60))
        except ConnectionRefusedError:
            return None

    with wait_until(connected, "ryu-manager listens", 120) as connection:
        connection.sendall(request.encode())
        return b"".join(iter(lambda: connection.recv(4096), b""))


@pytest.mark.slow
@pytest.mark.ryu
def test_plain_ryu_manager_serves_rest_and_websockets(tmp_path):
    app = tmp_path / "pages_app.py"
    app.write_text(WEBSOCKET_APP, encoding="utf-8")
    openflow, http = free_port(), free_port()
    command = [str(Path(sys.executable).parent / "ryu-manager"), "--wsapi-host", "127.0.0.1", "--wsapi-port", str(http)]
    command += ["--ofp-listen-host", "127.0.0.1", "--ofp-tcp-listen-port", str(openflow), str(app)]
    log = tmp_path / "log"
    with log.open("wb") as out, subprocess.Popen(command, stdout=out, stderr=out, cwd=tmp_path) as manager:
        try:
            page = ask(http, "GET /hello HTTP/1.0\r\n\r\n")
            key = base64.b64encode(os.urandom(16)).decode()
            upgrade = f"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: {key}\r\n"
            talk = ask(http, f"GET /socket HTTP/1.1\r\nHost: a\r\n{upgrade}Sec-WebSocket-Version: 13\r\n\r\n")
        finally:
            manager.terminate()
    assert page.startswith(b"HTTP/1.1 200")
    assert page.endswith(b"\r\n\r\nhello")
    # One text frame, one close frame, and nothing that Ryu adds after the websocket has answered by itself.
    assert talk.startswith(b"HTTP/1.1 101")
    assert talk.endswith(b"\r\n\r\n\x81\x05first\x88\x00")
    assert "Traceback" not in log.read_text(encoding="utf-8")
