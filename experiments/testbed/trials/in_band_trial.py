"""Trials of kind "in_band": packets that go to the controller and back over links that data fills."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from emulation.decide.options import EmulationOptions
from emulation.decide.queues import QueueSetup
from emulation.network import EmulatedNetwork
from emulation.status import unconnected_switches
from experiments.campaign.kinds.in_band import InBandMeasured, InBandParameters
from experiments.campaign.parameters import plain
from experiments.campaign.values import Json, TestbedSettings, Trial, parameters_of
from experiments.testbed.runs.controller_environment import controller_environment
from experiments.testbed.runs.parts import require_programs
from experiments.testbed.runs.readiness import NotReadyError
from experiments.testbed.traffic.cross_traffic import cross_traffic
from experiments.testbed.traffic.decide.bounce import HIGH_PORT, LOW_PORT, class_columns
from machine.environment import REPOSITORY, RYU_MANAGER
from mininet_topos.catalogue import load_topology
from ryu_apps.pmt.parse import parse_pmt

_CONNECT_S, _READY_S, _POLL_S = 40.0, 30.0, 0.2
_PROBE = Path("experiments/testbed/traffic/bounce_probe.py")
_APPS = ("ryu_apps/shortest.py", "experiments/testbed/traffic/bounce.py")
_PORT_OF = {"high": HIGH_PORT, "low": LOW_PORT}
HEADER_BYTES = 42  # Ethernet, IPv4 and UDP in front of the payload
# Everything but BFD waits in one queue, as long as each of PSO's, and drops its oldest packet as those do.
_FIFO_QUEUES = QueueSetup("one queue", 2, default_queue=1)


class InBandRunner:
    """Runs such trials; a variant keeps its network for a round."""

    def __init__(self, settings: TestbedSettings) -> None:
        self._settings = settings

    @contextmanager
    def session(self, trial: Trial) -> Iterator[Callable[[Trial], Json]]:
        """Build the network of a variant, wait until packets come back, and give what measures one load.

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
            _wait_for_answers(network, parameters_of(trial, InBandParameters))
            yield lambda each: observe(network, each)


def make_network(trial: Trial) -> EmulatedNetwork:
    """The network of a trial's variant, with control in-band; enter it to build it."""
    own = parameters_of(trial, InBandParameters)
    pmt = None if own.pmt is None else REPOSITORY / own.pmt
    table = None if pmt is None else parse_pmt(pmt.read_text(encoding="utf-8"), pmt.name)
    apps = _APPS if pmt is None else ("ryu_apps/pso.py", *_APPS)
    environment = controller_environment({"topology": trial.topology})
    environment |= {} if pmt is None else {"ARMOR_PSO_PMT": str(pmt)}
    return EmulatedNetwork(
        load_topology(trial.topology),
        EmulationOptions(
            bfd_interval_ms=own.bfd_ms,
            default_capacity_mbps=own.capacity_mbps,
            in_band_at=own.controller_at,
            pmt=table,
            queues=_FIFO_QUEUES if pmt is None else None,
        ),
        controller_command=(str(RYU_MANAGER), *(str(REPOSITORY / app) for app in apps)),
        environment=environment,
    )


def _wait_for_answers(network: EmulatedNetwork, own: InBandParameters) -> None:
    deadline = time.monotonic() + _READY_S
    while True:
        seen = probe(network, own, 10.0, (0.5, 0.5))
        if all(len(each["delays_ms"]) == each["sent"] for each in seen.values()):
            return
        if time.monotonic() > deadline:
            raise NotReadyError(f"after {_READY_S:g} s packets of {own.asking} do not come back from the controller")
        time.sleep(_POLL_S)


def probe(network: EmulatedNetwork, own: InBandParameters, rate_pps: float, lasts_s: tuple[float, float]) -> Json:
    """Send packets of both classes to the controller; by class what was sent, and delays (ms) of what returned.

    `lasts_s` are the seconds of sending, and of waiting for answers after it.

    Raises
    ------
    NotReadyError
        The program that sends them failed.
    """
    host, target = network.hosts[own.asking], network.hosts[own.target]
    words = [target.address, rate_pps, *lasts_s, *_PORT_OF.values()]
    done = network.run(host.name, [sys.executable, str(REPOSITORY / _PROBE), *map(str, words)], timeout_s=120)
    if done.returncode != 0:
        raise NotReadyError(f"the sender at {host.name} failed: {done.stderr.strip().splitlines()[-1:]}")
    by_port = json.loads(done.stdout)
    return {name: by_port[str(port)] for name, port in _PORT_OF.items()}


def observe(network: EmulatedNetwork, trial: Trial) -> Json:
    """Row of a trial: what became of both classes at one load of data, and what the shared link carried."""
    own = parameters_of(trial, InBandParameters)
    host, target = network.hosts[own.asking], network.hosts[own.target]
    pids = network.shell_pid(host.name), network.shell_pid(target.name)
    flaps = sum(network.flap_counts().values())
    pps = data_pps(own)
    with cross_traffic(*pids, target.address, pps, own.data_bytes, burst_pkts=1, seed=trial.seed, urgent=True):
        time.sleep(own.warm_s)
        before, began_s = _carried_bytes(network, own), time.monotonic()
        seen = probe(network, own, own.probe_pps, (own.seconds, own.wait_s))
        carried = [now - then for now, then in zip(_carried_bytes(network, own), before, strict=True)]
        mbps = [8 * each / (time.monotonic() - began_s) / 1e6 for each in carried]
    flapped = sum(network.flap_counts().values()) - flaps
    measured = InBandMeasured(
        classes={name: class_columns(each["sent"], each["delays_ms"]) for name, each in seen.items()},
        link_share=mbps[0] / own.capacity_mbps,
        data_mbps=mbps[1],
        unconnected=len(unconnected_switches(network.groups)),
        flaps=flapped,
        warnings=(*network.warnings, *network.faults),
        trustworthy=not (network.faults or flapped),
    )
    columns: Json = plain(measured)
    return columns


def _carried_bytes(network: EmulatedNetwork, own: InBandParameters) -> list[int]:
    """Bytes that the shared link and the host that data goes to have carried so far."""
    towards = min(port for name, port in network.ports.direction_at if name == own.asking)
    target = network.hosts[own.target].name
    counters = ((own.asking, network.interface(own.asking, towards), "tx"), (target, f"{target}-eth0", "rx"))
    return [
        int(network.run(place, ["cat", f"/sys/class/net/{name}/statistics/{way}_bytes"]).stdout)
        for place, name, way in counters
    ]


def data_pps(own: InBandParameters) -> float:
    """Data packets a second that offer the trial's share of a link."""
    return own.data_share * own.capacity_mbps * 1e6 / 8 / (own.data_bytes + HEADER_BYTES)
