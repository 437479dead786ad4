"""Keys that earlier versions wrote into files of campaigns and runs, and their present names."""

from __future__ import annotations

from typing import Any

from experiments.campaign.values import Json

PRESENT = {
    "arm": "variant",
    "arms": "variants",
    "came_back": "backtracked",
    "came_back_back": "backtracked_back",
    "came_back_out": "backtracked_out",
    "cut": "failure",
    "cut_after_start_s": "failure_after_start_s",
    "cut_at_s": "failure_at_s",
    "cut_s": "failure_s",
    "cut_spread_ms": "failure_spread_ms",
    "cuts": "failures",
    "cwnd_at_cut": "cwnd_at_failure",
    "dead_ms": "down_ms",
    "first_detour_ms": "first_switchover_ms",
    "from_cut": "from_failure",
    "from_cut_ms": "from_failure_ms",
    "sent_again": "retransmitted",
    "told": "notified",
    "told_ms": "notified_ms",
}


def current_keys(value: Json) -> Json:
    """The object with the present names of all keys, also of those further down."""
    return {PRESENT.get(key, key): _current(each) for key, each in value.items()}


def _current(value: Any) -> Any:
    if isinstance(value, dict):
        return current_keys(value)
    return [_current(each) for each in value] if isinstance(value, list) else value
