"""What one hostile switch costs a running controller: bounded lines, ports, replies and connections."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from ryu_apps.control.decide.frames import LldpProbe, lldp_probe_frame
from ryu_apps.control.decide.line_limit import BURST_LINES
from ryu_apps.control.decide.live_topology import MAX_UNEXPECTED_PORTS
from ryu_apps.openflow import encode
from ryu_apps.openflow.wire import MsgType, Multipart
from tests.control.priority.running import ADDRESSES, PlayedSwitch, with_xid, xids
from tests.control.running import RunningApp
from tests.patience import wait_until
from tests.pmt.frames import packet_in
from tests.pmt.messages import bare

pytestmark = [pytest.mark.ryu, pytest.mark.slow]
PER_ADDRESS = 8
PORTS_OF_A_PART = 1000
SHORT_ERROR = bare(MsgType.ERROR, struct.pack("!HH", 1, 1))
ERROR = bare(MsgType.ERROR, struct.pack("!HH", 1, 1) + encode.flows_delete_by_cookie(0, 0))
TWO_BYTES_OF_A_PORT = struct.pack("!HHHBB2s8x", 1, 10, 0x8000, 0, 2, b"xx")
UNREADABLE = bare(MsgType.PACKET_IN, struct.pack("!IHBBQ", 0, 0, 0, 0, 0) + TWO_BYTES_OF_A_PORT)


@pytest.fixture(scope="module")
def app(tmp_path_factory) -> Iterator[RunningApp]:
    settings = {"openflow_max_connections_per_address": str(PER_ADDRESS), "stats_interval_s": "0"}
    with RunningApp("sdfast", "square", tmp_path_factory.mktemp("app"), **settings) as running:
        yield running


def port(port_no: int, state: int) -> bytes:
    return struct.pack("!I4x6s2x16s8I", port_no, b"\2" * 6, b"p", 0, state, *[0] * 6)


def port_status(port_no: int, state: int = 4) -> bytes:
    return bare(MsgType.PORT_STATUS, struct.pack("!B7x", 0) + port(port_no, state))


def metric(app: RunningApp, name: str, labels: str = "") -> float:
    lines = app.text("/metrics").splitlines()
    return sum(float(line.split()[-1]) for line in lines if line.startswith(f"{name}{labels}"))


def assert_served(switch: PlayedSwitch, xid: int) -> None:
    switch.send(with_xid(encode.echo_request(), xid))
    switch.read_until(lambda got: xid in xids(got, MsgType.ECHO_REPLY), "an echo reply")


@pytest.fixture(autouse=True)
def _alone(app) -> None:
    wait_until(lambda: metric(app, "armor_open_connections") == 0, "connections of other tests have ended")


def test_a_switch_with_ever_new_ports_is_named_once_for_all_and_others_lose_nothing(app) -> None:
    with PlayedSwitch(app.openflow_port, 1, next(ADDRESSES)) as hostile:
        hostile.hello()
        for first in range(100, 20_000, 100):
            hostile.send(b"".join(map(port_status, range(first, first + 100))))
        hostile.send(port_status(2, state=1))
        assert_served(hostile, 7)

        def named() -> list[str]:
            found = app.get("/armor/mismatches")["mismatches"]
            return [one["text"] for one in found if one["kind"] == "unexpected port"]

        wait_until(lambda: any("more than 16 ports" in text for text in named()), "the switch is named")
        assert len(named()) == MAX_UNEXPECTED_PORTS + 1
        wait_until(lambda: app.get("/armor/state")["failed_links"], "the failure behind them is seen")
    assert {event["port_no"] for event in app.events("port_status")} <= {1, 2, 3}


@pytest.mark.parametrize(("what", "message", "dpid"), [("switch", ERROR, 2), ("unreadable message", UNREADABLE, 3)])
def test_errors_are_counted_and_their_lines_limited(app, what, message, dpid) -> None:
    number, node = 3000, f"s{dpid}"
    with PlayedSwitch(app.openflow_port, dpid, next(ADDRESSES)) as hostile:
        hostile.hello()
        hostile.send(message * number)
        assert_served(hostile, 8)
        labels = f'{{node="{node}"}}'
        wait_until(lambda: metric(app, "armor_errors_total", labels) >= number, "all are counted")

    def lines() -> list[str]:
        return [line for line in app.log.splitlines() if f"{what} ({node}): " in line]

    def accounted() -> float:
        return metric(app, "armor_errors_left_out_total", labels) + len(lines()) - summaries()

    def summaries() -> int:
        return sum("more errors of this kind" in line for line in lines())

    wait_until(lambda: accounted() == metric(app, "armor_errors_total", labels), "each is written or summed up")
    assert summaries() >= 1
    assert BURST_LINES <= len(lines()) - summaries() <= 2 * BURST_LINES  # the burst, and what a pause gives back
    assert app.get("/armor/state")["errors"] >= number


def test_changes_of_a_port_without_end_are_counted_and_their_lines_limited(app) -> None:
    def changes() -> float:
        lines = app.text("/metrics").splitlines()
        return sum(
            float(line.split()[-1])
            for line in lines
            if line.startswith("armor_port_changes_total") and 'node="s4"' in line
        )

    def written() -> int:
        return sum(event["node"] == "s4" for event in app.events("port_status"))

    def left_out() -> int:
        found = app.events("events_left_out")
        return sum(event["number"] for event in found if (event["what"], event["node"]) == ("port_status", "s4"))

    before = changes()
    with PlayedSwitch(app.openflow_port, 4, next(ADDRESSES)) as hostile:
        hostile.hello()

        def flapped() -> float:
            hostile.send((port_status(2) + port_status(2, state=1)) * 100)
            assert_served(hostile, len(hostile.received))
            return changes() - before

        wait_until(lambda: flapped() > 20 * BURST_LINES, "the changes are counted")
    wait_until(lambda: written() + left_out() == changes() - before, "each is written or summed up")
    assert BURST_LINES <= written() <= 2 * BURST_LINES  # the burst, and what a pause gives back


def test_discovery_frames_without_end_are_left_out_and_named(app) -> None:
    frame = lldp_probe_frame(LldpProbe(3, 2), 0x020000000001)
    with PlayedSwitch(app.openflow_port, 1, next(ADDRESSES)) as hostile:
        hostile.hello()
        wait_until(lambda: app.get("/armor/state")["switches"]["s1"], "the switch is there")
        for _ in range(30):
            hostile.send(packet_in(frame) * 100)
        assert_served(hostile, 10)

    def named() -> list[dict[str, object]]:
        return [one for one in app.get("/armor/state")["recent_errors"] if one["what"] == "discovery flood"]

    wait_until(named, "the flood is named")
    assert {one["node"] for one in named()} == {"s1"}


def test_what_ryu_itself_says_of_a_connection_without_a_handshake_is_limited(app) -> None:
    said = "The data field sent from the switch is too short"
    with PlayedSwitch(app.openflow_port, 2, next(ADDRESSES)) as hostile:
        hostile.send(encode.hello(), SHORT_ERROR * 2000)
        wait_until(lambda: "lines of OFPHandler: " in app.log, "the others are summed up")
    assert 0 < app.log.count(said) <= 2 * BURST_LINES


def test_a_reply_without_end_costs_its_switch_the_connection(app) -> None:
    ports = b"".join(port(number, 4) for number in range(1, PORTS_OF_A_PART + 1))
    body = struct.pack("!HH4x", Multipart.PORT_DESC, 1) + ports
    with PlayedSwitch(app.openflow_port, 4, next(ADDRESSES)) as hostile:
        hostile.send(encode.hello())

        def asked(got: list[bytes]) -> list[int]:
            return [int.from_bytes(each[4:8], "big") for each in got if each[1] == MsgType.MULTIPART_REQUEST]

        hostile.read_until(lambda got: len(asked(got)) >= 1, "Ryu's request, which gets its answer")
        while len(asked(hostile.received)) < 2:
            assert hostile.read(answers=False)
        part = with_xid(bare(MsgType.MULTIPART_REPLY, body), asked(hostile.received)[1])
        with pytest.raises(OSError, match=r"."):  # noqa: PT012 - any of these sends may be the first that fails
            for _ in range(100_000):
                hostile.send(part)
        assert hostile.is_closed_by_controller()

    def reasons() -> list[str]:
        return [one["text"] for one in app.get("/armor/state")["recent_errors"] if one["what"] == "overlong message"]

    wait_until(reasons, "the reason is named")
    assert "at most 67,108,864 and 500,000 are gathered" in reasons()[0]


def test_lists_that_nobody_asked_for_are_left_out_and_named_and_their_switch_goes_on(app) -> None:
    endless_flows = bare(MsgType.MULTIPART_REPLY, struct.pack("!HH4x", Multipart.FLOW, 1) + bytes(56))
    address = next(ADDRESSES)
    with PlayedSwitch(app.openflow_port, 1, address) as hostile:
        hostile.hello()
        for _ in range(100):
            hostile.send(endless_flows)
        assert_served(hostile, 11)

    def named() -> list[str]:
        return [one["text"] for one in app.get("/armor/state")["recent_errors"] if one["what"] == "unasked message"]

    wait_until(named, "the switch is named")
    assert named()[0] == f"from {address}: 72 bytes of type 19 answer no request of this controller"


def test_connections_over_the_limit_are_closed_and_others_served(app) -> None:
    opened = [PlayedSwitch(app.openflow_port, dpid=1) for _ in range(PER_ADDRESS)]
    try:
        opened[0].hello()
        with ExitStack() as several:
            refused = [several.enter_context(PlayedSwitch(app.openflow_port, 2)) for _ in range(3 * BURST_LINES)]
            assert all(one.is_closed_by_controller() for one in refused)
        wait_until(
            lambda: metric(app, "armor_refused_connections_total") == 3 * BURST_LINES, "the refused ones are counted"
        )
        assert metric(app, "armor_open_connections") == PER_ADDRESS
        written = [line for line in app.log.splitlines() if "raise the setting max_connections_per_address" in line]
        assert BURST_LINES <= len(written) < 3 * BURST_LINES
        assert "a connection from 127.0.0.1 is refused" in written[0]
        wait_until(lambda: "refused connections: " in app.log, "the others are summed up")
        assert_served(opened[0], 9)
        opened.pop().__exit__()
        wait_until(lambda: metric(app, "armor_open_connections") < PER_ADDRESS, "its place is free")
        with PlayedSwitch(app.openflow_port, dpid=3) as later:
            later.hello()
    finally:
        for switch in opened:
            switch.__exit__()
