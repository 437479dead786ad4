"""The store against a real ovsdb-server: atomic, durable, and loud when something fails."""

from __future__ import annotations

import json
import random
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from machine.json_rpc import JsonRpcClient, JsonRpcError
from mininet_topos.errors import BadInputError
from ryu_apps.backup_database import store as store_module
from ryu_apps.backup_database.decide.tables import PLAN_TABLES, BackupDataError, plan_rows, write_operations
from ryu_apps.backup_database.schema import DATABASE, SCHEMA_PATH
from ryu_apps.backup_database.store import BackupStore, BackupStoreError, StaleGenerationError
from ryu_apps.plan.rows import RulePlan
from tests.examples import examples
from tests.ovsdb_backup.plans import PLANS, PORT_LINKS, SMALL_PLAN, plan_with
from tests.ovsdb_backup.server import ovsdb_server

pytestmark = [pytest.mark.ovs, pytest.mark.filterwarnings("ignore:.*Eventlet is deprecated")]


@pytest.fixture
def server():
    with ovsdb_server({DATABASE: SCHEMA_PATH}) as found:
        yield found


@pytest.fixture(scope="module")
def shared_server():
    with ovsdb_server({DATABASE: SCHEMA_PATH}) as found:
        yield found


def stored_rows(server) -> int:
    """Rows of all generations and bridges that the database holds."""
    client = JsonRpcClient(server.remote)
    selects = [{"op": "select", "table": name, "where": []} for name in PLAN_TABLES]
    results = client.call("transact", [DATABASE, *selects])
    client.close()
    return sum(len(result["rows"]) for result in results)


@settings(examples(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(plan=PLANS, ports=PORT_LINKS)
def test_what_is_read_is_what_was_written(shared_server, plan, ports):
    store = BackupStore(shared_server.remote, chunk_rows=2)
    generation = store.replace_plan("s1", plan, ports)
    found = store.read_plan("s1")
    assert (found.generation, found.plan, dict(found.ports)) == (generation, plan, ports)


def test_a_bridge_without_plan_reads_as_none(server):
    store = BackupStore(server.remote)
    assert store.read_plan("s1") is None
    assert store.generation("s1") == 0


def test_a_new_plan_leaves_no_row_of_the_old_one(server):
    store = BackupStore(server.remote)
    first = store.replace_plan("s1", plan_with(30))
    second = store.replace_plan("s1", plan_with(5, out_port=3))
    assert second > first
    assert store.read_plan("s1").plan == plan_with(5, out_port=3)
    assert stored_rows(server) == 6


def test_the_same_plan_again_is_not_written_again(server):
    store = BackupStore(server.remote)
    assert store.replace_plan("s1", SMALL_PLAN) == store.replace_plan("s1", SMALL_PLAN)
    assert store.replace_plan("s1", SMALL_PLAN, {2: "s1-s2"}) == store.generation("s1") > 1


def test_bridges_do_not_touch_each_other(server):
    store = BackupStore(server.remote)
    store.replace_plan("s1", plan_with(3))
    store.replace_plan("s2", plan_with(4, out_port=3))
    store.replace_plan("s2", plan_with(1))
    assert store.read_plan("s1").plan == plan_with(3)
    assert stored_rows(server) == 6


def test_of_two_writers_at_once_the_slower_is_refused_and_its_rows_are_gone(server, monkeypatch):
    slow, fast = BackupStore(server.remote), BackupStore(server.remote)
    write = slow._write

    def write_while_another_writer_comes(*given):
        write(*given)
        fast.replace_plan("s1", plan_with(4, out_port=3))

    monkeypatch.setattr(slow, "_write", write_while_another_writer_comes)
    with pytest.raises(StaleGenerationError, match="another writer was faster"):
        slow.replace_plan("s1", plan_with(9))
    assert fast.read_plan("s1").plan == plan_with(4, out_port=3)
    assert stored_rows(server) == 5


def start_write(server, plan, transactions: int) -> JsonRpcClient:
    """Claim a generation and write the first rows of a plan, as a writer does that then stands still or ends."""
    client = JsonRpcClient(server.remote)
    mine = store_module._claim(client, "s1", store_module._bridge(client, "s1"))
    for operations in islice(write_operations("s1", mine, plan_rows(plan), 1), transactions):
        store_module._transact(client, operations)
    return client


def test_rows_of_broken_writes_go_with_the_next_claim(server):
    store = BackupStore(server.remote)
    store.replace_plan("s1", SMALL_PLAN)
    held = stored_rows(server)
    for _broken in range(5):
        start_write(server, plan_with(30, out_port=3), 7).close()
        assert stored_rows(server) == held + 7
    assert store.read_plan("s1").plan == SMALL_PLAN
    store.replace_plan("s1", plan_with(4, out_port=3))
    assert stored_rows(server) == 5


@pytest.mark.parametrize("is_new", [True, False])
def test_a_writer_is_refused_once_another_one_has_begun_and_leaves_nothing(server, monkeypatch, is_new):
    first = BackupStore(server.remote)
    if not is_new:
        first.replace_plan("s1", SMALL_PLAN)
    write, later = first._write, []

    def write_while_another_writer_begins(*given):
        later.append(start_write(server, plan_with(30, out_port=3), 7))
        write(*given)

    monkeypatch.setattr(first, "_write", write_while_another_writer_begins)
    held = stored_rows(server)
    with pytest.raises(StaleGenerationError, match="another writer of s1 began after this one"):
        first.replace_plan("s1", plan_with(9))
    later[0].close()
    assert stored_rows(server) == held + 7
    assert (first.read_plan("s1") is None) == is_new


def meanwhile(monkeypatch, act) -> None:
    """Let something happen right after the store has first looked at the Bridge row."""
    look = store_module._bridge

    def look_then_act(client, bridge):
        found = look(client, bridge)
        monkeypatch.setattr(store_module, "_bridge", look)
        act()
        return found

    monkeypatch.setattr(store_module, "_bridge", look_then_act)


def test_reader_that_is_reordered_by_a_writer_reads_the_new_plan_whole(server, monkeypatch):
    store = BackupStore(server.remote)
    store.replace_plan("s1", SMALL_PLAN)
    meanwhile(monkeypatch, lambda: store.replace_plan("s1", plan_with(7, out_port=3)))
    assert store.read_plan("s1").plan == plan_with(7, out_port=3)


@pytest.mark.parametrize("is_new", [True, False])
def test_writer_whose_number_was_taken_takes_the_next(server, monkeypatch, is_new):
    store = BackupStore(server.remote)
    if not is_new:
        store.replace_plan("s1", SMALL_PLAN)

    def take_a_number() -> None:
        client = JsonRpcClient(server.remote)
        store_module._claim(client, "s1", store_module._bridge(client, "s1"))
        client.close()

    meanwhile(monkeypatch, take_a_number)
    generation = store.replace_plan("s1", plan_with(7, out_port=3))
    assert generation == 2 + (not is_new)
    assert store.read_plan("s1").plan == plan_with(7, out_port=3)


@pytest.mark.parametrize("text", ["a\0b", "\ud800"])
def test_a_name_that_the_database_cannot_hold_is_refused_before_anything_is_written(server, text):
    store = BackupStore(server.remote)
    for bridge, plan, ports in ((text, SMALL_PLAN, {}), ("s1", RulePlan(1, text), {}), ("s1", SMALL_PLAN, {2: text})):
        with pytest.raises(BadInputError, match="backup database"):
            store.replace_plan(bridge, plan, ports)
    assert stored_rows(server) == 0
    assert store.generation("s1") == 0


@pytest.mark.parametrize("act", [BackupStore.read_plan, BackupStore.generation])
def test_every_call_without_a_server_is_one_sentence(act):
    with pytest.raises(BackupStoreError, match=r"unix:/nowhere\.sock"):
        act(BackupStore("unix:/nowhere.sock"), "s1")


def test_many_writers_at_once_each_are_acknowledged_or_refused_and_one_plan_remains(server):
    acknowledged: dict[int, int] = {}
    errors: list[Exception] = []

    def write(number: int) -> None:
        try:
            acknowledged[BackupStore(server.remote).replace_plan("s1", plan_with(20, number))] = number
        except StaleGenerationError as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(2, 8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = BackupStore(server.remote).read_plan("s1")
    assert len(acknowledged) + len(errors) == 6
    assert found.plan == plan_with(20, acknowledged[found.generation])
    assert found.generation == max(acknowledged)


FIRST_USE_IN_A_THREAD = """
import os, sys, threading
from machine.json_rpc import JsonRpcClient, JsonRpcError
def use():
    try:
        JsonRpcClient("unix:/nowhere", 0.1)
    except JsonRpcError:
        print("used", "eventlet" in sys.modules, flush=True)
thread = threading.Thread(target=use)
thread.start()
thread.join(60)
os._exit(thread.is_alive())
"""


def test_a_thread_that_is_the_first_to_use_the_database_can_be_waited_for():
    done = subprocess.run([sys.executable, "-c", FIRST_USE_IN_A_THREAD], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "used False\n"), done.stderr


def test_a_refused_row_raises_and_the_old_plan_stays_with_no_litter(server):
    store = BackupStore(server.remote, chunk_rows=2)
    store.replace_plan("s1", SMALL_PLAN)
    with pytest.raises(BackupStoreError, match="constraint"):
        store.replace_plan("s1", plan_with(5, out_port=0xFFFF))
    assert store.read_plan("s1").plan == SMALL_PLAN
    assert stored_rows(server) == 4


def test_a_row_that_was_edited_behind_our_back_is_noticed(server):
    store = BackupStore(server.remote)
    store.replace_plan("s1", SMALL_PLAN)
    edit = [DATABASE, {"op": "update", "table": "Backup", "where": [["destination", "==", 1001]], "row": {"tag_id": 4}}]
    subprocess.run(["ovsdb-client", "transact", server.remote, json.dumps(edit)], check=True, capture_output=True)
    with pytest.raises(
        BackupDataError, match="delete its row of table Bridge, and the controller writes the plan again"
    ):
        store.read_plan("s1")
    forget = [DATABASE, {"op": "delete", "table": "Bridge", "where": [["name", "==", "s1"]]}]
    subprocess.run(["ovsdb-client", "transact", server.remote, json.dumps(forget)], check=True, capture_output=True)
    store.replace_plan("s1", SMALL_PLAN)
    assert store.read_plan("s1").plan == SMALL_PLAN
    assert stored_rows(server) == 4


def test_no_server_is_one_sentence_with_the_address():
    with pytest.raises(BackupStoreError, match=r"unix:/nowhere\.sock.*start it"):
        BackupStore("unix:/nowhere.sock").replace_plan("s1", SMALL_PLAN)


@pytest.mark.parametrize("remote", ["db.sock", "", "http://x"])
def test_an_address_of_no_known_kind_is_refused(remote):
    with pytest.raises(BackupStoreError, match="no database address"):
        BackupStore(remote).generation("s1")


def test_a_server_without_the_database_is_named():
    with tempfile.TemporaryDirectory(prefix="armor-") as folder:
        other = Path(folder) / "other.ovsschema"
        other.write_text('{"name": "Other", "version": "1.0.0", "tables": {}}', encoding="utf-8")
        refused = pytest.raises(BackupStoreError, match="no database Armor_Backup; create it")
        with ovsdb_server({"Other": other}) as server, refused:
            BackupStore(server.remote).generation("s1")


@pytest.mark.parametrize(("version", "repair"), [("99.0.0", "update Armor here"), ("2.0.0", "ovsdb-client convert")])
def test_another_version_of_the_schema_is_refused_with_its_repair(version, repair):
    with tempfile.TemporaryDirectory(prefix="armor-") as folder:
        other = Path(folder) / "other.ovsschema"
        other.write_text(json.dumps({"name": "Armor_Backup", "version": version, "tables": {}}), encoding="utf-8")
        refused = pytest.raises(BackupStoreError, match=f"has version {re.escape(version)}, this is .*{repair}")
        with ovsdb_server({DATABASE: other}) as server, refused:
            BackupStore(server.remote).generation("s1")


def test_a_server_that_never_answers_is_a_time_out():
    with tempfile.TemporaryDirectory(prefix="armor-") as folder:
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(f"{folder}/deaf.sock")
        listener.listen()
        with pytest.raises(BackupStoreError, match="was silent"):
            BackupStore(f"unix:{folder}/deaf.sock", timeout_s=0.2).generation("s1")
        listener.close()


def test_an_answer_that_came_while_this_process_slept_past_the_limit_counts(monkeypatch):
    wait = JsonRpcClient._wait

    def oversleep(client, deadline_s, **options):
        theirs.sendall(b'{"id":1,"result":"late","error":null}')
        time.sleep(max(0.0, deadline_s + 0.05 - time.monotonic()))
        return wait(client, deadline_s, **options)

    with tempfile.TemporaryDirectory(prefix="armor-") as folder, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{folder}/x.sock")
        listener.listen()
        client = JsonRpcClient(f"unix:{folder}/x.sock", timeout_s=0.2)
        theirs, _address = listener.accept()
        monkeypatch.setattr(JsonRpcClient, "_wait", oversleep)
        with theirs:
            assert client.call("anything", []) == "late"
        client.close()


def test_probe_of_the_server_is_answered_and_replies_with_odd_braces_are_read():
    answers: list[bytes] = []

    def serve(theirs: socket.socket) -> None:
        theirs.recv(65536)
        theirs.sendall(b'{"method":"echo","params":["}"],"id":"probe"}')
        answers.append(theirs.recv(65536))
        theirs.sendall(b'{"id":1,"result":"{{{","error":nu')
        theirs.sendall(b"ll}")

    with tempfile.TemporaryDirectory(prefix="armor-") as folder:
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(f"{folder}/x.sock")
        listener.listen()
        client = JsonRpcClient(f"unix:{folder}/x.sock", timeout_s=10)
        theirs, _address = listener.accept()
        thread = threading.Thread(target=serve, args=(theirs,))
        thread.start()
        assert client.call("anything", []) == "{{{"
        thread.join()
        client.close()
        theirs.close()
        listener.close()
    assert json.loads(answers[0]) == {"id": "probe", "result": ["}"], "error": None}


def test_a_call_on_a_server_that_ended_raises(server):
    client = JsonRpcClient(server.remote)
    server.kill_hard()
    with pytest.raises(JsonRpcError, match="broke off"):
        client.call("list_dbs", [])


@pytest.mark.parametrize("seed", range(8))
def test_acknowledged_plans_survive_kill_9_at_any_moment(server, seed):
    """A plan that was acknowledged is there after a crash, unless a later one became current whole."""
    chance = random.Random(seed)
    acknowledged = plan_with(0)
    tried = [acknowledged]
    BackupStore(server.remote).replace_plan("s1", acknowledged)
    for round_number in range(3, 8):
        wanted = plan_with(300, out_port=round_number)
        tried.append(wanted)
        killer = threading.Timer(chance.uniform(0.0, 0.06), server.kill_hard)
        killer.start()
        try:
            BackupStore(server.remote, timeout_s=5, chunk_rows=40).replace_plan("s1", wanted)
            acknowledged = wanted
        except BackupStoreError:
            pass
        killer.join()
        server.start()
        found = BackupStore(server.remote).read_plan("s1").plan
        assert found in tried
        assert tried.index(found) >= tried.index(acknowledged)
        acknowledged = found
