"""A controller that rewrites routes, in a real network: around a failure, and back, with every row compared."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import pytest

from emulation.decide.options import EmulationOptions
from emulation.failure_injection import FailureInjection
from emulation.network import EmulatedNetwork
from experiments.analysis.dumps import compare_dump
from experiments.testbed.instruments.dump import read_switch
from mininet_topos.catalogue import load_topology
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.restoration import replanned
from ryu_apps.schemes import find_scheme
from tests.patience import wait_until
from tests.undisturbed import without_flaps

pytestmark = [pytest.mark.emulation, pytest.mark.ryu]
pytest.importorskip("ovs")

FIGURE2 = load_topology("figure2")
LINKS = [FIGURE2.parse_link(name) for name in ("s4-s5", "s2-s3")]
READ = "import json, urllib.request as u; print(u.urlopen('http://127.0.0.1:8080/armor/state').read().decode())"


@pytest.fixture
def network():
    with (
        tempfile.TemporaryDirectory(prefix="armor-", dir="/tmp") as folder,
        EmulatedNetwork(
            FIGURE2,
            EmulationOptions(bfd_interval_ms=100),
            run_dir=Path(folder) / "run",
            events=Path(folder) / "events.jsonl",
            environment={"ARMOR_TOPOLOGY": "figure2", "ARMOR_WAIT_TO_RESTORE_S": "1"},
            controller_command=[sys.executable, "-m", "ryu.cmd.manager", "ryu_apps/cbc.py"],
        ) as running,
    ):
        running.wait_bfd_up(60)
        wait_until(lambda: state(running).get("ready"), "every switch is ready", 60)
        wait_until(lambda: differing(running, []) == {}, "the plan is in place", 60)
        yield running, Path(folder) / "events.jsonl"


def state(network):
    """What the controller says of itself; nothing while it does not answer."""
    said = network.run("controller", [sys.executable, "-c", READ])
    return json.loads(said.stdout) if said.returncode == 0 else {}


def differing(network, links):
    """Rows by which switches differ from the pure plan while these links are failed."""
    scheme, options = find_scheme("cbc"), PlanOptions()
    rows = scheme.restoration(FIGURE2, options).rows(frozenset(links))
    plans = replanned(scheme.plan(FIGURE2, options), rows)
    reports = []
    for site in network.sites.values():
        held = read_switch(site.mgmt_socket)
        reports.append(compare_dump(plans[site.dpid], held.flows, held.groups, lambda _tag_id: False))
    return {one.node: (*one.missing, *one.stale) for one in reports if not one.is_clean}


def test_switches_hold_the_pure_plan_around_failures_and_the_base_plan_after_the_repair(network):
    running, events = network
    with FailureInjection(running) as injection:
        for count in (1, 2):
            injection.silent(LINKS[count - 1])
            wait_until(
                lambda count=count: differing(running, LINKS[:count]) == {}, f"the routes avoid {count} links", 60
            )
            assert without_flaps(running, lambda: running.ping("h1", "h5", count=5, interval_s=0.05)) == 5
        for link in LINKS:
            injection.restore(link)
        wait_until(lambda: differing(running, []) == {}, "the planned routes are back", 60)
    assert without_flaps(running, lambda: running.ping("h1", "h5", count=5, interval_s=0.05)) == 5
    assert state(running)["errors"] == 0
    logged = [json.loads(line) for line in events.read_text(encoding="utf-8").splitlines()]
    done = [one["links"] for one in logged if one["event"] == "restoration_done"]
    assert done[-1] == []
    assert ["s4-s5"] in done
    assert sorted(map(str, LINKS)) in done
