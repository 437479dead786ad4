"""Metrics of the controller, and what is written about them: the page and the dashboard name those that exist."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from machine.event_log import EventLog
from machine.event_metrics import EVENT_METRICS
from ryu_apps.control.metrics import metrics_registry
from ryu_apps.control.priority.decide.counters import Counters
from ryu_apps.control.priority.metrics import CounterCollector
from tests.control.test_rest import VIEW

pytestmark = pytest.mark.ryu
DOCS = Path(__file__).resolve().parents[2] / "docs"
NAME = re.compile(r"\barmor_[a-z_]+\b")


@pytest.fixture
def registry(monkeypatch) -> CollectorRegistry:
    monkeypatch.delenv("ARMOR_EVENTS", raising=False)
    return metrics_registry(VIEW, EventLog("controller"))


def families(registry: CollectorRegistry) -> dict[str, str]:
    """Exposed name and type of every metric."""
    return {f"{one.name}{'_total' * (one.type == 'counter')}": one.type for one in registry.collect()}


def test_ports_and_links_are_those_that_the_controller_knows(registry: CollectorRegistry) -> None:
    assert registry.get_sample_value("armor_failed_links") == 1
    assert registry.get_sample_value("armor_connected_switches") == 1
    labels = {"node": "s1", "port_no": "2"}
    stat = VIEW.port_samples()["s1"][2].stat
    assert registry.get_sample_value("armor_port_dropped_packets_total", labels) == stat.tx_dropped
    assert registry.get_sample_value("armor_port_sent_bytes_total", labels) == stat.tx_bytes


def test_the_page_names_every_metric_and_no_other(registry: CollectorRegistry) -> None:
    registry.register(CounterCollector(Counters()))
    page = (DOCS / "metrics.md").read_text(encoding="utf-8")
    named = set(re.findall(r"^\| `(armor_[a-z_]+)`", page, re.MULTILINE))
    assert named == set(families(registry))
    assert all(f"| {metric.text}" in page for metric in EVENT_METRICS)


def test_the_dashboard_asks_for_metrics_that_exist(registry: CollectorRegistry) -> None:
    registry.register(CounterCollector(Counters()))
    exposed = set(families(registry)) | {"armor_pso_delay_seconds_bucket"}
    dashboard = json.loads((DOCS / "grafana" / "armor.json").read_text(encoding="utf-8"))
    asked = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    assert len(asked) >= 8
    for expression in asked:
        names = set(NAME.findall(expression))
        assert names
        assert names <= exposed, expression
