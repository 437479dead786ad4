"""What a terminal shows of a run that goes on: values to lines of text that fit."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple
from unicodedata import east_asian_width

from experiments.live.decide.document import EventView, FailureView
from mininet_topos.wording import counted

Tone = Literal["", "title", "bad", "good"]
_KILLS = ("kill", "hold")  # of processes; everything else that fails is a link, a switch or the control network
_INDENT = "    "
_LEAST_EVENTS = 3
_WIDE = "WF"  # classes of Unicode's East Asian Width that take two columns


class Line(NamedTuple):
    """A line of the screen, and how it is emphasised where the terminal has colours."""

    text: str
    tone: Tone = ""


@dataclass(frozen=True)
class FlowCounts:
    """Packets of a flow since second 0, by the counters of its two hosts' devices.

    Attributes
    ----------
    sent, arrived
        By the source, at the destination.
    answered, returned
        By the destination, at the source.
    """

    name: str
    sent: int
    arrived: int
    answered: int
    returned: int

    @property
    def missing(self) -> int:
        """Packets that were lost or are still on the way."""
        return max(0, self.sent - self.arrived) + max(0, self.answered - self.returned)


@dataclass(frozen=True)
class Watched:
    """A run at one moment; times in ms after second 0.

    Attributes
    ----------
    title
        Topology and run.
    phase
        What is going on.
    now_ms, end_ms
        None: not known (yet).
    failures, events
        In order of time.
    flows
        Those of which the hosts' counters tell.
    n_switches
        Of the network.
    """

    title: str
    phase: str
    now_ms: float | None = None
    end_ms: float | None = None
    failures: tuple[FailureView, ...] = ()
    events: tuple[EventView, ...] = ()
    flows: tuple[FlowCounts, ...] = ()
    n_switches: int = 0

    @property
    def is_measuring(self) -> bool:
        """Whether second 0 has come and the scenario's end has not."""
        return self.now_ms is not None and self.now_ms >= 0 and (self.end_ms is None or self.now_ms <= self.end_ms)


def screen_lines(watched: Watched, width: int, height: int) -> tuple[Line, ...]:
    """The screen: elapsed time, what is down, recovery of each failure, packets, last events.

    Parameters
    ----------
    width, height
        Of the terminal, in columns and lines.

    Returns
    -------
    At most `height` lines of at most `width` columns; what does not fit is left out from below, events first.
    """
    above = [piece for line in _above(watched) for piece in _wrapped(line, width)]
    n_events = max(min(_LEAST_EVENTS, height // 4), height - len(above) - 2)
    shown = [Line(f"{_seconds(event.t_ms):>10}  {event.text}") for event in watched.events[-max(n_events, 1) :]]
    below = [Line(""), Line("last events", "title"), *shown] if shown else []
    room = height - len(below)
    if len(above) > room:
        above = [*above[: max(0, room - 1)], Line(f"... {counted(len(above) - room + 1, 'more line')}")]
    return tuple(Line(_printable(line.text)[:width], line.tone) for line in [*above, *below][:height])


def plain_lines(before: Watched | None, now: Watched) -> list[str]:
    """What a log says of the same run: each event and each phase once; seconds that pass are no news."""
    is_other = before is None or before.title != now.title
    known = set() if before is None or is_other else set(before.events)
    found = [f"{_seconds(event.t_ms)}  {event.text}" for event in now.events if event not in known]
    if (is_other or (before is not None and before.phase != now.phase)) and not now.is_measuring:
        found.append(now.phase)
    return [_printable(text) for text in found]


def _above(watched: Watched) -> Iterator[Line]:
    yield Line(f"{watched.title}   {_elapsed(watched)}", "title")
    yield Line(watched.phase)
    yield Line("")
    down = [failure for failure in watched.failures if _is_down(failure, watched.now_ms)]
    links = list(dict.fromkeys(link for failure in down for link in failure.links))
    others = [failure.name for failure in down if failure.name not in links]
    yield Line(f"failed links: {', '.join(links) or 'none'}", "bad" if links else "")
    if others:
        yield Line(f"failed: {', '.join(others)}", "bad")
    for failure in watched.failures:
        yield _failure(failure, watched)
    if watched.flows:
        yield Line("")
        yield from _flows(watched.flows)


def _elapsed(watched: Watched) -> str:
    if watched.now_ms is None:
        return ""
    if watched.now_ms < 0:
        return f"second 0 in {-watched.now_ms / 1000:.1f} s"
    if watched.end_ms is not None and watched.now_ms > watched.end_ms:
        return f"all {watched.end_ms / 1000:g} s over"
    of = "" if watched.end_ms is None else f" of {watched.end_ms / 1000:g}"
    return f"second {watched.now_ms / 1000:.1f}{of}"


def _is_down(failure: FailureView, now_ms: float | None) -> bool:
    _, end_ms = failure.down[-1]
    return failure.kind not in _KILLS and (end_ms is None or (now_ms is not None and now_ms < end_ms))


def _failure(failure: FailureView, watched: Watched) -> Line:
    start_ms, end_ms = failure.down[-1]
    if failure.kind in _KILLS:
        return Line(f"{_seconds(start_ms)}  {failure.name} is killed")
    parts = [f"{_seconds(start_ms)}  {failure.name} fails ({failure.kind})"]
    detected_ms = failure.stages.get("detect")
    if failure.links:
        parts.append("not detected" if detected_ms is None else f"detected after {detected_ms - start_ms:.1f} ms")
    rows_ms = _first_rows_ms(watched.events, start_ms, end_ms)
    if rows_ms is not None:
        parts.append(f"an agent installs rows after {rows_ms - start_ms:.1f} ms")
    if failure.notified:
        parts.append(f"{len(failure.notified)} of {counted(watched.n_switches, 'switch', 'switches')} know")
    if end_ms is not None:
        parts.append(f"repaired at {_seconds(end_ms)}")
    if failure.returned_ms is not None:
        parts.append(f"usual routes back at {_seconds(failure.returned_ms)}")
    is_over = end_ms is not None
    return Line(", ".join(parts), "" if is_over else "bad" if detected_ms is None else "good")


def _first_rows_ms(events: Sequence[EventView], start_ms: float, end_ms: float | None) -> float | None:
    """When an agent first installed rows while something was down."""
    until_ms = float("inf") if end_ms is None else end_ms
    times = (event.t_ms for event in events if event.kind == "agent_install" and event.rows > 0)
    return min((t_ms for t_ms in times if start_ms <= t_ms <= until_ms), default=None)


def _flows(flows: Sequence[FlowCounts]) -> Iterator[Line]:
    names = max(len("packets"), *(len(flow.name) for flow in flows))
    heads = ("sent", "arrived", "answered", "returned", "missing")
    yield Line(f"{'packets':<{names}}" + "".join(f"{head:>11}" for head in heads), "title")
    for flow in flows:
        numbers = (flow.sent, flow.arrived, flow.answered, flow.returned, flow.missing)
        yield Line(f"{flow.name:<{names}}" + "".join(f"{number:>11,}" for number in numbers))


def _wrapped(line: Line, width: int) -> list[Line]:
    pieces = textwrap.wrap(
        line.text,
        max(width, 1),
        subsequent_indent=_INDENT if width > 2 * len(_INDENT) else "",
        break_on_hyphens=False,
        replace_whitespace=False,
        drop_whitespace=True,
    )
    return [Line(piece, line.tone) for piece in pieces] or [Line("")]


def _seconds(t_ms: float) -> str:
    return f"{t_ms / 1000:.3f} s"


def _printable(text: str) -> str:
    """One column a letter, and nothing that moves the cursor."""
    return "".join(letter if letter.isprintable() and east_asian_width(letter) not in _WIDE else "?" for letter in text)
