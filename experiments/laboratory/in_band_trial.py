"""Trials of kind "in_band": packets that go to the controller and back over links that data fills."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from experiments.campaign.values import Json, LaboratorySettings, Trial
from experiments.environment import REPOSITORY
from experiments.laboratory.scenario_core import arm_of
from experiments.ofload.bounce_core import HIGH_PORT, LOW_PORT, class_columns
from experiments.ofload.cross_traffic import cross_traffic
from experiments.papers.in_band import setup
from experiments.papers.in_band.measures import HIGH, LOW
from experiments.runner.parts import RYU_MANAGER, NotReadyError, require_programs
from mininet_topos.catalogue import load_topology
from mininet_topos.emulation import EmulatedNetwork, EmulationOptions
from mininet_topos.emulation.status import unconnected_switches
from ryu_apps.pmt.parse import parse_pmt

_CONNECT_S, _READY_S, _POLL_S = 40.0, 30.0, 0.2
_PROBE = Path("experiments/ofload/bounce_probe.py")
_APPS = ("ryu_apps/shortest.py", "experiments/ofload/bounce.py")
_PORT_OF = {HIGH: HIGH_PORT, LOW: LOW_PORT}


class InBandRunner:
    """Runs such trials; an arm keeps its network for a round.

    Parameters
    ----------
    settings : LaboratorySettings
    """

    def __init__(self, settings: LaboratorySettings) -> None:
        self._settings = settings

    @contextmanager
    def session(self, trial: Trial) -> Iterator[Callable[[Trial], Json]]:
        """Build the network of an arm, wait until packets come back, and give what measures one load.

        Raises
        ------
        MissingRequirementError
            The machine lacks something.
        ArmorError
            Something is not ready in time.
        """
        require_programs()
        self._settings.say("building the network")
        with make_network(trial) as network:
            network.wait_bfd_up(_CONNECT_S)
            network.wait_connected(_CONNECT_S)
            _wait_for_answers(network)
            yield lambda each: observe(network, each)


def make_network(trial: Trial) -> EmulatedNetwork:
    """The network of a trial's arm, with control in-band; enter it to build it."""
    with_classes = arm_of(trial) == setup.PSO
    table = parse_pmt(setup.PMT.read_text(encoding="utf-8"), setup.PMT.name) if with_classes else None
    apps = ("ryu_apps/pso.py", *_APPS) if with_classes else _APPS
    environment = {
        "ARMOR_TOPOLOGY": trial.topology,
        "ARMOR_STATS_INTERVAL_S": "0",
        "ARMOR_DISCOVERY_INTERVAL_S": "0",
        **({"ARMOR_PSO_PMT": str(setup.PMT)} if with_classes else {}),
    }
    return EmulatedNetwork(
        load_topology(trial.topology),
        EmulationOptions(
            bfd_interval_ms=setup.BFD_MS,
            default_capacity_mbps=setup.CAPACITY_MBPS,
            in_band_at=setup.CONTROLLER_AT,
            pmt=table,
            queues=None if with_classes else setup.FIFO_QUEUES,
        ),
        controller_command=(str(RYU_MANAGER), *(str(REPOSITORY / app) for app in apps)),
        environment=environment,
    )


def _wait_for_answers(network: EmulatedNetwork) -> None:
    deadline = time.monotonic() + _READY_S
    while True:
        seen = probe(network, 10.0, 0.5, 0.5)
        if all(len(each["delays_ms"]) == each["sent"] for each in seen.values()):
            return
        if time.monotonic() > deadline:
            raise NotReadyError(f"after {_READY_S:g} s packets of {setup.ASKING} do not come back from the controller")
        time.sleep(_POLL_S)


def probe(network: EmulatedNetwork, rate_pps: float, seconds: float, wait_s: float) -> Json:
    """Send packets of both classes to the controller; by class what was sent, and delays (ms) of what came back.

    Raises
    ------
    NotReadyError
        The program that sends them failed.
    """
    host, target = network.hosts[setup.ASKING], network.hosts[setup.TARGET]
    words = [target.address, rate_pps, seconds, wait_s, *_PORT_OF.values()]
    done = network.run(host.name, [sys.executable, str(REPOSITORY / _PROBE), *map(str, words)], timeout_s=120)
    if done.returncode != 0:
        raise NotReadyError(f"the sender at {host.name} failed: {done.stderr.strip().splitlines()[-1:]}")
    by_port = json.loads(done.stdout)
    return {name: by_port[str(port)] for name, port in _PORT_OF.items()}


def observe(network: EmulatedNetwork, trial: Trial) -> Json:
    """Row of a trial: what became of both classes at one load of data, and what the shared link carried."""
    share, seconds = float(trial.parameters["data_share"]), float(trial.parameters["seconds"])
    host, target = network.hosts[setup.ASKING], network.hosts[setup.TARGET]
    pids = network.shell_pid(host.name), network.shell_pid(target.name)
    flaps = sum(network.flap_counts().values())
    data = target.address, setup.data_pps(share), setup.DATA_BYTES, 1, trial.seed
    with cross_traffic(*pids, *data, urgent=True):
        time.sleep(setup.WARM_S)
        before, began_s = _carried_bytes(network), time.monotonic()
        seen = probe(network, setup.PROBE_PPS, seconds, setup.WAIT_S)
        carried = [now - then for now, then in zip(_carried_bytes(network), before, strict=True)]
        mbps = [8 * each / (time.monotonic() - began_s) / 1e6 for each in carried]
    flapped = sum(network.flap_counts().values()) - flaps
    return {
        "parameters": dict(trial.parameters),
        "classes": {name: class_columns(each["sent"], each["delays_ms"]) for name, each in seen.items()},
        "link_share": mbps[0] / setup.CAPACITY_MBPS,
        "data_mbps": mbps[1],
        "unconnected": len(unconnected_switches(network.groups)),
        "flaps": flapped,
        "warnings": [*network.warnings, *network.faults],
        "trustworthy": not (network.faults or flapped),
    }


def _carried_bytes(network: EmulatedNetwork) -> list[int]:
    """Bytes that the shared link and the host that data goes to have carried so far."""
    towards = min(port for name, port in network.ports.direction_at if name == setup.ASKING)
    target = network.hosts[setup.TARGET].name
    counters = ((setup.ASKING, network.interface(setup.ASKING, towards), "tx"), (target, f"{target}-eth0", "rx"))
    return [
        int(network.run(place, ["cat", f"/sys/class/net/{name}/statistics/{way}_bytes"]).stdout)
        for place, name, way in counters
    ]
