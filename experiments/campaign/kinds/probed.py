"""Kinds "mixed", "flow", "node", "chosen-pairs" and "download": pings, UDP, files while links fail at once.

All need an emulated network. They share a session: the network of a variant, round and capacity stays up from one to
the next.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from experiments.campaign.kind import TrialKind, after
from experiments.campaign.parameters import Parameters, typed_part
from experiments.campaign.values import GIVE_UP_S, Json


@dataclass(frozen=True, slots=True)
class WatchedParameters(Parameters):
    """Waiting times, and the load where a figure sweeps it.

    `wait_to_restore_s` is how long the network waits before it trusts a repaired link, `settle_s` how long clients run
    before the first window. `load` is what traffic on shortest paths offers the fullest link, as a share of its
    capacity; None: that of the set-up.
    """

    wait_to_restore_s: float = 1.0
    settle_s: float = 0.5
    load: float | None = None


@dataclass(frozen=True, slots=True)
class DownloadParameters(WatchedParameters):
    """How long downloads run before the failure, and after what time they are given up."""

    head_start_s: float = 0.5
    give_up_s: float = 20.0


@dataclass(frozen=True, slots=True)
class Phase:
    """A pair in one window: its pings, packets that backtracked either way, and its UDP (goodput None: without UDP)."""

    sent: int
    received: int
    lost: int
    backtracked: int
    rtt_mean_ms: float | None
    rtt_p50_ms: float | None
    rtt_p99_ms: float | None
    udp_sent: int
    udp_received: int
    goodput_mbps: float | None


@dataclass(frozen=True, slots=True)
class Download:
    """A pair's file: `bytes` had arrived when it ended, or was given up; then `seconds` and rate are None."""

    seconds: float | None
    bytes: int
    finished: bool
    goodput_mbps: float | None


@dataclass(frozen=True, slots=True)
class PairRow:
    """A pair of a trial; a trial of kind "download" has no phases, others no download.

    Attributes
    ----------
    primary, primary_back
        Links out and back while nothing is broken.
    hit
        Failed links of `primary`.
    joined
        Whether the pair is connected without the failed links.
    hops_back
        That its first packet backtracks from the first failed link by the tree planner.
    phases
        By name of the window.
    backtracked_out, backtracked_back
        Packets.
    backtracking_rtt_ms, backtracking_rtt_back_ms
        Of the first packet that backtracked on each way.
    """

    source: str
    destination: str
    primary: tuple[str, ...]
    primary_back: tuple[str, ...]
    hit: tuple[str, ...]
    joined: bool
    hops_back: int | None
    phases: dict[str, Phase]
    backtracked_out: int | None
    backtracked_back: int | None
    outage_ms: float | None
    convergence_ms: float | None
    backtracking_rtt_ms: float | None
    backtracking_rtt_back_ms: float | None
    download: Download | None


@dataclass(frozen=True, slots=True)
class Backtracking:
    """When the last packet backtracked (ms); since detection it is None when no switch reported a failed port."""

    from_failure: float
    from_detection: float | None


@dataclass(frozen=True, slots=True)
class DirectionRow:
    """A direction whose primary path crosses a failed link, and for how long its packets backtracked or were lost.

    Attributes
    ----------
    source, destination, link
        `link` is the failed one that was detected first.
    detected_ms
        After the failure, by the watcher's clock; None: nobody reported it.
    backtracking_ms
        Since detection; None while packets still backtracked at the end, and without detection.
    outage_ms
        Since detection, until packets arrived again; None while they were still lost at the end, and without detection.
    """

    source: str
    destination: str
    link: str
    detected_ms: float | None
    backtracking_ms: float | None
    outage_ms: float | None


@dataclass(frozen=True, slots=True)
class ProbedRow:
    """What figures read of a row.

    Attributes
    ----------
    topology, variant, round, failures
        Of the trial.
    udp_mbps
        Offered by each pair.
    windows_s
        Begin and end by name, from the failure; empty for downloads.
    stages_ms
        Of the recovery, from the failure (None: does not apply).
    backtracking_ms
        None where packets still backtracked at the end, and for downloads.
    give_up_s
        What an unfinished download counts with.
    directions
        Empty for downloads, and in rows of versions that did not measure them.
    processor_s
        Processor time of all processes of a name ("agent", "ovs-vswitchd", "controller") in the trial and its return;
        empty in rows of versions that did not measure it.
    """

    topology: str
    variant: str
    round: int
    failures: int
    udp_mbps: float | None
    ping_interval_ms: float
    windows_s: dict[str, tuple[float, float]]
    stages_ms: dict[str, float | None]
    backtracking_ms: Backtracking | None
    pairs: tuple[PairRow, ...]
    give_up_s: float
    directions: tuple[DirectionRow, ...] = ()
    processor_s: dict[str, float] = field(default_factory=dict)


def read_row(row: Json) -> ProbedRow:
    """A good row of these kinds (`BadInputError`); early ones have one round-trip time for both ways."""
    pairs = [{"backtracking_rtt_back_ms": pair["backtracking_rtt_ms"], **pair} for pair in row["pairs"]]
    give_up_s = (row.get("parameters") or {}).get("give_up_s", GIVE_UP_S)
    return typed_part(ProbedRow, {**row, "pairs": pairs, "windows_s": row["windows_s"] or {}, "give_up_s": give_up_s})


_RUNNER = "experiments.testbed.trials.session:probed_runner"
MIXED = TrialKind("mixed", _RUNNER, after(9.0), emulated=True)
FLOW = TrialKind("flow", _RUNNER, after(6.0), emulated=True)
DOWNLOAD = TrialKind("download", _RUNNER, after(25.0), emulated=True)
NODE = TrialKind("node", _RUNNER, after(9.0), emulated=True)
CHOSEN_PAIRS = TrialKind("chosen-pairs", _RUNNER, after(9.0), emulated=True)
