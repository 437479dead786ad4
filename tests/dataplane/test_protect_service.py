"""The service beside a switch, with no more rights than its systemd unit leaves it."""

from __future__ import annotations

import json
import socket
import sys
from pathlib import Path

import pytest

from dataplane.devices import add_virtual_port
from machine.places import child, inside, private_namespace
from tests.rights import capabilities_of, with_capabilities

pytestmark = pytest.mark.emulation


def test_it_attaches_its_program_with_the_capabilities_of_its_unit(tmp_path: Path) -> None:
    at = tmp_path / "s1.sock"
    service = (sys.executable, "-m", "dataplane.protect_service", "--address", "10.254.0.1", "--device", "inner")
    command = with_capabilities(capabilities_of("armor-protect@.service"), [*service, "--listen", f"unix:{at}"])
    with private_namespace() as pid:
        add_virtual_port(pid, "outer", "inner")
        with child(inside(pid, command)) as process, socket.socket(socket.AF_UNIX) as client:
            assert process.stdout is not None
            assert json.loads(process.stdout.readline())["event"] == "ready"
            client.connect(str(at))
            client.sendall(b'{"connections": [[1, "10.254.0.1", "10.254.0.2", 5]]}\n')
            answer = json.loads(client.makefile().readline())
            assert answer.get("configured"), answer
            assert json.loads(process.stdout.readline()) == {"event": "attached", "device": "inner"}
