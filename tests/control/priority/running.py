"""Ryu as a process with any apps, and switches that a test plays itself."""

from __future__ import annotations

import itertools
import json
import os
import socket
import struct
import subprocess
import urllib.request
from pathlib import Path
from typing import Any

from experiments.loadgen.ports import free_port
from ryu_apps.openflow import encode
from ryu_apps.openflow.wire import MsgType, header, split_messages
from tests.control.running import ANSWER_S, MANAGER, ROOT, START_S
from tests.patience import wait_until, whole_lines
from tests.pmt.frames import Ip, ethernet, ipv4, packet_in
from tests.pmt.messages import bare

PMT = ROOT / "examples" / "pmt" / "out_of_band.yaml"
EVERY_MESSAGE = ROOT / "examples" / "pmt" / "every_message.yaml"
RECORDER = "tests/control/priority/recorder.py"
PORT_DESC = struct.pack("!HH4x", 13, 0)


class RunningRyu:
    """`ryu-manager APPS`, with a PMT when one is given."""

    def __init__(self, folder: Path, *apps: str, pmt: Path | None = None, **environment: str) -> None:
        self.openflow_port, self.metrics_port = free_port(), free_port()
        self.log_path, self.recorded = folder / "ryu.log", folder / "recorded"
        self.recorded.touch()
        self._apps = apps
        self._environment = {
            **os.environ,
            "ARMOR_PSO_PMT": str(pmt or ""),
            "ARMOR_PSO_METRICS_PORT": str(self.metrics_port),
            "RECORDER_FILE": str(self.recorded),
            **environment,
        }

    def __enter__(self) -> RunningRyu:
        words = [*MANAGER, "--ofp-tcp-listen-port", str(self.openflow_port), *self._apps]
        with self.log_path.open("ab") as log:
            self._process = subprocess.Popen(words, cwd=ROOT, env=self._environment, stdout=log, stderr=log)
        try:
            wait_until(self._listens, "the controller listens", START_S)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_exception: object) -> None:
        self._process.kill()
        self._process.wait()

    @property
    def log(self) -> str:
        """What the process has written."""
        return self.log_path.read_text(encoding="utf-8", errors="replace")

    def _listens(self) -> bool:
        assert self._process.poll() is None, self.log[-3000:]
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.openflow_port)) == 0

    def events(self) -> list[str]:
        """What the recorder has handled so far, without which switch it was."""
        return [line.rpartition(" ")[0] for line in whole_lines(self.recorded)]

    def state(self) -> dict[str, Any]:
        """GET /pso."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.metrics_port}/pso", timeout=ANSWER_S) as answer:
            return json.load(answer)

    def metrics(self) -> str:
        """GET /metrics."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.metrics_port}/metrics", timeout=ANSWER_S) as answer:
            return answer.read().decode()

    def connections(self, dpid: int) -> list[int]:
        """Classes of the connections of a switch."""
        return next((one["connections"] for one in self.state()["switches"] if one["dpid"] == dpid), [])


# One each, since an address that offends is held back.
ADDRESSES = (f"127.0.{number >> 8}.{number & 255}" for number in itertools.count(10))


class PlayedSwitch:
    """One connection of a switch that answers the handshake and else does what the test says."""

    def __init__(self, port: int, dpid: int = 1, address: str = "127.0.0.1") -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), ANSWER_S, (address, 0))
        self._rest, self._dpid = b"", dpid
        self.received: list[bytes] = []

    def __enter__(self) -> PlayedSwitch:
        return self

    def __exit__(self, *_exception: object) -> None:
        self._socket.close()

    def send(self, *messages: bytes) -> None:
        """Send messages, all at once."""
        self._socket.sendall(b"".join(messages))

    def read(self, answers: bool = True) -> list[bytes]:
        """Messages that come within one read; the handshake's and barriers are answered. Empty: the end."""
        data = self._socket.recv(1 << 16)
        messages, self._rest = split_messages(self._rest + data)
        self.received += messages
        for message in messages if answers else ():
            self._answer(message)
        return messages if data else []

    def read_until(self, condition, what: str) -> None:
        """Read and answer until a condition on `self.received` holds."""
        while not condition(self.received):
            assert self.read(), f"the controller has closed the connection before: {what}"

    def is_closed_by_controller(self) -> bool:
        """Read until the controller closes (True), or falls silent (False)."""
        try:
            while self.read(answers=False):
                continue
        except TimeoutError:
            return False
        except ConnectionResetError:
            return True
        return True

    def hello(self) -> None:
        """Open the conversation and answer until the port description was asked for (main connection)."""
        self.send(encode.hello())
        self.read_until(lambda got: any(message[1] == MsgType.MULTIPART_REQUEST for message in got), "port description")

    def hello_and_features(self) -> None:
        """Open the conversation, say who it is, and leave the port description open (main connection)."""
        self.send(encode.hello())
        self.read_until(lambda got: any(message[1] == MsgType.FEATURES_REQUEST for message in got), "features request")

    def asked_for_ports(self) -> int:
        """Open the conversation and leave the port description open: its transaction id."""
        self.hello_and_features()
        while not xids(self.received, MsgType.MULTIPART_REQUEST):
            assert self.read(answers=False)
        return xids(self.received, MsgType.MULTIPART_REQUEST)[0]

    def hello_of_class(self) -> None:
        """Open the conversation of a per-class connection: until its barrier has come."""
        self.send(encode.hello())
        self.read_until(lambda got: any(message[1] == MsgType.BARRIER_REQUEST for message in got), "its barrier")

    def _answer(self, message: bytes) -> None:
        head = header(message)
        if head.msg_type == MsgType.FEATURES_REQUEST:
            self.send(with_xid(features_reply(self._dpid), head.xid))
        elif head.msg_type == MsgType.MULTIPART_REQUEST:
            self.send(struct.pack("!BBHI", 4, MsgType.MULTIPART_REPLY, 16, head.xid) + PORT_DESC)
        elif head.msg_type == MsgType.BARRIER_REQUEST:
            self.send(struct.pack("!BBHI", 4, MsgType.BARRIER_REPLY, 8, head.xid))


def features_reply(dpid: int) -> bytes:
    """What a switch says of itself."""
    return bare(MsgType.FEATURES_REPLY, struct.pack("!QIBB2xII", dpid, 0, 254, 0, 0x4F, 0))


def with_xid(message: bytes, xid: int) -> bytes:
    """The message with another transaction id."""
    return message[:4] + xid.to_bytes(4, "big") + message[8:]


def punt(xid: int, udp_dst: int = 9, more: bytes = b"") -> bytes:
    """A packet-in of a UDP packet; port 20000 is the paper's real-time service."""
    return with_xid(packet_in(ethernet(0x0800, ipv4(Ip(ports=(1, udp_dst))) + more)), xid)


def xids(messages: list[bytes], *kinds: int) -> list[int]:
    """Transaction ids of the messages of some types."""
    return [header(message).xid for message in messages if message[1] in kinds]


def until(condition, what: str):
    """Wait for a condition."""
    return wait_until(condition, what, 30)
