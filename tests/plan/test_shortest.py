"""The control: shortest paths and nothing else."""

from __future__ import annotations

from hypothesis import given

from mininet_topos.toy import square
from ryu_apps.plan.guarantees import nothing
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.shortest import plan_shortest
from te_solver.routes import ResidualRoutes
from tests.examples import examples
from tests.verify.networks import case_of, connected, send


@examples(40)
@given(connected())
def test_every_packet_goes_a_shortest_path_and_is_lost_at_a_failure(topology):
    hops = ResidualRoutes(topology).distances()
    for failed in (None, *topology.link_ids):
        case = case_of("shortest", topology, PlanOptions(), [] if failed is None else [failed])
        network = case.network()
        for source, target in case.pairs:
            walk = send(network, source, target)
            if walk.outcome == "delivered":
                assert len(walk.path) - 1 == hops[source, target]
            else:
                assert failed is not None
                assert walk.path[-1] in failed[:2]


def test_a_plan_has_one_row_a_host_and_promises_nothing():
    topology = square()
    assert {len(plan.flows) for plan in plan_shortest(topology, PlanOptions(), owner=3).values()} == {4}
    assert not nothing(topology, PlanOptions())(0, 1, 1)
