"""The network that is tortured, as a scenario in which nothing fails by plan."""

from __future__ import annotations

import json

from experiments.scenario.values import Scenario
from experiments.terminal.inputs import load_topology, parse
from mininet_topos.errors import BadInputError
from mininet_topos.topology import Topology
from ryu_apps.plan.addressing import hosts_of
from ryu_apps.plan.scheme import Scheme
from ryu_apps.schemes import find_scheme

WAIT_TO_RESTORE_S = 1.0
BFD_INTERVAL_MS = 100
CAPACITY_MBPS = 20.0


def torture_scenario(
    topology_name: str, scheme: str, mode: str | None, seed: int, *, tls: bool, bfd_interval_ms: int = BFD_INTERVAL_MS
) -> Scenario:
    """Scenario of one scheme on a topology.

    Parameters
    ----------
    mode
        None: learned, or none for schemes without modes.
    tls
        Whether control channels use TLS.

    Raises
    ------
    BadInputError
        No such topology or scheme, a mode that the scheme does not have, or the scheme cannot be planned there.
    """
    topology = load_topology(topology_name)
    known = [each.name for each in find_scheme(scheme).modes]
    if mode is not None and mode not in known:
        raise BadInputError(f"--mode {mode!r} is no mode of {scheme}; it has {', '.join(known) or 'none'}")
    first, last = _far_hosts(topology)
    lines = [
        f"topology: {json.dumps(topology_name)}",
        f"scheme: {scheme}",
        f"seed: {seed}",
        f"bfd_interval_ms: {bfd_interval_ms}",
        f"wait_to_restore_s: {WAIT_TO_RESTORE_S}",
        f"tls: {json.dumps(tls)}",
        f"traffic: [{{from: {first}, to: {last}}}]",
        *([f"mode: {mode}"] if mode else []),
        *_of_scheme(find_scheme(scheme), topology),
    ]
    return parse("\n".join(lines), f"torture of {scheme}")


def _of_scheme(scheme: Scheme, topology: Topology) -> list[str]:
    """Lines that some schemes need besides."""
    if scheme.protects:
        first, last = _far_hosts(topology)
        return [f"protect: [{{from: {first}, to: {last}}}]"]
    if scheme.buffers:
        link = topology.link_ids[0]
        return [f"sqr: {{links: [[{link.a}, {link.b}]]}}"]
    return [f"default_capacity_mbps: {CAPACITY_MBPS}"] if scheme.tunnels is not None else []


def _far_hosts(topology: Topology) -> tuple[str, str]:
    hosts = hosts_of(topology)
    return hosts[topology.node_names[0]].name, hosts[topology.node_names[-1]].name
