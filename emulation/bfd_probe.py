"""Try BFD intervals on a running network until one shows no flap."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from emulation import status
from emulation.decide.bfd import BfdChoice, choose_bfd_interval
from emulation.decide.switch import DaemonGroup, PortSetting
from mininet_topos.errors import ArmorError

UP_TIMEOUT_S = 30.0
# A busy machine may never have all sessions up at the shortest interval; a longer one is tried then.
CANDIDATE_UP_S = 10.0
_LOOK_S = 0.25


class BfdUnstableError(ArmorError):
    """BFD sessions go down, or do not come up, on links that nobody broke; the message says which.

    `interval_ms` is likely too short for this machine and its load.
    """

    def __init__(self, interval_ms: int, message: str) -> None:
        super().__init__(message)
        self.interval_ms = interval_ms


def bfd_missing(
    groups: Sequence[DaemonGroup], settings: Mapping[str, Sequence[PortSetting]], interval_ms: int
) -> list[str]:
    """Link ports whose BFD session is not up at both ends, or has not agreed upon this interval."""
    seen = status.bfd_status(groups, settings)
    wanted = [
        (site.name, port.port_no)
        for group in groups
        for site in group.sites
        for port in settings[site.name]
        if port.bfd
    ]
    ready = {key for key, session in seen.items() if session.is_up and session.interval_ms == interval_ms}
    return [f"{node} port {port}" for node, port in wanted if (node, port) not in ready]


def wait_bfd_up(
    groups: Sequence[DaemonGroup],
    settings: Mapping[str, Sequence[PortSetting]],
    interval_ms: int,
    timeout_s: float,
) -> float:
    """Wait until every BFD session is up at an interval; returns the seconds it took.

    A session that is up may still have its old interval, or that of one that comes up: its failure would be detected
    after another time than the one that is asked for.

    Raises
    ------
    BfdUnstableError
        Some session is still down after `timeout_s`.
    """
    what = f"BFD sessions with {interval_ms} ms"
    try:
        return status.wait_until(lambda: bfd_missing(groups, settings, interval_ms), timeout_s, what)
    except status.EmulationTimeoutError as error:
        message = f"{error}; the interval may be too short for this machine and its load"
        raise BfdUnstableError(interval_ms, message) from error


def count_flaps(
    groups: Sequence[DaemonGroup], settings: Mapping[str, Sequence[PortSetting]], watch_s: float, *, stop_early: bool
) -> int:
    """Changes of BFD's verdict over all ports while nothing fails, within `watch_s` or until the first."""

    def total() -> int:
        return sum(state.flap_count for state in status.bfd_status(groups, settings).values())

    before, deadline = total(), time.monotonic() + watch_s
    flaps = 0
    while time.monotonic() < deadline and not (stop_early and flaps):
        time.sleep(min(_LOOK_S, watch_s))
        flaps = total() - before
    return flaps


def probe_bfd_interval(
    groups: Sequence[DaemonGroup],
    settings: Mapping[str, Sequence[PortSetting]],
    candidates_ms: Sequence[int],
    watch_s: float,
) -> BfdChoice:
    """Set each candidate in turn and watch it; leaves the network on the chosen one.

    Sessions that are down `CANDIDATE_UP_S` after their interval was set count as flaps of that interval.

    Parameters
    ----------
    groups, settings
        The running daemons and their ports.
    candidates_ms
        Intervals from short to long.
    watch_s
        How long a candidate must hold.

    Raises
    ------
    BfdUnstableError
        The sessions do not come up at the longest interval either.
    """
    flaps: dict[int, int] = {}
    for interval_ms in candidates_ms:
        status.set_bfd_interval(groups, settings, interval_ms)
        flaps[interval_ms] = _flaps_of_candidate(groups, settings, interval_ms, watch_s)
        if flaps[interval_ms] == 0:
            break
    choice = choose_bfd_interval(flaps)
    wait_bfd_up(groups, settings, choice.interval_ms, UP_TIMEOUT_S)
    return choice


def _flaps_of_candidate(
    groups: Sequence[DaemonGroup], settings: Mapping[str, Sequence[PortSetting]], interval_ms: int, watch_s: float
) -> int:
    """Flaps while nothing fails, or the number of sessions that do not come up."""
    try:
        wait_bfd_up(groups, settings, interval_ms, CANDIDATE_UP_S)
    except BfdUnstableError:
        return max(1, len(bfd_missing(groups, settings, interval_ms)))
    return count_flaps(groups, settings, watch_s, stop_early=True)
