"""Networks that send packets as a scheme plans, for the paths of pages."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.live.decide.document import PlannedPaths
from experiments.live.decide.paths import Failed, NetworkWhile, paths_of_pair, planned_paths
from experiments.verify.walk.dynamics import dynamics_of
from mininet_topos.topology import Topology
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.restoration import replanned
from ryu_apps.plan.walk import Network
from ryu_apps.schemes import find_scheme, plan_network


def network_walks(topology: Topology, scheme: str, options: PlanOptions) -> NetworkWhile | None:
    """Networks by failed links; None for schemes of tunnels, which hash their packets."""
    found = find_scheme(scheme)
    if found.tunnels is not None:
        return None
    plans = plan_network(scheme, topology, options)
    dynamics = dynamics_of(found.mode_of(options), plans)
    network = Network(topology, plans, dynamics)
    if found.restoration is None:
        return network.with_failed
    restorer = found.restoration(topology, options)

    def while_down(failed: Failed) -> Network:
        return Network(topology, dict(replanned(plans, restorer.rows(failed))), dynamics, failed)

    return while_down


@dataclass(frozen=True)
class PlanWalks:
    """Walks of pairs by a scheme's plan; none where the plan is not walked."""

    network_while: NetworkWhile | None

    def one(self, pair: tuple[str, str], failed: Failed) -> PlannedPaths | None:
        """While these links are down."""
        return None if self.network_while is None else planned_paths(self.network_while, pair, failed)

    def every(self, pair: tuple[str, str]) -> tuple[PlannedPaths, ...]:
        """Under every set of links that matters (`paths_of_pair`)."""
        return () if self.network_while is None else paths_of_pair(self.network_while, pair, ())
