"""What a person who runs `ryu-manager` reads."""

import json
import logging
import pkgutil
from types import SimpleNamespace

import pytest

pytest.importorskip("ryu", reason="Ryu is not installed")
from ryu_apps.control.controller_events import SENTENCES, ControllerEvents, sentence_of

pytestmark = pytest.mark.ryu


def test_an_event_goes_to_the_event_log_and_is_said(tmp_path, monkeypatch, caplog):
    monkeypatch.setenv("ARMOR_EVENTS", str(tmp_path / "events.jsonl"))
    events = ControllerEvents("controller", logging.getLogger("events"))
    with caplog.at_level(logging.INFO, logger="events"):
        events.write("port_status", node="s6", port_no=3, live=False)
    events.close()
    assert json.loads((tmp_path / "events.jsonl").read_text())["event"] == "port_status"
    assert caplog.messages == ["s6: port 3 is down"]


def test_a_return_that_had_nothing_to_undo_is_not_said():
    assert sentence_of("return_done", {"links": ["s6-s9"], "rounds": 0}) == ""
    assert sentence_of("return_done", {"links": ["s6-s9", "s1-s2"], "rounds": 2}) == "traffic is back on s6-s9, s1-s2"


def test_a_restoration_says_what_the_routes_avoid():
    changed = {"rows": 12, "switches": 3, "seconds": 0.01}
    said = "12 rows at 3 switches rewritten; routes avoid s6-s9"
    assert sentence_of("restoration_done", {"links": ["s6-s9"], **changed}) == said
    assert sentence_of("restoration_done", {"links": [], **changed}).endswith("routes avoid no link")
    assert sentence_of("restoration_done", {"links": ["s6-s9"], **changed, "rows": 0, "switches": 0}) == ""


def test_events_without_a_sentence_are_silent():
    assert "statistics" not in SENTENCES
    assert sentence_of("statistics", {}) == ""


def test_a_controller_that_nobody_reaches_says_what_may_be_the_reason():
    said = sentence_of("no_switch", {"seconds": 10.0, "address": "127.0.0.1:6653"})
    assert said.startswith("no switch of the topology has connected in 10 s.")
    assert "datapath=user" in said


@pytest.mark.parametrize(("seen", "said"), [((), ["no_switch"]), (("s1",), [])])
def test_it_says_so_only_when_no_switch_ever_came(seen, said):
    controller = pkgutil.resolve_name("ryu_apps.control.controller:Controller")
    written: list[str] = []
    events = SimpleNamespace(write=lambda event, **_fields: written.append(event))
    controller._say_if_lonely(SimpleNamespace(_seen=set(seen), events=events))
    assert written == said
