"""The choice of a BFD interval, with sessions that come up at some intervals only."""

from __future__ import annotations

import pytest

from emulation import bfd_probe, status
from emulation.bfd_probe import BfdUnstableError


@pytest.fixture
def up_from_ms(monkeypatch):
    """Let sessions come up at this interval and longer ones only; time passes at once."""
    limits = {"up_from_ms": 0}
    now = {"interval_ms": 0, "s": 0.0}

    def set_interval(_groups, _settings, interval_ms):
        now["interval_ms"] = interval_ms

    def missing(_groups, _settings, _interval_ms):
        now["s"] += 1.0
        return ["s1 port 2", "s2 port 2"] if now["interval_ms"] < limits["up_from_ms"] else []

    monkeypatch.setattr(status, "set_bfd_interval", set_interval)
    monkeypatch.setattr(status, "bfd_status", lambda _groups, _settings: {})
    monkeypatch.setattr(status.time, "monotonic", lambda: now["s"])
    monkeypatch.setattr(status.time, "sleep", lambda seconds: now.update(s=now["s"] + seconds))
    monkeypatch.setattr(bfd_probe, "bfd_missing", missing)
    return limits


def test_an_interval_at_which_sessions_do_not_come_up_gives_way_to_a_longer_one(up_from_ms):
    up_from_ms["up_from_ms"] = 20
    choice = bfd_probe.probe_bfd_interval([], {}, (5, 20, 50), watch_s=1.0)
    assert (choice.interval_ms, choice.stable, choice.flaps) == (20, True, ((5, 2), (20, 0)))


def test_sessions_that_come_up_at_no_interval_are_an_error(up_from_ms):
    up_from_ms["up_from_ms"] = 1000
    with pytest.raises(
        BfdUnstableError, match="BFD sessions with 50 ms still missing after 30 s: s1 port 2, s2 port 2"
    ):
        bfd_probe.probe_bfd_interval([], {}, (5, 20, 50), watch_s=1.0)
