"""A trial of a campaign in the words of a scenario: what is sent, what fails, and how long it is watched."""

from __future__ import annotations

from experiments.campaign.kinds.probed import DownloadParameters, WatchedParameters
from experiments.campaign.values import Load, Timing, Trial, Variant, parameters_of
from experiments.scenario.failures.silent import Silent
from experiments.scenario.stream import Traffic
from experiments.scenario.traffic.iperf3_udp import Iperf3Udp
from experiments.scenario.traffic.ping import Ping
from experiments.scenario.values import Scenario, Variation
from mininet_topos.errors import BadInputError
from mininet_topos.topology import LinkId, Topology, with_capacity


def variation_of(variant: Variant) -> Variation:
    """The scheme of a variant as a scenario names it."""
    return Variation(variant.scheme, variant.mode, variant.planner, notification=variant.notification)


def variant_of(trial: Trial) -> Variant:
    """Variant of a trial.

    Raises
    ------
    BadInputError
        It has none.
    """
    if trial.variant is None:
        raise BadInputError(f"trial {trial.trial_id!r} names no scheme; give it a variant")
    return trial.variant


def timing_of(trial: Trial) -> Timing:
    """Windows of a trial.

    Raises
    ------
    BadInputError
        It has none.
    """
    if trial.timing is None:
        raise BadInputError(f"trial {trial.trial_id!r} says not how long it lasts; give it a timing")
    return trial.timing


def load_of(trial: Trial) -> Load:
    """What a trial sends.

    Raises
    ------
    BadInputError
        It says nothing of that.
    """
    if trial.load is None:
        raise BadInputError(f"trial {trial.trial_id!r} says not what is sent; give it a load")
    return trial.load


def links_of(trial: Trial, topology: Topology) -> tuple[LinkId, ...]:
    """Links that a trial fails.

    Raises
    ------
    BadInputError
        One is not in the topology.
    """
    by_name = {str(link): link for link in topology.link_ids}
    unknown = [name for name in trial.links if name not in by_name]
    if unknown:
        raise BadInputError(f"trial {trial.trial_id!r} fails {unknown[0]!r}, which is no link of {topology.name!r}")
    return tuple(by_name[name] for name in trial.links)


def scenario_of(trial: Trial, topology: Topology, bfd_interval_ms: int) -> Scenario:
    """The scenario of one trial: its streams and its failures, all at the same second.

    Parameters
    ----------
    trial
        Of kind "mixed", "flow" or "download".
    topology
        Of the trial's name.

    Raises
    ------
    BadInputError
        The trial lacks a variant, a load or a timing, or fails an unknown link.
    """
    timing, load, own = timing_of(trial), load_of(trial), parameters_of(trial, WatchedParameters)
    failure_s = own.head_start_s if isinstance(own, DownloadParameters) else timing.before_s
    return Scenario(
        topology_name=trial.topology,
        topology=with_capacity(topology, load.capacity_mbps),
        variations=(variation_of(variant_of(trial)),),
        traffic=traffic_of(trial.pairs, load),
        failures=tuple(Silent(failure_s, link) for link in links_of(trial, topology)),
        duration_s=timing.total_s,
        seed=trial.seed,
        bfd_interval_ms=bfd_interval_ms,
        control_delay_ms=variant_of(trial).control_delay_ms or 0.0,
        wait_to_restore_s=own.wait_to_restore_s,
        settle_s=own.settle_s,
    )


def traffic_of(pairs: tuple[tuple[str, str], ...], load: Load) -> tuple[Traffic, ...]:
    """Pings of all pairs, then UDP of all pairs."""
    pings = [Ping(*pair, interval_ms=load.ping_interval_ms) for pair in pairs if load.pings]
    rate_mbps = load.udp_mbps
    udp = [Iperf3Udp(*pair, rate_mbps=rate_mbps) for pair in pairs if rate_mbps is not None]
    return (*pings, *udp)
