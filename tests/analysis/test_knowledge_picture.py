"""The picture of who knew when: from the verdict alone, whatever was notified."""

from __future__ import annotations

import pytest

from experiments.charts.knowledge import draw_knowledge, knowledge_panels

NODES = [f"s{number}" for number in range(1, 101)]
FAILURE = {"kind": "silent", "what": "s1-s2", "link": ["s1", "s2"]}
RUN = {"scheme": "sdfast", "mode": "learned"}


def known(knew_ms):
    given = [value for value in knew_ms.values() if value is not None]
    counts = {"switches": len(knew_ms), "knew": len(given), "last_ms": max(given, default=None)}
    return {"frames": 62, "since": "detection", **counts, "knew_ms": knew_ms}


WHOLE = known({node: number / 7 - 1 for number, node in enumerate(NODES)})


@pytest.mark.parametrize(
    "notification",
    [
        None,
        known(dict.fromkeys(NODES)),
        known({"s1": -0.25, "s2": None}),
        WHOLE,
    ],
    ids=["off", "nobody", "one", "all"],
)
def test_every_outcome_is_drawn(notification, tmp_path):
    pytest.importorskip("matplotlib")
    panels = knowledge_panels([{**RUN, "failures": [{**FAILURE, "notification": notification}] * 2}])
    assert [panel.title for panel in panels] == ["sdfast, learned mode: silent failure of s1-s2"] * 2
    paths = [tmp_path / "knowledge.png", tmp_path / "knowledge.svg"]
    draw_knowledge(panels, paths, "title")
    assert paths[0].read_bytes().startswith(b"\x89PNG")
    assert paths[1].read_bytes().startswith(b"<?xml")


def test_a_note_says_how_many_frames_it_took_and_when_the_last_switch_knew():
    (panel,) = knowledge_panels([{**RUN, "failures": [{**FAILURE, "notification": WHOLE}]}])
    assert panel.note == "62 frames; 100 of 100 switches knew, the last after 13.1 ms"
    assert panel.beside == ["s1", "s2"]


def test_runs_that_broke_off_have_no_panel():
    assert knowledge_panels([{**RUN, "failures": []}]) == []
