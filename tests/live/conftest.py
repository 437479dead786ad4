"""What several tests of pages share: Darkstrand, and the walks of its plan for one failed link."""

from __future__ import annotations

import pytest

from experiments.live.walks import PlanWalks, network_walks
from mininet_topos.catalogue import load_topology
from ryu_apps.plan.options import PlanOptions


@pytest.fixture(scope="session")
def topology():
    return load_topology("darkstrand")


@pytest.fixture(scope="session")
def walks(topology):
    return PlanWalks(network_walks(topology, "sdfast", PlanOptions(max_failures=1)))
