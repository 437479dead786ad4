"""The screen of `armor run --watch`: what it names, and that it fits."""

from __future__ import annotations

import io
import os
import struct
import termios
from dataclasses import replace
from fcntl import ioctl
from unicodedata import east_asian_width

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.live.decide.document import EventView, FailureView
from experiments.live.decide.hosts import Packets, apart, flow_counts, packets_of
from experiments.live.decide.screen import FlowCounts, Watched, plain_lines, screen_lines
from experiments.live.watch import PlainLog, Screen, display

HIGH = 10_000


def failure(name="s4-s5", start_ms=1000.0, end_ms=None, *, detected_ms=None, knows=(), kind="silent", links=None):
    return FailureView(
        name=name,
        kind=kind,
        links=(name,) if links is None else links,
        nodes=(),
        down=((start_ms, end_ms),),
        returned_ms=None,
        stages={} if detected_ms is None else {"detect": detected_ms},
        notified=dict.fromkeys(knows, start_ms),
        lost=0,
        backtracked=0,
        outage_ms=0.0,
        has_recovered=True,
    )


INSTALL = EventView(1020.0, "agent_install", "the agent of s5 installs 4 rows", "s5", 4)
WATCHED = Watched(
    "figure2: sdfast-agent",
    "sdfast-agent: second 2",
    2500.0,
    9000.0,
    (failure(detected_ms=1013.2, knows=("s5", "s6")),),
    (INSTALL,),
    (FlowCounts("h1 > h5", 1000, 990, 990, 989),),
    8,
)


def text_of(watched, width=80, height=24):
    return "\n".join(line.text for line in screen_lines(watched, width, height))


def test_a_failure_that_lasts():
    assert text_of(WATCHED, 120).splitlines() == [
        "figure2: sdfast-agent   second 2.5 of 9",
        "sdfast-agent: second 2",
        "",
        "failed links: s4-s5",
        "1.000 s  s4-s5 fails (silent), detected after 13.2 ms, an agent installs rows after 20.0 ms, "
        "2 of 8 switches know",
        "",
        "packets       sent    arrived   answered   returned    missing",
        "h1 > h5      1,000        990        990        989         11",
        "",
        "last events",
        "   1.020 s  the agent of s5 installs 4 rows",
    ]


def test_a_failure_that_is_over_is_not_down_any_more():
    shown = text_of(replace(WATCHED, failures=(failure(end_ms=2000.0, detected_ms=1010.0),)))
    assert "failed links: none" in shown
    assert "repaired at 2.000 s" in shown


def test_a_switch_is_named_with_its_links_and_a_process_that_is_started_again_is_not_down():
    node = failure("s2", links=("s1-s2", "s2-s3"), kind="node")
    killed = failure("agent@s3", links=(), kind="kill")
    shown = text_of(replace(WATCHED, failures=(node, killed))).splitlines()
    assert "failed links: s1-s2, s2-s3" in shown
    assert "failed: s2" in shown
    assert "1.000 s  agent@s3 is killed" in shown


def test_before_second_0_the_screen_counts_down():
    assert "second 0 in 0.5 s" in text_of(replace(WATCHED, now_ms=-500.0))


@st.composite
def watched(draw):
    """Runs with any texts, failures and events."""
    times = st.floats(0, 1e6)
    names = draw(st.lists(st.from_regex(r"s[1-9][0-9]?-s[1-9][0-9]?", fullmatch=True), max_size=30, unique=True))
    failures = tuple(
        failure(
            name,
            draw(times),
            draw(st.none() | times),
            detected_ms=draw(st.none() | times),
            kind=draw(st.sampled_from(("silent", "kill"))),
        )
        for name in names
    )
    texts = draw(st.lists(st.text(max_size=200), max_size=20))
    events = tuple(EventView(draw(times), "x", f"{number} {text}") for number, text in enumerate(texts))
    counts = st.integers(0, 10**9)
    flows = tuple(FlowCounts(f"h{number} > h{number + 1}", *(draw(counts) for _ in range(4))) for number in range(3))
    return Watched(draw(st.text(max_size=200)), draw(st.text()), draw(st.none() | times), None, failures, events, flows)


@given(watched(), st.integers(1, 200), st.integers(1, 100))
def test_the_screen_fits_the_terminal_and_moves_no_cursor(seen, width, height):
    lines = screen_lines(seen, width, height)
    assert 1 <= len(lines) <= height
    assert all(len(line.text) <= width for line in lines)
    assert all(line.text.isprintable() for line in lines)
    assert not any(east_asian_width(letter) in "WF" for line in lines for letter in line.text), "two columns each"


@given(watched(), st.integers(40, 200))
def test_every_failed_link_is_named_and_no_other(seen, width):
    lines = [line.text for line in screen_lines(seen, width, HIGH)]
    first = next(number for number, line in enumerate(lines) if line.startswith("failed links: "))
    piece = [lines[first]]
    for line in lines[first + 1 :]:
        if not line.startswith("    "):
            break
        piece.append(line.strip())
    named = " ".join(piece).removeprefix("failed links: ").split(", ")
    down = [
        each.name
        for each in seen.failures
        if each.kind != "kill"
        and (each.down[0][1] is None or (seen.now_ms is not None and seen.now_ms < each.down[0][1]))
    ]
    assert named == (down or ["none"])


@given(watched(), st.integers(10, 60))
def test_the_last_event_is_shown_before_earlier_ones(seen, height):
    last = EventView(2e6, "x", "the last event")
    shown = text_of(replace(seen, events=(*seen.events, last)), 80, height).splitlines()
    assert shown[-1] == "2000.000 s  the last event"


@given(watched())
def test_lines_name_each_event_once_whenever_somebody_looks(seen):
    half = replace(seen, events=seen.events[: len(seen.events) // 2])
    in_two = [*plain_lines(None, half), *plain_lines(half, seen), *plain_lines(seen, seen)]
    assert sorted(in_two) == sorted(plain_lines(None, seen))


def test_seconds_that_pass_are_no_lines():
    later = replace(WATCHED, phase="sdfast-agent: second 3", now_ms=3500.0)
    assert plain_lines(WATCHED, later) == []
    over = replace(later, phase="sdfast-agent: reading the captures", now_ms=9500.0)
    assert plain_lines(later, over) == ["sdfast-agent: reading the captures"]


# ---- counters


def test_only_flows_with_hosts_of_their_own_are_counted():
    assert apart([("s1", "s5"), ("s2", "s6"), ("s6", "s3")]) == (("s1", "s5"),)


def test_packets_of_a_flow_are_those_between_two_readings():
    before = {"s1": Packets(10, 5), "s5": Packets(5, 10)}
    now = {"s1": Packets(110, 95), "s5": Packets(97, 102)}
    (flow,) = flow_counts([("s1", "s5")], before, now)
    assert (flow.sent, flow.arrived, flow.answered, flow.returned, flow.missing) == (100, 92, 92, 90, 10)
    assert flow_counts([("s1", "s9")], before, now) == ()


def test_the_kernel_lists_counters_as_they_are_read():
    with open("/proc/net/dev", encoding="utf-8") as file:
        text = file.read()
    with open("/sys/class/net/lo/statistics/tx_packets", encoding="utf-8") as file:
        assert packets_of(text, "lo").sent <= int(file.read())
    assert packets_of(text, "none") == Packets(0, 0)


# ---- the shell


@pytest.fixture
def terminal():
    """A terminal of 80 columns and 24 lines, and what it is sent."""
    master, slave = os.openpty()
    ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))

    def read_to(end: str) -> str:
        """A terminal may give its text in parts."""
        text = b""
        while not text.decode().endswith(end):
            text += os.read(master, 65536)
        return text.decode()

    with os.fdopen(slave, "w") as stream:
        yield stream, read_to
    os.close(master)


@pytest.mark.parametrize("has_colours", [True, False])
def test_a_screen_takes_the_terminal_and_gives_it_back(terminal, has_colours):
    stream, read_to = terminal
    screen = Screen(stream, has_colours=has_colours)
    screen.open()
    screen.show(WATCHED)
    screen.close()
    text = read_to("\x1b[?25h\x1b[?1049l")
    assert text.startswith("\x1b[?1049h\x1b[?25l")
    assert "failed links: s4-s5" in text
    assert ("\x1b[31m" in text or "\x1b[32m" in text) == has_colours


def test_what_is_no_terminal_gets_lines(monkeypatch, terminal):
    stream, _ = terminal
    monkeypatch.setattr("sys.stderr", io.StringIO())
    assert isinstance(display(), PlainLog)
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(display(), PlainLog)
    monkeypatch.setenv("TERM", "xterm")
    assert isinstance(display(), Screen)
