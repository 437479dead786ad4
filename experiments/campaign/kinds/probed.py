"""Kinds "mixed", "flow" and "download": pings, UDP and files on an emulated network whose links fail at once.

They share a session: the network of a variant, round and capacity stays up from one to the next.
"""

from __future__ import annotations

from dataclasses import dataclass

from experiments.campaign.kind import TrialKind, after
from experiments.campaign.parameters import Parameters


@dataclass(frozen=True, slots=True)
class WatchedParameters(Parameters):
    """How long the network waits before it trusts a repaired link, and how long clients run before the first window."""

    wait_to_restore_s: float = 1.0
    settle_s: float = 0.5


@dataclass(frozen=True, slots=True)
class DownloadParameters(WatchedParameters):
    """How long downloads run before the failure, and after what time they are given up."""

    head_start_s: float = 0.5
    give_up_s: float = 20.0


_RUNNER = "experiments.testbed.trials.session:probed_runner"
MIXED = TrialKind("mixed", _RUNNER, after(9.0), emulated=True)
FLOW = TrialKind("flow", _RUNNER, after(6.0), emulated=True)
DOWNLOAD = TrialKind("download", _RUNNER, after(20.0), emulated=True)
