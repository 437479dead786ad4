"""What a kind of trials says of itself; each is a value in a file of experiments/campaign/kinds, found by folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from experiments.campaign.values import Trial

Seconds = Callable[[Trial], float]


@dataclass(frozen=True, slots=True)
class TrialKind:
    """A kind of trials.

    Attributes
    ----------
    name
        As trials and rows give it.
    runner
        "module:function", what makes its runner from `TestbedSettings`. Kinds with one runner share sessions. A
        name, so that who reads rows needs nothing that acts.
    seconds : callable
        What a trial takes on a network that is there, for estimates (`durations`).
    emulated
        Whether it builds an emulated network, which takes its time and whose machine is calibrated.
    root
        Whether it starts switches or makes network namespaces.
    """

    name: str
    runner: str
    seconds: Seconds
    emulated: bool = False
    root: bool = True


def after(around_s: float, *, timed: bool = True) -> Seconds:
    """Estimate: so many seconds around what the trial's windows, or its parameter `seconds`, last.

    Parameters
    ----------
    around_s
        Start of the instruments, reading of captures, the return.
    timed
        Whether the windows are not in `around_s` yet.
    """

    def seconds(trial: Trial) -> float:
        windows_s = trial.timing.total_s if trial.timing and timed else 0.0
        return around_s + windows_s + float(getattr(trial.parameters, "seconds", 0.0))

    return seconds
