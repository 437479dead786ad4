"""Attempts that are made again until one works, with increasing pauses, while they are wanted."""

from __future__ import annotations

from collections.abc import Callable

from ryu.lib import hub

from ryu_apps.control.faults import Faults

FIRST_RETRY_S, MAX_RETRY_S = 0.5, 30.0


def until_done(act: Callable[[], None], wanted: Callable[[], bool], faults: Faults, what: str, node: str) -> None:
    """Act until that raises nothing; what it raises is reported as an error of `what` at a switch."""
    pause_s, done = FIRST_RETRY_S, False
    while not done and wanted():
        with faults.surfaced(what, node):
            act()
            done = True
        if not done:
            hub.sleep(pause_s)
            pause_s = min(2 * pause_s, MAX_RETRY_S)
