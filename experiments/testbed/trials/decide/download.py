"""The row of a trial of kind "download": how long each pair's file took, from the first byte asked for to the last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from experiments.analysis.injected import InjectedEvent
from experiments.analysis.timeline import STAGES
from experiments.campaign.values import Json, Trial
from experiments.testbed.trials.decide.row import PACKET_MEASURES, Pair, PairFacts, pair_head


class Fetched(Protocol):
    """One download (experiments.testbed.instruments.downloads.Download); `end_s` None: it was given up."""

    @property
    def source(self) -> str:
        """Node that fetched."""

    @property
    def destination(self) -> str:
        """Node of the web server."""

    @property
    def start_s(self) -> float:
        """CLOCK_MONOTONIC of its beginning."""

    @property
    def end_s(self) -> float | None:
        """CLOCK_MONOTONIC of its end."""

    @property
    def received_bytes(self) -> int:
        """What arrived."""


def download_row(
    trial: Trial, downloads: Sequence[Fetched], injected: Sequence[InjectedEvent], facts: Mapping[Pair, PairFacts]
) -> Json:
    """What a trial of kind "download" measured, as the shape that rows.jsonl keeps; nothing of it is per window."""
    start_s = min((download.start_s for download in downloads), default=0.0)
    failure_s = min((event.before_s for event in injected), default=None)
    spread_s = None if failure_s is None else max(event.after_s for event in injected) - failure_s
    return {
        "windows_s": None,
        "failure_after_start_s": None if failure_s is None else round(failure_s - start_s, 3),
        "failure_spread_ms": None if spread_s is None else round(spread_s * 1000, 3),
        "stages_ms": dict.fromkeys(STAGES),
        "convergence_ms": None,
        "backtracking_ms": None,
        "crankback_frames": None,
        "pairs": [_pair(trial, download, facts[download.source, download.destination]) for download in downloads],
        "timeline": None,
    }


def _pair(trial: Trial, download: Fetched, facts: PairFacts) -> Json:
    ends = (download.source, download.destination)
    head = pair_head(ends, facts, trial.links)
    return {**head, "phases": {}, **dict.fromkeys(PACKET_MEASURES), "download": _download(download)}


def _download(download: Fetched) -> Json:
    """Goodput of a download that was given up is null: nobody knows when its last byte came."""
    seconds = None if download.end_s is None else download.end_s - download.start_s
    return {
        "seconds": None if seconds is None else round(seconds, 3),
        "bytes": download.received_bytes,
        "finished": seconds is not None,
        "goodput_mbps": None if seconds is None else round(download.received_bytes * 8 / seconds / 1e6, 4),
    }
