"""What calibration sends, and what it says about it: pure parts of experiments.testbed.trials.calibrate."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from experiments.analysis.datagrams import Datagram
from experiments.analysis.record import Record
from experiments.analysis.timeline import Window
from experiments.campaign.values import Json, Timing, Trial, Variant
from experiments.scenario.stream import Traffic
from experiments.scenario.traffic.iperf3_udp import Iperf3Udp
from mininet_topos.topology import LinkId, Topology

# Shorter intervals hold for seconds, not for the hour that a campaign takes: one that is too short by a hair makes
# trials untrustworthy one by one. 5 ms is also what an idle network needs a core for.
CANDIDATES_MS = (20, 50, 100)
# Of all processors, under load and while nothing fails. A failure asks every switch for more within milliseconds: what
# is slow then should be the scheme, not the machine.
MOST_SWITCH_SHARE = 0.6
VARIANT = Variant("sdfast", "learned", "tree")
TIMING = Timing(before_s=1.0, transient_s=1.0, converged_s=6.0)
OVERFILL = 1.5  # offered to the link that is to be full, over its capacity
_HEADER_BYTES = 14 + 20 + 8  # Ethernet, IPv4, UDP: what the shaper counts besides the payload


@dataclass(frozen=True)
class FullLink:
    """What a full link did.

    Attributes
    ----------
    reached_mbps
        Frames that came out of it, headers included.
    flaps
        Changes of BFD's verdict anywhere meanwhile.
    control_ms, best_effort_ms
        Mean round-trip time of pings in the class of control packets and in that of all others; None: all lost.
    """

    reached_mbps: float
    flaps: int
    control_ms: float | None
    best_effort_ms: float | None


def calibration_trial(trials: Iterable[Trial]) -> Trial | None:
    """The first mixed trial of a campaign without its failures, on our own variant; None when no trial has such a load.

    Its pairs and their load are those of a round, so that calibration sees what trials will see.
    """
    mixed = next((trial for trial in trials if trial.kind == "mixed"), None)
    if mixed is None:
        return None
    return replace(mixed, trial_id="calibration", variant=VARIANT, failures=0, links=(), timing=TIMING)


def holds(attempt: Json) -> bool:
    """Whether a BFD interval is long enough, by what was seen while nothing failed.

    Parameters
    ----------
    attempt
        `flaps`, and `switch_share`: of all processors, used by the switches.
    """
    return not attempt["flaps"] and attempt["switch_share"] <= MOST_SWITCH_SHARE


def without_load(facts: Json) -> Json:
    """Facts of a campaign that builds no network with load: nothing of it was measured."""
    unknown = dict.fromkeys(("bfd_interval_ms", "bfd", "ping", "udp", "link", "full_link_flaps", "full_link_delay_ms"))
    return {**unknown, **facts}


def load_facts(record: Record, found: Iterable[Sequence[Datagram]], udp_mbps: float | None, window: Window) -> Json:
    """Pings sent and lost, UDP offered and received, over all pairs and within a window.

    Offered is what left the hosts, not what iperf3 was asked for.
    """
    flights = [flight for stream in record.streams for way in stream.flights for flight in way]
    pings = [flight for flight in flights if window.holds(flight.sent_s)]
    facts: Json = {"ping": {"sent": len(pings), "lost": sum(flight.is_lost for flight in pings)}, "udp": None}
    if udp_mbps is not None:
        sent = [each for datagrams in found for each in datagrams if window.holds(each.sent_s)]
        facts["udp"] = {
            "offered_mbps": _mbps((each.size_bytes for each in sent), window),
            "received_mbps": _mbps((each.size_bytes for each in sent if each.arrived_s is not None), window),
        }
    return facts


def full_link_facts(full: FullLink, capacity_mbps: float) -> Json:
    """Facts about the full link, in the words of calibration.json."""
    return {
        "link": {"capacity_mbps": capacity_mbps, "reached_mbps": full.reached_mbps},
        "full_link_flaps": full.flaps,
        "full_link_delay_ms": {"control_ms": full.control_ms, "best_effort_ms": full.best_effort_ms},
    }


def frame_mbps(found: Iterable[Datagram], window: Window) -> float:
    """Rate of the frames that arrived within a window, headers included."""
    arrived = (each for each in found if each.arrived_s is not None and window.holds(each.arrived_s))
    return _mbps((each.size_bytes + _HEADER_BYTES for each in arrived), window)


def full_link_traffic(link: LinkId, capacity_mbps: float) -> Traffic:
    """A stream between the link's ends that is more than it carries."""
    return Iperf3Udp(link.a, link.b, rate_mbps=OVERFILL * capacity_mbps)


def lonely_link(topology: Topology) -> LinkId:
    """A link that alone joins its ends, so that what is sent between them crosses it."""
    ends = [frozenset((link.a, link.b)) for link in topology.link_ids]
    return next(link for link, pair in zip(topology.link_ids, ends, strict=True) if ends.count(pair) == 1)


def mean_ping_ms(said: str) -> float | None:
    """Mean round-trip time that ping's last line gives; None when no answer came.

    Examples
    --------
    >>> mean_ping_ms("rtt min/avg/max/mdev = 0.040/0.051/0.070/0.010 ms")
    0.051
    """
    line = next((line for line in said.splitlines() if line.startswith("rtt ")), None)
    return None if line is None else float(line.split("=")[1].split("/")[1])


def _mbps(sizes: Iterable[int], window: Window) -> float:
    return round(8 * sum(sizes) / (window.end_s - window.start_s) / 1e6, 4)
