"""Events of the controller, for the event log of a run and for the output of `ryu-manager`."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import partial

from machine.event_log import EventField, EventLog
from ryu_apps.control.limited_lines import LimitedLines

# What a person wants to see pass by. Errors have a line of their own (faults.py).
SENTENCES = {
    "no_switch": (
        "no switch of the topology has connected in {seconds:g} s. This controller listens on {address} "
        "(--ofp-listen-host names another address). Do the switches have that address and port, and OpenFlow13 among "
        "their protocols? On a kernel without the module openvswitch Mininet's switches "
        "work only with --switch ovs,protocols=OpenFlow13,datapath=user, and otherwise say nothing"
    ),
    "connect": "{node}: connected",
    "reconnect": "{node}: connected again",
    "disconnect": "{node}: disconnected",
    "plan_installed": "{node}: plan of {rows} rows is in place ({added} added, {modified} modified, {deleted} deleted)",
    "backup_filled": "{node}: backup database filled",
    "port_status": "{node}: port {port_no} is {state}",
    "restoration_done": "{rows} rows at {switches} switches rewritten; routes avoid {names}",
    "return_done": "traffic is back on {names}",
    "te_equal": (
        "no demands are given, so traffic engineering solves nothing: each of {commodities} pairs has tunnels of equal "
        "weight; the setting demands says what is sent"
    ),
    "te_solved": (
        "traffic engineering: {solver} solved {demands} demands over {tunnels} tunnels in {seconds:.2f} s; they get "
        "{mbps:,.1f} Mbit/s, within {gap:.1e} of the best"
    ),
    "te_done": "run {run} of traffic engineering: {rows} rows changed, {slots_moved} of {slots} slots moved",
    "te_waiting": "run {run} of traffic engineering waits for {names}",
    "mismatch": "not as the topology says: {text}",
    "events_left_out": "{number} more events {what} of '{node}' came at once; they are counted, and not written",
    "foreign_mac": "{node}: its host has the MAC address {mac}",
}

# faults.py limits these two.
_NEVER_LEFT_OUT = ("error", "errors_left_out")

# What must not be zero for the event to be news.
_NEWS_IF = {"return_done": "rounds", "restoration_done": "rows"}


class ControllerEvents(EventLog):
    """An event log that also says the main events in one line each; what one switch causes has limited lines.

    Parameters
    ----------
    source
        Who speaks.
    logger
        Where the lines go, at level INFO.
    lines
        Which events of one name at one switch may be written now; None: by the clock.
    """

    def __init__(self, source: str, logger: logging.Logger, lines: LimitedLines | None = None) -> None:
        super().__init__(source)
        self._logger = logger
        self._lines = lines or LimitedLines()

    def write(self, event: str, t_monotonic_s: float | None = None, **fields: EventField) -> None:
        """Append one event, and say it; or only count it, if too many of its switch came at once."""
        if self._may_write(event, fields.get("node")):
            self._append(event, t_monotonic_s, fields)
        else:
            self.observe(event, **fields)

    def _may_write(self, event: str, node: EventField) -> bool:
        if not isinstance(node, str) or event in _NEVER_LEFT_OUT:
            return True
        return self._lines.admits((event, node), partial(self._left_out, event, node))

    def _left_out(self, what: str, node: str, number: int) -> None:
        self._append("events_left_out", None, {"what": what, "node": node, "number": number})

    def _append(self, event: str, t_monotonic_s: float | None, fields: Mapping[str, EventField]) -> None:
        super().write(event, t_monotonic_s, **fields)
        sentence = sentence_of(event, fields)
        if sentence:
            self._logger.info("%s", sentence)


def sentence_of(event: str, fields: Mapping[str, EventField]) -> str:
    """What to say of an event; nothing for events that are no news to a person.

    Examples
    --------
    >>> sentence_of("port_status", {"node": "s6", "port_no": 3, "live": False})
    's6: port 3 is down'
    >>> sentence_of("return_done", {"links": ["s6-s9"], "rounds": 0})
    ''
    """
    if event not in SENTENCES or not fields.get(_NEWS_IF.get(event, ""), True):
        return ""
    named = fields.get("links", fields.get("nodes"))
    names = (", ".join(map(str, named)) or "no link") if isinstance(named, list) else ""
    return SENTENCES[event].format(state="live" if fields.get("live") else "down", names=names, **fields)
