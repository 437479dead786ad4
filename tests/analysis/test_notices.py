"""Notification frames: who knew when is what a flood over a network shows, and no frame is a hop of its packet."""

from __future__ import annotations

import random
from collections import deque

import pytest

from experiments.analysis.frames import Frame
from experiments.analysis.notices import Notice, knowledge, notices_of
from experiments.analysis.packet_counts import Clock, sightings_of
from experiments.analysis.timeline import Window
from mininet_topos.catalogue import load_topology
from mininet_topos.topology import Direction
from ryu_apps.plan.ids import Status
from ryu_apps.plan.notification import AFRESH
from ryu_apps.plan.recovery_rows import tag_tci

PING = b"\x08\x00\x00\x00\x00\x01\x00\x09"
HOP = Direction("s1", "s2")


def flood(topology, start, begin_s):
    """Frames of a flood with a ms for each hop, and the hops from its start to every switch (breadth first)."""
    frames, far, waiting = [], {start: 0}, deque([start])
    while waiting:
        node = waiting.popleft()
        for link in topology.links_from[node]:
            frames.append(Notice(begin_s + far[node] / 1000, link.direction))
            if link.dst not in far:
                far[link.dst] = far[node] + 1
                waiting.append(link.dst)
    return frames, far


@pytest.mark.parametrize("seed", range(5))
def test_switches_know_when_the_flood_leaves_or_reaches_them(seed):
    darkstrand = load_topology("darkstrand")
    start = random.Random(seed).choice(darkstrand.node_names)
    frames, far = flood(darkstrand, start, 101.0)
    random.Random(seed).shuffle(frames)
    found = knowledge(darkstrand.node_names, frames, Window(100.0, 200.0), detected_s=100.5)
    wanted = {node: 500.0 + max(far[node] - 1, 0) for node in darkstrand.node_names}
    assert found.knew_ms == pytest.approx(wanted)
    assert found.to_json()["last_ms"] == pytest.approx(max(wanted.values()))
    assert (found.frames, found.since) == (len(frames), "detection")
    assert found.frames <= 2 * len(darkstrand.link_ids)


def test_frames_outside_the_failures_time_belong_to_others():
    frames = [Notice(t_s, HOP) for t_s in (99.9, 100.0, 100.2, 101.0)]
    found = knowledge(("s1", "s2", "s3"), frames, Window(100.0, 101.0))
    assert found.frames == 2
    assert found.since == "failure"
    assert found.knew_ms == {"s1": 0.0, "s2": 0.0, "s3": None}


def test_nobody_knows_without_frames():
    found = knowledge(("s1",), (), Window(0.0, 1.0), detected_s=0.5)
    assert found.to_json() == {
        "frames": 0,
        "since": "detection",
        "switches": 1,
        "knew": 0,
        "last_ms": None,
        "knew_ms": {"s1": None},
    }


@pytest.mark.parametrize("pcp", range(8))
def test_a_frame_is_either_a_notification_or_a_hop_of_its_packet(pcp):
    frame = Frame(5_000_000_000, tag_tci(7, pcp), 1, 2, 1, PING)
    notices, hops = (read([frame], HOP, Clock(0)) for read in (notices_of, sightings_of))
    assert len(notices) == (pcp in (Status.NOTIFICATION, AFRESH | Status.NOTIFICATION))
    assert len(notices) + len(hops) == 1


def test_an_untagged_frame_is_no_notification():
    assert notices_of([Frame(1, None, 1, 2, 1, PING)], HOP, Clock(0)) == []
