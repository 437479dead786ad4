"""What rogue switches do, kind by kind; each goes on until its process is ended."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import numpy as np

from experiments.loadgen.connection import GOOD, Connection, Manner
from experiments.loadgen.decide.lies import description_lie, hear_lying_about_itself, hear_lying_about_ports, port_lie
from experiments.loadgen.decide.misbehave import endless, malformed
from experiments.loadgen.decide.rogue_messages import (
    half_opening,
    other_hello,
    oversized,
    truncated,
    wrong_version,
    zero_length,
)
from experiments.loadgen.decide.switch import Heard, Meaning, hear, is_served, opening
from experiments.loadgen.rogue import PAUSE_S, TAKEN, Rogue, turn
from ryu_apps.openflow.encode import echo_request

Behave = Callable[[Rogue], None]
Make = Callable[[Rogue], bytes]
Connected = Callable[[Rogue, Manner], list[Connection]]

N_CONNECTIONS = 100
_MALFORMED_PPS, _STALLED_PPS, _OVERSIZED_PPS, _LIES_PPS = 200.0, 500.0, 50.0, 100.0
_OPENED_PPS, _CLAIMS_PPS = 50.0, 10.0
_SLOW_BYTES, _SLOW_BUFFER_BYTES, _ECHO_BYTES = 16, 2048, 1000


def flood(rogue: Rogue) -> None:
    """Packet-ins as fast as the controller takes them, or at a rate."""
    number, began_s = 0, time.monotonic()
    rate_pps = rogue.switch.rate_pps
    while True:
        connections = rogue.remaining()
        while rate_pps is None or number < rate_pps * (time.monotonic() - began_s):
            if not rogue.send(number):
                break
            number += 1
        turn(connections, 0.001)


def stall(rogue: Rogue) -> None:
    """Asks and asks, and reads no answer."""
    number = 0
    while True:
        connections = rogue.remaining()
        for each in connections:
            each.reads = False
        rogue.send(number)
        number += 1
        turn(connections, 0.0)
        for each in connections:
            each.flush(0.0)
        time.sleep(1 / rogue.rate_pps(_STALLED_PPS))


def many_connections(rogue: Rogue) -> None:
    """A hundred connections: a third says nothing, a third only hello, a third is a switch of its own."""
    manners = (Manner(_say_nothing, b""), Manner(_say_nothing), GOOD)

    def another(place: int) -> list[Connection]:
        return rogue.open(rogue.switch.dpid + place, manners[place % 3])

    _hold(rogue, another, N_CONNECTIONS / PAUSE_S)


def half_open(rogue: Rogue) -> None:
    """A hundred connections that each begin a message and do not end it, or have closed their sending half."""

    def another(_place: int) -> list[Connection]:
        begin = half_opening(rogue.rng)
        made = rogue.open(manner=Manner(_say_nothing, begin))
        for each in made[:1]:
            if begin == opening():
                with suppress(OSError):
                    each.link.shutdown(socket.SHUT_WR)
        return made

    _hold(rogue, another, _OPENED_PPS)


def _hold(rogue: Rogue, another: Callable[[int], list[Connection]], usual_pps: float) -> None:
    """Keep a hundred connections open, each at its place, and open others for those that the controller closes."""
    held: dict[int, Connection] = {}
    most_a_round = max(1, int(rogue.rate_pps(usual_pps) * PAUSE_S))
    while True:
        for each in held.values():
            if each.gone is not None:
                each.close()
        held = {place: each for place, each in held.items() if each.gone is None}
        free = [place for place in range(N_CONNECTIONS) if place not in held]
        for place in free[:most_a_round]:
            made = another(place)
            if not made:
                break
            for each in made[1:]:
                each.close()
            held[place] = made[0]
            rogue.count()
        end_s = time.monotonic() + PAUSE_S
        turn(list(held.values()), PAUSE_S)
        time.sleep(max(0.0, end_s - time.monotonic()))


def slow_reader(rogue: Rogue) -> None:
    """Asks for long echo replies, and reads a few bytes of them at a time."""
    message = echo_request(bytes(_ECHO_BYTES))
    while True:
        was, connections = rogue.connections, rogue.remaining()
        if connections is not was:
            for each in connections:
                each.link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _SLOW_BUFFER_BYTES)
                each.reads, each.read_bytes = False, _SLOW_BYTES
        for each in connections:
            each.offer(message, 0, 0.0)
            each.flush(0.0)
            each.read(0.0)
        time.sleep(1 / rogue.rate_pps(_MALFORMED_PPS))


def claims_id(rogue: Rogue) -> None:
    """Claims the datapath id of another switch again and again, from another address; prints the ids that it gets."""
    taken: set[int] = set()

    def hear_and_tell(given: bytes, dpid: int) -> Heard:
        if is_served(given) and dpid not in taken:
            taken.add(dpid)
            print(f"{TAKEN} {dpid}", flush=True)
        return hear(given, dpid, rogue.switch.ports)

    while True:
        rogue.close()
        rogue.connections = rogue.open(int(rogue.rng.choice(rogue.switch.claimed)), Manner(hear_and_tell))
        if rogue.connections:
            rogue.count()
        began_s, period_s = time.monotonic(), 1 / rogue.rate_pps(_CLAIMS_PPS)
        turn(rogue.connections, period_s)
        time.sleep(max(0.0, began_s + period_s - time.monotonic()))


def speaks_other_version(rogue: Rogue) -> None:
    """Says hello in other versions, or in 1.3 and then goes on in others."""
    while True:
        hello, message = other_hello(rogue.rng), wrong_version(rogue.rng)
        manner = Manner(opening=hello) if rogue.rng.random() < 0.5 else GOOD
        before = rogue.connections[:1]
        _send_and_answer(partial(rogue.renewed, manner), message, 1 / rogue.rate_pps(_MALFORMED_PPS))
        if manner is not GOOD and rogue.connections[:1] != before:
            rogue.count()  # the hello, after which hardly any controller lets a message come


def sends(
    make: Make,
    usual_pps: float,
    manner_of: Callable[[Rogue], Manner] = lambda _rogue: GOOD,
    connected: Connected = Rogue.renewed,
) -> Behave:
    """The behaviour of a switch that sends one message after the other.

    Parameters
    ----------
    make : callable
        Gives the next message.
    usual_pps
        Messages a second.
    manner_of
        How the switch talks besides.
    connected
        Gives its connections, new ones for those that the controller has closed.
    """

    def behave(rogue: Rogue) -> None:
        manner = manner_of(rogue)
        while True:
            _send_and_answer(partial(connected, rogue, manner), make(rogue), 1 / rogue.rate_pps(usual_pps))

    return behave


def _send_and_answer(connected: Callable[[], list[Connection]], message: bytes, seconds: float) -> None:
    """Send a message once it is connected, and answer the controller; connecting is part of the time."""
    end_s = time.monotonic() + seconds
    connections = connected()
    for each in connections[:1]:
        each.offer(message, 0, 0.0)
    turn(connections, end_s - time.monotonic())
    time.sleep(max(0.0, end_s - time.monotonic()))


def _say_nothing(_given: bytes, _dpid: int) -> Heard:
    """A switch that answers nothing: what it has sent stays the last."""
    return Heard(Meaning.REQUEST)


def _made(make: Callable[[np.random.Generator], bytes]) -> Make:
    return lambda rogue: make(rogue.rng)


def _lies(hear: Callable[..., Heard]) -> Callable[[Rogue], Manner]:
    """How a switch talks whose answers `hear` gives, for its ports; answers have a random generator of their own."""

    def manner_of(rogue: Rogue) -> Manner:
        return Manner(lambda given, dpid: hear(rogue.answers_rng, given, dpid, rogue.switch.ports))

    return manner_of


BEHAVIOUR_OF: dict[str, Behave] = {
    "flood": flood,
    "malformed": sends(lambda rogue: malformed(rogue.rng)[1], _MALFORMED_PPS),
    "endless": sends(_made(endless), _MALFORMED_PPS),
    "connections": many_connections,
    "stall": stall,
    "zero-length": sends(_made(zero_length), _MALFORMED_PPS),
    "truncated": sends(_made(truncated), _MALFORMED_PPS),
    "oversized": sends(_made(oversized), _OVERSIZED_PPS),
    "wrong-version": speaks_other_version,
    "half-open": half_open,
    "slow-reader": slow_reader,
    # A lie counts once the controller has asked a new switch for everything.
    "port-lies": sends(
        lambda rogue: port_lie(rogue.rng, rogue.switch.ports), _LIES_PPS, _lies(hear_lying_about_ports), Rogue.remaining
    ),
    "description-lies": sends(_made(description_lie), _LIES_PPS, _lies(hear_lying_about_itself), Rogue.remaining),
    "claims-id": claims_id,
}
