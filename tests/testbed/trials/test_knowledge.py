"""When routes knew: what the row watcher says, and which routes want to know."""

from __future__ import annotations

import pytest

from experiments.analysis.events import Event
from experiments.analysis.timeline import Window
from experiments.testbed.trials.decide.knowledge import first_rows, knowledge_row, routes_over
from mininet_topos.catalogue import load_topology
from ryu_apps.plan.addressing import hosts_of
from ryu_apps.plan.choices import FLOOD, LEARNED
from ryu_apps.plan.failure_sets import FailureSets
from ryu_apps.plan.ids import Kind, cookie, split_cookie
from ryu_apps.plan.notification import taught_by
from ryu_apps.plan.options import PlanOptions
from ryu_apps.schemes import plan_network

SQUARE = load_topology("square")
WINDOW = Window(10.0, 12.0)


def came(t_s: float, node: str, *destinations: str, kind: Kind = Kind.LEARNED) -> Event:
    cookies = [hex(cookie(3, kind, 1, hosts_of(SQUARE)[each].ipv4)) for each in destinations]
    return Event(t_s, "row-watcher", "rows_changed", {"node": node, "added": 1, "deleted": 0, "cookies": cookies})


def test_a_route_knows_when_its_first_recovery_row_comes_after_the_failure() -> None:
    first, second, third, *_ = SQUARE.node_names
    events = [
        came(9.9, first, second),
        came(10.1, first, second, kind=Kind.PLANNED),
        came(10.2, first, second, third),
        came(10.3, first, second),
        came(12.1, third, first),
    ]
    first_s = first_rows(events, SQUARE, WINDOW)
    assert first_s == {(first, second): 10.2, (first, third): 10.2}
    row = knowledge_row([(first, second), (third, first)], first_s, 10.05, WINDOW)
    assert [each["knew_ms"] for each in row["routes"]] == [pytest.approx(150), None]
    assert (row["detected_ms"], row["watched_ms"]) == (pytest.approx(50), pytest.approx(1950))
    assert knowledge_row([(first, second)], first_s, 10.25, WINDOW)["routes"][0]["knew_ms"] == 0
    assert knowledge_row([(first, second)], first_s, None, WINDOW)["routes"][0]["knew_ms"] is None


@pytest.mark.slow
def test_a_notification_of_one_link_teaches_exactly_the_routes_that_cross_it() -> None:
    topology = load_topology("darkstrand")
    plans = plan_network("sdfast", topology, PlanOptions(mode=LEARNED.name, max_failures=1, notification=FLOOD))
    sets = FailureSets(*plans[1].tag_space)
    node_of = {host.ipv4: node for node, host in hosts_of(topology).items()}
    taught = {plan.node: taught_by(plan) for plan in plans.values()}
    for number, link in enumerate(topology.link_ids):
        found = {
            (node, node_of[split_cookie(each.cookie).destination])
            for node, by_set in taught.items()
            for each in by_set.get(sets.tag_id_of[1 << number], ())
        }
        assert found == set(routes_over(topology, link))
