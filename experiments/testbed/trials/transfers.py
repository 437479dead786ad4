"""TCP by iperf3 between two hosts: pairs of a client and a server at once, each with parallel flows."""

from __future__ import annotations

import subprocess
import time
from contextlib import ExitStack

from experiments.campaign.kinds.paths import GoodputMeasured
from experiments.testbed.trials.decide.paths import (
    Ends,
    PathsError,
    TcpCounts,
    counted_between,
    read_connections,
    read_iperf,
)
from machine.places import child, inside, run_program

FIRST_PORT = 5201
_SPARE_S = 20.0
_CONNECT_S, _LOOK_S = 15.0, 0.1
_RISE_S = 0.5  # slow start

Places = tuple[int, int]
"""Processes in the namespaces of the clients and of the servers."""


def transfer(places: Places, address: str, flows: int, seconds: float) -> GoodputMeasured:
    """Goodput of parallel flows from the client's host to the server's.

    Raises
    ------
    PathsError
        iperf3 says no result, or does not end.
    """
    with ExitStack() as stack:
        (client,) = _start(stack, places, address, 1, flows, seconds=seconds)
        try:
            said, _ = client.communicate(timeout=seconds + _SPARE_S)
        except subprocess.TimeoutExpired as error:
            raise PathsError(f"iperf3 -t {seconds:g} did not end within {seconds + _SPARE_S:g} s") from error
        return read_iperf(said)


def transfer_together(places: Places, address: str, pairs: int, flows: int, seconds: float) -> GoodputMeasured:
    """Goodput of all pairs of a client and a server, in a time in which all flows of all of them send.

    Each iperf3 measures a time of its own, which begins when its connections stand, seconds later than another's where
    packets are lost; so both hosts' TCP is asked instead. Pair k uses port `FIRST_PORT` + k.

    Raises
    ------
    PathsError
        Connections do not come about in time, or end early.
    """
    with ExitStack() as stack:
        _start(stack, places, address, pairs, flows, seconds=_CONNECT_S + _RISE_S + seconds + _SPARE_S)
        _wait_connected(places[1], pairs, flows)
        time.sleep(_RISE_S)
        before, began_s = _look(places), time.monotonic()
        time.sleep(seconds)
        after, ended_s = _look(places), time.monotonic()
    sent, received = (counted_between(one, other) for one, other in zip(before, after, strict=True))
    return GoodputMeasured(8 * received.received_bytes / (ended_s - began_s) / 1e6, sent.retransmits)


def _start(
    stack: ExitStack, places: Places, address: str, pairs: int, flows: int, *, seconds: float
) -> list[subprocess.Popen[str]]:
    """Start servers, then clients, which are returned; all end with the stack."""
    ports = [str(FIRST_PORT + number) for number in range(pairs)]
    for port in ports:
        server = ["iperf3", "-s", "-1", "-p", port, "-B", address, "--forceflush"]
        # A server complains when its client is ended; that it does not listen is said without its words.
        started = stack.enter_context(child(inside(places[1], server), subprocess.DEVNULL))
        _wait_for_words(started, "listening")
    wanted = ["-t", f"{seconds:g}", "-P", str(flows), "-J"]
    words = [["iperf3", "-c", address, "-p", port, *wanted] for port in ports]
    return [stack.enter_context(child(inside(places[0], each))) for each in words]


def _wait_connected(server: int, pairs: int, flows: int) -> None:
    """Wait until every flow of every pair has brought something; iperf3 has one more connection a pair."""
    deadline_s = time.monotonic() + _CONNECT_S
    while True:
        sending = sum(counts.received_bytes > 0 for counts in _connections(server).values())
        if sending >= pairs * (flows + 1):
            return
        if time.monotonic() > deadline_s:
            raise PathsError(
                f"after {_CONNECT_S:g} s {sending} of {pairs * (flows + 1)} TCP connections carry something"
            )
        time.sleep(_LOOK_S)


def _look(places: Places) -> tuple[dict[Ends, TcpCounts], dict[Ends, TcpCounts]]:
    """Counters at the clients' host and at the servers'."""
    return _connections(places[0]), _connections(places[1])


def _connections(pid: int) -> dict[Ends, TcpCounts]:
    return read_connections(run_program(inside(pid, ["ss", "-tinH", "state", "established"])))


def _wait_for_words(process: subprocess.Popen[str], words: str) -> None:
    for line in process.stdout or ():
        if words in line:
            return
    raise PathsError(f"iperf3 ended before it said {words!r}; is its port taken?")
