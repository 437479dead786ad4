"""What became of short flows: their completion times, and which of them an outage hit."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from experiments.campaign.values import Json
from mininet_topos.errors import ArmorError

SENT_FIELDS, TAKEN_FIELDS = 3, 5
GIVE_UP_MS = 8000.0  # so long flows are waited for after the last has begun


class WorkloadError(ArmorError):
    """A sender or receiver of flows went wrong; the message says what it said."""


@dataclass(frozen=True)
class Sent:
    """A flow at its sender: when connect() was called, what was retransmitted, whether it ended in time."""

    started_ns: int
    retransmits: int
    ended: bool


@dataclass(frozen=True)
class Taken:
    """A flow at its receiver: when connection and last data were taken, and the longest time between two takings."""

    accepted_ns: int
    last_ns: int
    received_bytes: int
    silence_ns: int


@dataclass(frozen=True)
class Outage:
    """A path that was down from `shut_ns` until `usable_ns`, when it worked again or traffic was led around it."""

    shut_ns: int
    usable_ns: int

    @property
    def length_ms(self) -> float:
        """How long it was down."""
        return round((self.usable_ns - self.shut_ns) / 1e6, 3)


@dataclass(frozen=True)
class FlowOutcome:
    """A flow of a workload; `done_ns` is when its last byte was taken, None if not all of them were.

    `silence_ns` is the longest time in which its receiver saw nothing, counted from connect().
    """

    size_bytes: int
    started_ns: int
    done_ns: int | None
    silence_ns: int
    retransmits: int

    @property
    def completion_ms(self) -> float | None:
        """From connect() to the last byte, in milliseconds."""
        return None if self.done_ns is None else (self.done_ns - self.started_ns) / 1e6

    def meets(self, outage: Outage) -> bool:
        """Whether an outage hit the flow: begun before the path was usable again, and not done by then.

        A flow that was done by then had all its bytes past the failed link already.
        """
        return self.started_ns < outage.usable_ns and (self.done_ns is None or self.done_ns > outage.usable_ns)


def read_sent(text: str) -> list[Sent]:
    """Read what a sender prints.

    Raises
    ------
    WorkloadError
        It is no report.
    """
    return [Sent(row[0], row[1], bool(row[2])) for row in _rows(text, SENT_FIELDS, "sender")]


def read_taken(text: str) -> dict[int, Taken]:
    """Read what a receiver prints: flows by source port.

    Raises
    ------
    WorkloadError
        It is no report.
    """
    return {row[0]: Taken(*row[1:]) for row in _rows(text, TAKEN_FIELDS, "receiver")}


def _rows(text: str, fields: int, who: str) -> list[list[int]]:
    try:
        rows = [[int(each) for each in row] for row in json.loads(text)["flows"]]
        if any(len(row) != fields for row in rows):
            raise WorkloadError(f"the {who} of flows printed a row without {fields} numbers")
        return rows
    except (ValueError, KeyError, TypeError) as error:
        raise WorkloadError(f"the {who} of flows printed {text[:80]!r}, which is no report") from error


def join(
    sizes_bytes: Sequence[int], sent: Sequence[Sent], taken: Mapping[int, Taken], first_port: int
) -> list[FlowOutcome]:
    """Outcomes of the flows that began, in order.

    Parameters
    ----------
    sizes_bytes
        Of all flows of the plan; the last may not have begun.
    taken
        By source port.
    first_port
        Of flow 0.

    Raises
    ------
    WorkloadError
        A receiver took more than was sent.
    """
    outcomes = []
    for number, (size_bytes, begun) in enumerate(zip(sizes_bytes, sent, strict=False)):
        came = taken.get(first_port + number)
        if came is not None and came.received_bytes > size_bytes:
            raise WorkloadError(
                f"flow {number} has {size_bytes} bytes, but {came.received_bytes} came; is the port ours?"
            )
        if came is None or came.received_bytes < size_bytes:
            outcomes.append(FlowOutcome(size_bytes, begun.started_ns, None, 0, begun.retransmits))
            continue
        silence_ns = max(came.accepted_ns - begun.started_ns, came.silence_ns)
        outcomes.append(FlowOutcome(size_bytes, begun.started_ns, came.last_ns, silence_ns, begun.retransmits))
    return outcomes


def hits_of(outcomes: Sequence[FlowOutcome], outages: Sequence[Outage]) -> list[tuple[int, Outage]]:
    """The flows that were hit, by number, and the first outage that each met."""
    later = sorted(outages, key=lambda outage: outage.shut_ns)
    met = (next((outage for outage in later if flow.meets(outage)), None) for flow in outcomes)
    return [(number, outage) for number, outage in enumerate(met) if outage is not None]


def workload_row(outcomes: Sequence[FlowOutcome], outages: Sequence[Outage], left_out: Collection[Outage] = ()) -> Json:
    """Columns of a trial: size and completion time of every flow, and the flows that were hit.

    `hits` holds for each of these: number of the flow, its start after the beginning of the first outage that it met
    (ms, negative if it was under way), its longest silence (ms), segments retransmitted. Those that met one of
    `left_out` first are not among them.
    """
    hits = []
    for number, met in hits_of(outcomes, outages):
        if met not in left_out:
            flow = outcomes[number]
            after_ms = (flow.started_ns - met.shut_ns) / 1e6
            hits.append([number, round(after_ms, 3), round(flow.silence_ns / 1e6, 3), flow.retransmits])
    times = [flow.completion_ms for flow in outcomes]
    return {
        "flows": len(outcomes),
        "unfinished": sum(each is None for each in times),
        "retransmitted": sum(flow.retransmits > 0 for flow in outcomes),
        "sizes_bytes": [flow.size_bytes for flow in outcomes],
        "completion_ms": [None if each is None else round(each, 3) for each in times],
        "hits": hits,
        "outages_ms": [each.length_ms for each in outages],
    }


def read_netstat(text: str) -> dict[str, int]:
    """Counters of a network namespace, from /proc/net/netstat: pairs of lines, names and values.

    Examples
    --------
    >>> read_netstat("TcpExt: TCPTimeouts TCPLossProbes\\nTcpExt: 3 5\\n")
    {'TCPTimeouts': 3, 'TCPLossProbes': 5}
    """
    lines = text.splitlines()
    found: dict[str, int] = {}
    for names, values in zip(lines[::2], lines[1::2], strict=False):
        found.update(zip(names.split()[1:], (int(each) for each in values.split()[1:]), strict=True))
    return found
