"""Trials of kind "control": one load on one controller, in a regime; each gives a row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from experiments.campaign.values import Json, Trial
from experiments.environment import REPOSITORY
from experiments.ofload.bench import Measured, Surroundings, measure
from experiments.ofload.controllers import PSO_APP, RESPONDER, Controller, Watched
from experiments.ofload.cross_traffic import cross_traffic
from experiments.ofload.generator import MOST_LATENESS_MS, Switchboard
from experiments.ofload.link import ControlLink, LinkShape
from experiments.ofload.load_core import FRAME_BYTES, Load
from experiments.ofload.misbehave import rogue_beside
from experiments.papers.pso import paths, setup
from mininet_topos.catalogue import load_topology
from mininet_topos.errors import BadInputError
from ryu_apps.pmt.parse import parse_pmt

# A rate far above what Ryu answers shows its capacity.
_SATURATING_PPS, _SATURATING_S = 9000.0, 4.0
_TRIES = 3
_LEARNING_SWITCH = "simple_switch_13"
_REACTIVE = "ryu_apps/reactive.py"
_BOARD = Switchboard((), queue_pkts=setup.SWITCH_QUEUE_PKTS, patience_s=setup.PATIENCE_S)


def run_control(trial: Trial) -> Json:
    """Row of a trial.

    Raises
    ------
    BadInputError
        A trial without arm.
    LoadError
        The controller does not start or answer.
    """
    if trial.arm is None:
        raise BadInputError(f"the trial {trial.trial_id} names no arm; give it fifo or pso")
    regime = trial.parameters["regime"]
    row: Json = {"generator_late_ms": float("inf")}
    tries = 0
    # A generator that was late means that the machine stood still, whoever was measured: the same again.
    while row["generator_late_ms"] > MOST_LATENESS_MS and tries < _TRIES:
        row = _REGIMES[regime](trial, controller_of(trial.arm.name, regime))
        tries += 1
    return {**row, "tries": tries}


def controller_of(arm: str, regime: str) -> Controller:
    """Controller of an arm: an app alone, or behind PSO.

    Where the link fills up, the app does as little as possible; where the processor does, it is Ryu's learning switch.
    Paths are set up by an app that can answer for all of a path's switches at once.
    """
    if regime == paths.REGIME:
        settings = {"ARMOR_TOPOLOGY": str(REPOSITORY / paths.TOPOLOGY), **paths.SETTINGS[arm]}
        if arm == paths.BEHIND_PSO.name:
            return _behind_pso(_REACTIVE, setup.PMT[setup.REAL], settings)
        return Controller((_REACTIVE,), settings=settings)
    app = _LEARNING_SWITCH if regime in (setup.CPU, setup.MISBEHAVING) else RESPONDER
    if arm == setup.FIFO.name:
        return Controller((app,))
    return _behind_pso(app, setup.PMT[regime], {})


def _behind_pso(app: str, pmt: str, settings: Mapping[str, str]) -> Controller:
    path = REPOSITORY / pmt
    return Controller((PSO_APP, app), parse_pmt(path.read_text(encoding="utf-8"), pmt), path, settings)


def _link_bound(trial: Trial, controller: Controller) -> Json:
    rate_pps = trial.parameters["nl"] * setup.FULL_LOAD_PPS
    found = measure(_load(trial, rate_pps), controller, _shaped(controller))
    return _row(trial, found, {"capacity_pps": setup.FULL_LOAD_PPS})


def _real_switch(trial: Trial, controller: Controller) -> Json:
    load = replace(_load(trial, trial.parameters["nl"] * setup.FULL_LOAD_PPS), buffered=False)
    packet_outs_only = replace(controller, settings={"ARMOR_RESPONDER_FLOWS": "0"})
    found = measure(load, packet_outs_only, replace(_shaped(controller), real_switch=True))
    return _row(trial, found, {"capacity_pps": setup.FULL_LOAD_PPS})


def _in_band(trial: Trial, controller: Controller) -> Json:
    control_pps = setup.CONTROL_NL * setup.FULL_LOAD_PPS
    data_bits = 8 * (setup.DATA_BYTES + 42)
    data_pps = max(trial.parameters["nl"] - setup.CONTROL_NL, 0) * setup.LINK_MBPS * 1e6 / data_bits

    def beside(link: ControlLink | None, _watched: Watched) -> Any:
        assert link is not None
        ends = (link.switch_pid, link.controller_pid, link.controller_address)
        return cross_traffic(*ends, data_pps, setup.DATA_BYTES, trial.parameters.get("burst_pkts", 1), trial.seed)

    seconds = trial.parameters["seconds"]
    load = Load(1, control_pps, seconds, "poisson", 1.0, trial.seed, setup.WARM_UP_S, FRAME_BYTES, True)
    found = measure(load, controller, _shaped(controller, beside))
    return _row(trial, found, {"capacity_pps": setup.FULL_LOAD_PPS, "data_pps": data_pps})


def _cpu_bound(trial: Trial, controller: Controller) -> Json:
    capacity_pps = ryu_capacity_pps()
    load = replace(_load(trial, trial.parameters["nl"] * capacity_pps, setup.CPU_SWITCHES), buffered=False)
    return _row(trial, measure(load, controller, _unshaped()), {"capacity_pps": capacity_pps})


def _misbehaving(trial: Trial, controller: Controller) -> Json:
    capacity_pps = ryu_capacity_pps()
    load = _load(trial, trial.parameters["nl"] * capacity_pps, setup.MISBEHAVING_SWITCHES)
    load = replace(load, buffered=False)
    beside = rogue_beside(controller, trial.parameters["behaviour"], trial.seed)
    found = measure(load, controller, _unshaped(beside))
    return _row(trial, found, {"capacity_pps": capacity_pps, "behaviour": trial.parameters["behaviour"]})


def _path_setup(trial: Trial, controller: Controller) -> Json:
    """First packets of flows through several switches."""
    rate_pps, seconds = trial.parameters["flows_pps"], trial.parameters["seconds"]
    load = Load(1, rate_pps, seconds, "poisson", paths.HIGH_SHARE, trial.seed, setup.WARM_UP_S, FRAME_BYTES)
    line = load_topology(str(REPOSITORY / paths.TOPOLOGY))
    found = measure(load, controller, replace(_shaped(controller), real_switch=True, line=line))
    return _row(trial, found, {"flows": found.result.ledger.n_sent})


@lru_cache(maxsize=1)
def ryu_capacity_pps() -> float:
    """Packet-ins a second that stock Ryu's learning switch answers on this machine when it has more than it can."""
    load = Load(setup.CPU_SWITCHES, _SATURATING_PPS, _SATURATING_S, "constant", 0.1, 1, 1.0, FRAME_BYTES)
    found = measure(load, controller_of(setup.FIFO.name, setup.CPU), _unshaped())
    return sum(each.answers_pps for each in found.result.classes.values())


def _load(trial: Trial, rate_pps: float, switches: int = 1) -> Load:
    """The high-priority flow has the same rate at every load, as in the paper; the rest is cross traffic."""
    share = min(setup.HIGH_PPS / rate_pps, 1.0)
    seconds, warm_up_s, frame_bytes = trial.parameters["seconds"], setup.WARM_UP_S, FRAME_BYTES
    return Load(switches, rate_pps, seconds, "poisson", share, trial.seed, warm_up_s, frame_bytes, True)


def _shaped(controller: Controller, beside: Callable[..., Any] | None = None) -> Surroundings:
    shape = LinkShape(setup.LINK_MBPS, controller.marks(), setup.LINK_QUEUE_PKTS)
    return Surroundings(shape, _BOARD, setup.SEND_BUFFER_BYTES, beside, realtime=True)


def _unshaped(beside: Callable[..., Any] | None = None) -> Surroundings:
    return Surroundings(LinkShape(), _BOARD, setup.SEND_BUFFER_BYTES, beside, realtime=True)


def _row(trial: Trial, found: Measured, more: Json) -> Json:
    """What is kept of a trial: everything that was measured, and whether the generator kept its schedule."""
    value = found.to_json()
    value["window_s"] = value.pop("seconds")  # "seconds" of a row is what the trial took
    return {
        "parameters": dict(trial.parameters),
        "regime": trial.parameters["regime"],
        "nl": trial.parameters.get("nl"),
        **more,
        **value,
        "trustworthy": not value["warnings"],
    }


_REGIMES: dict[str, Callable[[Trial, Controller], Json]] = {
    setup.LINK: _link_bound,
    setup.REAL: _real_switch,
    setup.CPU: _cpu_bound,
    setup.IN_BAND: _in_band,
    setup.MISBEHAVING: _misbehaving,
    paths.REGIME: _path_setup,
}
