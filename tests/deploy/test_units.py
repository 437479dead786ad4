"""The systemd units: systemd accepts them, their commands are accepted, and they keep the documented rights."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from dataplane.protect_service import parse_options as protect_options
from experiments.cli.agent import add_arguments
from experiments.cli.parser import ArmorParser
from ovsdb_backup.agent import parse_options as agent_options
from tests.rights import UNITS_FOLDER, capabilities_of, service_of

REPOSITORY = Path(__file__).resolve().parents[2]
UNITS = sorted(UNITS_FOLDER.glob("*.service"))
OPTIONS = "--private-key s4.key --certificate s4.pem --ca-cert authority.pem"
CAPABILITIES = {
    "armor-agent@.service": {"CAP_SYS_NICE"},
    "armor-controller.service": set(),
    "armor-protect@.service": {"CAP_BPF", "CAP_NET_ADMIN", "CAP_PERFMON"},
}


def words_of(name: str) -> list[str]:
    text = service_of(name)["ExecStart"].replace("%i", "s1")
    given = {"ADDRESS": "10.254.0.4", "DEVICE": "s4-ppx", "LISTEN": "unix:/run/armor/s4.sock"}
    return re.sub(r"\$\{(\w+)\}", lambda found: given[found[1]], text).replace("$OPTIONS", OPTIONS).split()


def test_every_unit_keeps_only_the_capabilities_that_its_process_needs():
    assert {unit.name: set(capabilities_of(unit.name)) for unit in UNITS} == CAPABILITIES
    for unit in UNITS:
        kept = service_of(unit.name)
        assert (kept["NoNewPrivileges"], kept["ProtectSystem"], kept["Restart"]) == ("yes", "strict", "always")


def test_their_commands_are_accepted():
    program, command, *rest = words_of("armor-agent@.service")
    assert (program, command) == ("/opt/armor/.venv/bin/armor", "agent")
    parser = ArmorParser(prog="armor agent", description="")
    add_arguments(parser)
    given = parser.parse_strictly(rest)
    assert given.bridge == "s1"
    sockets = ["--bridge", "s1", "--database", "unix:db.sock", "--management", "unix:s1.mgmt"]
    assert agent_options([*sockets, *given.options]).realtime

    program, *rest = words_of("armor-protect@.service")
    assert rest[:2] == ["-m", "dataplane.protect_service"]
    assert protect_options(rest[2:]).device == "s4-ppx"

    program, option, _file, app = words_of("armor-controller.service")
    assert (program, option) == ("/opt/armor/.venv/bin/ryu-manager", "--config-file")
    assert (REPOSITORY / Path(app).relative_to("/opt/armor")).is_file()


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_systemd_accepts_it(unit, tmp_path):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    for program in ("armor", "ryu-manager", "python"):
        (tmp_path / program).touch(mode=0o755)
    copy = tmp_path / unit.name
    copy.write_text(unit.read_text(encoding="utf-8").replace("/opt/armor/.venv/bin", str(tmp_path)), encoding="utf-8")
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(copy)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
