"""Ryu app for measurements: sends commands to a switch step by step beside a flood, and writes down when.

It starts at the first packet-in of a load, and answers it when the switch has confirmed all that was sent.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from dataclasses import asdict
from itertools import cycle
from pathlib import Path
from typing import Any

from ryu.controller import ofp_event
from ryu.controller.handler import MAIN_DISPATCHER, set_ev_cls
from ryu.lib import hub

from experiments.loadgen.decide.commands import LAST_XID, SETTINGS, Report, flood, step
from experiments.loadgen.decide.packets import FIRST_PROBE, serial_of
from experiments.loadgen.responder import Responder
from machine.whole_file import write_whole
from ryu_apps.openflow.encode import barrier_request
from ryu_apps.openflow.wire import MsgType, with_xid

_TICK_S = 0.005


class Commander(Responder):
    """Sends what ARMOR_COMMANDER says (`experiments.loadgen.commands`), as JSON."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._settings: dict[str, Any] = json.loads(os.environ[SETTINGS])
        self._sent_s: dict[int, float] = {}
        self._replied_s: dict[int, float] = {}
        self._awaited: dict[int, Any] = {}
        self._is_started = self._is_over = False

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in(self, event: Any) -> None:
        """Answer a probe; start at the first packet-in of the load."""
        serial = serial_of(bytes(event.msg.data))
        if serial is None or serial >= FIRST_PROBE:
            super().packet_in(event)
        elif not self._is_started:
            self._is_started = True
            hub.spawn(self._command, event.msg.datapath, lambda: super(Commander, self).packet_in(event))

    @set_ev_cls(ofp_event.EventOFPBarrierReply, MAIN_DISPATCHER)
    def barrier_reply(self, event: Any) -> None:
        """A barrier has been answered."""
        self._replied_s[event.msg.xid] = time.monotonic()
        if event.msg.xid in self._awaited:
            self._awaited[event.msg.xid].set()

    def _command(self, datapath: Any, answer: Callable[[], None]) -> None:
        hub.spawn(self._flood, datapath)
        hub.sleep(self._settings["warm_up_s"])
        start_s, number = time.monotonic(), 0
        while (now_s := time.monotonic()) < start_s + self._settings["seconds"]:
            for xid, command in step(self._settings["stream"], number).items():
                self._send(datapath, xid, command.message)
            number += 1
            hub.sleep(max(0.0, start_s + number / self._settings["steps_pps"] - now_s))
        self._is_over, end_s = True, time.monotonic()
        sent_s = dict(self._sent_s)
        self._send(datapath, LAST_XID, barrier_request())
        report = Report(sent_s, self._replied_s, start_s, end_s)
        write_whole(Path(self._settings["file"]), json.dumps(asdict(report)))
        answer()

    def _send(self, datapath: Any, xid: int, message: bytes) -> None:
        """Send a message, and wait for the reply of a barrier."""
        is_barrier = message[1] == MsgType.BARRIER_REQUEST
        if is_barrier:
            self._awaited[xid] = hub.Event()
        self._sent_s[xid] = time.monotonic()
        datapath.send(with_xid(message, xid))
        if is_barrier:
            self._awaited[xid].wait()

    def _flood(self, datapath: Any) -> None:
        messages = cycle(flood(self._settings["flood"]) or [b""])
        start_s, n_sent = time.monotonic(), 0
        while self._settings["flood_pps"] and not self._is_over:
            due = int(self._settings["flood_pps"] * (time.monotonic() - start_s))
            for _ in range(n_sent, due):
                datapath.send(next(messages))
            n_sent = max(n_sent, due)
            hub.sleep(_TICK_S)
