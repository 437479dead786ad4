"""Trials of kind "protected": two hosts, Open vSwitch bridges between them, and the app of 1+1 protection."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from dataplane.model.flow_match import PortRange
from emulation.network import EmulatedNetwork
from experiments.campaign.kinds.protected import (
    BridgesParameters,
    EchoMeasured,
    EchoParameters,
    TransfersMeasured,
    TransfersParameters,
)
from experiments.campaign.parameters import plain
from experiments.campaign.values import Json, TestbedSettings, Trial, parameters_of
from experiments.scenario.values import Scenario, Variation
from experiments.testbed.instruments import echo
from experiments.testbed.runs.folder import Work
from experiments.testbed.runs.parts import emulated_network, options_of, require_programs
from experiments.testbed.runs.readiness import NotReadyError
from experiments.testbed.runs.run import make_ready
from experiments.testbed.trials import transfers
from experiments.testbed.trials.decide.paths import delays
from experiments.testbed.trials.decide.scenario import variant_of
from mininet_topos.catalogue import load_topology
from mininet_topos.topology import Topology, with_link_delays
from ryu_apps.plan.choices import NO_MODE
from ryu_apps.plan.fields import IP_TCP, IP_UDP
from ryu_apps.plan.protection import ProtectedFlow, Protection, protection_of
from ryu_apps.schemes.protect import SCHEME

NEAR, FAR = "s1", "s2"
UNUSED_PORT = 5999  # of a flow that is protected while those that are measured are not
_PASS_S = 10.0


def protect_runner(settings: TestbedSettings) -> Callable[[Trial], Json]:
    """What runs such trials, each on a network of its own."""

    def run(trial: Trial) -> Json:
        require_programs()
        scenario = scenario_of(trial)
        (variation,) = scenario.variations
        plans = SCHEME.plan(scenario.topology, options_of(variation))
        with tempfile.TemporaryDirectory(dir=settings.work) as name:
            work = Work(Path(name))
            work.events.touch()
            with emulated_network(scenario, variation, work, scenario.bfd_interval_ms) as network:
                make_ready(network, plans, variation, settings.say)
                _wait_for_echo(network)
                measured = _RUNS[type(trial.parameters)](network, trial.parameters)
                said = (*network.warnings, *network.faults)
        columns: Json = plain(replace(measured, warnings=said))
        return columns

    return run


def scenario_of(trial: Trial) -> Scenario:
    """The network of a trial: what is protected, and how its links delay."""
    own, topology = parameters_of(trial, BridgesParameters), load_topology(trial.topology)
    is_delayed = isinstance(own, EchoParameters)
    if isinstance(own, EchoParameters):
        topology = with_link_delays(topology, own.base_delay_ms, own.jitter_ms)
    protection = protection_of_variant(variant_of(trial).name, own, topology)
    return Scenario(
        topology_name=trial.topology,
        topology=topology,
        variations=(Variation(SCHEME.name, NO_MODE, protection=protection),),
        traffic=(),
        failures=(),
        duration_s=0.0,
        seed=trial.seed,
        bfd_interval_ms=own.bfd_ms,
        link_delays=True if is_delayed else None,
    )


def protection_of_variant(variant: str, own: BridgesParameters, topology: Topology) -> Protection | None:
    """What a variant protects: nothing (`plain`), a flow that is not there (`unprotected`), or what is measured.

    Each pair has connections of its own.
    """
    if variant == "plain":
        return None
    if variant == "unprotected":
        wanted = [_flow(IP_TCP, UNUSED_PORT, 1)]
    elif isinstance(own, TransfersParameters):
        numbers = range(max(own.pairs))
        wanted = [_flow(IP_TCP, transfers.FIRST_PORT + number, number + 1) for number in numbers]
    else:
        wanted = [_flow(IP_UDP, echo.PORT, 1)]
    return protection_of(topology, [each for flow in wanted for each in (flow, flow.reverse)])


def _flow(protocol: int, port: int, number: int) -> ProtectedFlow:
    return ProtectedFlow(NEAR, FAR, protocol, destination_ports=PortRange(port, port), number=number)


def _places(network: EmulatedNetwork) -> tuple[int, int]:
    return network.shell_pid(network.hosts[NEAR].name), network.shell_pid(network.hosts[FAR].name)


def _wait_for_echo(network: EmulatedNetwork) -> None:
    """Wait until a packet comes back; the first ones ask for addresses."""
    deadline = time.monotonic() + _PASS_S
    while not echo.echoed(_places(network), network.hosts[FAR].address, 1, 0.0, 0.2).round_trip_ms:
        if time.monotonic() > deadline:
            raise NotReadyError(f"after {_PASS_S:g} s no packet of {network.hosts[NEAR].name} comes back")


def run_transfers(network: EmulatedNetwork, own: TransfersParameters) -> TransfersMeasured:
    """TCP goodput with each number of pairs."""
    address = network.hosts[FAR].address
    together = [
        transfers.transfer_together(_places(network), address, pairs, own.flows, own.transfer_s) for pairs in own.pairs
    ]
    return TransfersMeasured(
        tuple(each.goodput_mbps for each in together), tuple(each.retransmits for each in together)
    )


def run_echo(network: EmulatedNetwork, own: EchoParameters) -> EchoMeasured:
    """One-way delays and round trips of UDP packets."""
    pace = own.packets, own.interval_ms, own.settle_s
    seen = echo.echoed(_places(network), network.hosts[FAR].address, *pace)
    there, back = delays(seen.one_way_ms, own.packets), delays(seen.round_trip_ms, own.packets)
    return EchoMeasured(
        there.mean_ms, there.deviation_ms, back.mean_ms, back.deviation_ms, own.packets, there.arrived, back.arrived
    )


_RUNS: dict[type, Callable[[EmulatedNetwork, Any], Any]] = {
    TransfersParameters: run_transfers,
    EchoParameters: run_echo,
}
