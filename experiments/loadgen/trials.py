"""Trials of kind "control": one load on one controller, in a regime; each gives a row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from experiments.campaign.act.attempts import RunTrial
from experiments.campaign.kinds.control import (
    CPU,
    IN_BAND,
    LINK,
    MISBEHAVING,
    PATH_SETUP,
    REAL,
    SHARES,
    ControlMeasured,
    ControlParameters,
    LinkParameters,
)
from experiments.campaign.parameters import plain, typed_part
from experiments.campaign.values import Json, TestbedSettings, Trial, parameters_of
from experiments.loadgen.controllers import PSO_APP, RESPONDER, Controller, Watched
from experiments.loadgen.decide.load import FRAME_BYTES, Load
from experiments.loadgen.decide.packets import packet_in_bytes
from experiments.loadgen.generator import MOST_LATENESS_MS, SwitchRegistry
from experiments.loadgen.link import ControlLink, LinkShape
from experiments.loadgen.misbehave import rogue_beside
from experiments.loadgen.testbed import LoadContext, Measured, measure
from experiments.testbed.traffic.cross_traffic import cross_traffic
from machine.environment import REPOSITORY
from mininet_topos.catalogue import load_topology
from mininet_topos.errors import BadInputError
from ryu_apps.pmt.parse import parse_pmt

# A rate far above what Ryu answers shows its capacity.
_SATURATING_PPS, _SATURATING_S = 9000.0, 4.0
_TRIES = 3
_LEARNING_SWITCH = "simple_switch_13"
_APPS = {CPU: _LEARNING_SWITCH, MISBEHAVING: _LEARNING_SWITCH, PATH_SETUP: "ryu_apps/reactive.py"}
_SATURATING_SWITCHES = 4
_AROUND_BYTES = 32 + 20 + 14  # TCP, IP and Ethernet


def run_control(trial: Trial) -> Json:
    """Columns of a trial.

    Raises
    ------
    LoadError
        The controller does not start or answer.
    """
    own = parameters_of(trial, ControlParameters)
    # A generator that was late means that the machine stood still, in any trial: the same again.
    for tries in range(1, _TRIES + 1):
        found = replace(_REGIMES[own.regime](trial, own), tries=tries)
        if found.generator_late_ms <= MOST_LATENESS_MS:
            break
    columns: Json = plain(found)
    return columns


def controller_of(own: ControlParameters) -> Controller:
    """Controller of a trial: an app alone, or behind PSO.

    Where the link fills up, the app does as little as possible; where the processor does, it is Ryu's learning switch.
    Paths are set up by an app that can answer for all of a path's switches at once.
    """
    app, settings = _APPS.get(own.regime, RESPONDER), dict(own.settings)
    if own.line is not None:
        settings["ARMOR_TOPOLOGY"] = str(REPOSITORY / own.line)
    if own.pmt is None:
        return Controller((app,), settings=settings)
    return pso_controller(app, own.pmt, settings)


def pso_controller(app: str, pmt: str, settings: Mapping[str, str]) -> Controller:
    """An app behind PSO with a table, a file of this repository."""
    path = REPOSITORY / pmt
    return Controller((PSO_APP, app), parse_pmt(path.read_text(encoding="utf-8"), pmt), path, settings)


def full_load_pps(link: LinkParameters) -> float:
    """Packet-ins a second that fill the control link, with TCP, IP and Ethernet around each."""
    return link.link_mbps * 1e6 / 8 / (packet_in_bytes(FRAME_BYTES) + _AROUND_BYTES)


def _link_bound(trial: Trial, own: ControlParameters) -> ControlMeasured:
    full_pps = full_load_pps(own.link)
    found = measure(_load(trial, own, _given(own.nl) * full_pps), controller_of(own), _shaped(own))
    return _measured(found, {"capacity_pps": full_pps})


def _real_switch(trial: Trial, own: ControlParameters) -> ControlMeasured:
    """Real switches, of which the first of a path asks: the paper's later ones have their rules (section 5.1)."""
    full_pps = full_load_pps(own.link)
    load = replace(_load(trial, own, _given(own.nl) * full_pps), buffered=False)
    packet_outs_only = replace(controller_of(own), settings={"ARMOR_RESPONDER_FLOWS": "0"})
    line = None if own.line is None else load_topology(str(REPOSITORY / own.line))
    around = replace(_shaped(own), real_switch=True, line=line, knows_later_hops=True)
    found = measure(load, packet_outs_only, around)
    return _measured(found, {"capacity_pps": full_pps})


def _in_band(trial: Trial, own: ControlParameters) -> ControlMeasured:
    full_pps, control_nl, data_bytes = full_load_pps(own.link), _given(own.control_nl), int(_given(own.data_bytes))
    data_bits = 8 * (data_bytes + 42)
    data_pps = max(_given(own.nl) - control_nl, 0) * own.link.link_mbps * 1e6 / data_bits

    def beside(link: ControlLink | None, _watched: Watched) -> Any:
        assert link is not None
        ends = (link.switch_pid, link.controller_pid, link.controller_address)
        return cross_traffic(*ends, data_pps, data_bytes, burst_pkts=own.burst_pkts or 1, seed=trial.seed)

    warm_up_s = own.link.warm_up_s
    load = Load(1, control_nl * full_pps, own.seconds, "poisson", 1.0, trial.seed, warm_up_s, FRAME_BYTES, True)
    found = measure(load, controller_of(own), _shaped(own, beside))
    return _measured(found, {"capacity_pps": full_pps, "data_pps": data_pps})


def _cpu_bound(trial: Trial, own: ControlParameters) -> ControlMeasured:
    capacity_pps = ryu_capacity_pps(own.link)
    load = replace(_load(trial, own, _given(own.nl) * capacity_pps), buffered=False)
    return _measured(measure(load, controller_of(own), _unshaped(own.link)), {"capacity_pps": capacity_pps})


def _misbehaving(trial: Trial, own: ControlParameters) -> ControlMeasured:
    capacity_pps, controller = ryu_capacity_pps(own.link), controller_of(own)
    load = replace(_load(trial, own, _given(own.nl) * capacity_pps), buffered=False)
    beside = rogue_beside(controller, str(own.behaviour), trial.seed)
    found = measure(load, controller, _unshaped(own.link, beside))
    return _measured(found, {"capacity_pps": capacity_pps})


def _path_setup(trial: Trial, own: ControlParameters) -> ControlMeasured:
    """First packets of flows through several switches."""
    rate_pps, share, warm_up_s = _given(own.flows_pps), _given(own.high_share), own.link.warm_up_s
    load = Load(1, rate_pps, own.seconds, "poisson", share, trial.seed, warm_up_s, FRAME_BYTES)
    line = load_topology(str(REPOSITORY / str(own.line)))
    found = measure(load, controller_of(own), replace(_shaped(own), real_switch=True, line=line))
    return _measured(found, {"flows": found.result.ledger.n_sent})


@lru_cache(maxsize=1)
def ryu_capacity_pps(link: LinkParameters) -> float:
    """Packet-ins a second that stock Ryu's learning switch answers on this machine when it has more than it can."""
    load = Load(_SATURATING_SWITCHES, _SATURATING_PPS, _SATURATING_S, "constant", 0.1, 1, 1.0, FRAME_BYTES)
    found = measure(load, Controller((_LEARNING_SWITCH,)), _unshaped(link))
    return sum(each.answers_pps for each in found.result.classes.values())


def _given(value: float | None) -> float:
    """A parameter that the regime needs.

    Raises
    ------
    BadInputError
        The trial does not have it.
    """
    if value is None:
        raise BadInputError("a trial lacks a parameter of its regime; look at what makes it")
    return value


def _load(trial: Trial, own: ControlParameters, rate_pps: float) -> Load:
    """The high-priority flow has the same rate at every load, as in the paper; the rest is cross traffic."""
    share = min(_given(own.high_pps) / rate_pps, 1.0)
    warm_up_s = own.link.warm_up_s
    return Load(own.switches, rate_pps, own.seconds, "poisson", share, trial.seed, warm_up_s, FRAME_BYTES, True)


def _shaped(own: ControlParameters, beside: Callable[..., Any] | None = None) -> LoadContext:
    shape = LinkShape(own.link.link_mbps, controller_of(own).link_classes(), own.link.link_queue_pkts)
    around = _unshaped(own.link, beside)
    return replace(around, shape=shape, registry=replace(around.registry, retransmit_after_s=own.retransmit_after_s))


def _unshaped(link: LinkParameters, beside: Callable[..., Any] | None = None) -> LoadContext:
    registry = SwitchRegistry((), queue_pkts=link.switch_queue_pkts, patience_s=link.patience_s)
    return LoadContext(LinkShape(), registry, link.send_buffer_bytes, beside, realtime=True)


def _measured(found: Measured, more: Json) -> ControlMeasured:
    """What is kept of a trial: everything that was measured, and whether the generator kept its schedule."""
    value = found.to_json()
    value["window_s"] = value.pop("seconds")  # "seconds" of a row is what the trial took
    return typed_part(ControlMeasured, {**more, **value, "trustworthy": not value["warnings"]})


_REGIMES: dict[str, Callable[[Trial, ControlParameters], ControlMeasured]] = {
    LINK: _link_bound,
    REAL: _real_switch,
    CPU: _cpu_bound,
    IN_BAND: _in_band,
    MISBEHAVING: _misbehaving,
    PATH_SETUP: _path_setup,
    SHARES: _link_bound,
}


def control_runner(_settings: TestbedSettings) -> RunTrial:
    """What runs such trials."""
    return run_control
