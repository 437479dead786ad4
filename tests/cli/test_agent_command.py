"""`armor agent`: what it refuses, the database that it has an ovsdb-server serve, and that it ends what it starts."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from experiments.cli.agent import _keep_running
from experiments.cli.main import main
from machine.json_rpc import call
from mininet_topos.errors import BadInputError
from ovsdb_backup.local_switch import LocalSwitch, LocalSwitchError
from tests.dummy_ovs import DummyOvs
from tests.interrupting import interrupted_starts


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ([], "takes one of BRIDGE, --all and --prepare"),
        (["s1", "--all"], "takes one of BRIDGE, --all and --prepare"),
        (["s1", "--json"], "armor agent has no option '--json'"),
        (["--all", "--run-dir", "{folder}"], "no ovsdb-server answers at {folder}/db.sock"),
    ],
)
def test_what_it_cannot_do_it_says(words, reason, tmp_path, capsys):
    assert main(["agent", *(word.format(folder=tmp_path) for word in words)]) != 0
    assert reason.format(folder=tmp_path) in capsys.readouterr().err


@pytest.mark.ovs
def test_the_database_is_made_once_and_served_again_after_a_restart_of_its_server():
    with DummyOvs() as ovs:
        ovs.vsctl("add-br", "s1", "--", "add-br", "s2")
        switch, file = LocalSwitch(ovs.folder), ovs.folder / "new" / "backup.db"
        assert switch.bridges() == ["s1", "s2"]
        switch.require_bridge("s2")
        with pytest.raises(BadInputError, match=r"no bridge 's3'; name one of s1, s2"):
            switch.require_bridge("s3")
        with pytest.raises(LocalSwitchError, match="start ovsdb-server with --pidfile"):
            switch.serve_backup_database(file)
        write_pid(ovs)
        assert main(["agent", "--prepare", "--run-dir", str(ovs.folder), "--backup-file", str(file)]) == 0
        assert "Armor_Backup" in call(switch.database_socket, "list_dbs", [])
        before = file.read_bytes()
        assert not switch.serve_backup_database(file)
        call(control(ovs), "ovsdb-server/remove-db", ["Armor_Backup"])  # as a restart does
        assert switch.serve_backup_database(file)
        assert file.read_bytes() == before


@pytest.mark.ovs
def test_a_file_that_is_no_database_is_refused(tmp_path):
    file = tmp_path / "notes.txt"
    file.write_text("notes", encoding="utf-8")
    with DummyOvs() as ovs:
        write_pid(ovs)
        with pytest.raises(LocalSwitchError, match=r"ovsdb-server does not serve .*notes\.txt"):
            LocalSwitch(ovs.folder).serve_backup_database(file)
    assert file.read_text(encoding="utf-8") == "notes"


def control(ovs: DummyOvs) -> Path:
    """Control socket of its ovsdb-server."""
    (found,) = ovs.folder.glob("ovsdb-server.*.ctl")
    return found


def write_pid(ovs: DummyOvs) -> None:
    """Leave the process id where --pidfile would."""
    (ovs.folder / "ovsdb-server.pid").write_text(control(ovs).name.split(".")[1] + "\n", encoding="ascii")


def test_ctrl_c_while_an_agent_is_being_started_ends_it(monkeypatch):
    with interrupted_starts(monkeypatch) as started, pytest.raises(KeyboardInterrupt):
        _keep_running({"s1": ["sleep", "600"]}, lambda: None)
    assert [process.returncode for process in started] == [-signal.SIGTERM]
