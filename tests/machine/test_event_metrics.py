"""Events, counted: each counter is the number, or the sum, of its events, whatever came between."""

from __future__ import annotations

import urllib.request

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.loadgen.ports import free_port
from machine.event_log import EVENTS_VARIABLE, EventLog
from machine.event_metrics import EVENT_METRICS, observed_by_metrics, serve_metrics_of
from mininet_topos.errors import BadInputError

NODES = st.sampled_from(["s1", "s2"])
EVENTS = st.one_of(
    st.tuples(
        st.just("port_status"),
        st.fixed_dictionaries({"node": NODES, "port_no": st.integers(1, 2), "live": st.booleans()}),
    ),
    st.tuples(
        st.just("agent_install"),
        st.fixed_dictionaries(
            {
                "node": NODES,
                "cause": st.sampled_from(["local failure", "port up"]),
                "rows": st.integers(0, 9),
                "deleted": st.integers(0, 9),
            }
        ),
    ),
    st.tuples(st.just("agent_remove"), st.fixed_dictionaries({"node": NODES, "deleted": st.integers(0, 9)})),
    st.tuples(
        st.just("restoration_done"), st.fixed_dictionaries({"rows": st.integers(0, 9), "seconds": st.floats(0, 5)})
    ),
    st.tuples(st.just("not counted"), st.fixed_dictionaries({"node": NODES})),
)


@pytest.fixture(autouse=True)
def no_file(monkeypatch) -> None:
    monkeypatch.delenv(EVENTS_VARIABLE, raising=False)


@given(st.lists(EVENTS, max_size=30))
def test_a_counter_is_what_its_events_add_up_to(events) -> None:
    log = EventLog("agent:s1")
    registry = observed_by_metrics(log).registry
    for name, fields in events:
        log.write(name, **fields)
    for metric in EVENT_METRICS:
        mine = [fields for name, fields in events if name in metric.events]
        for labels in {tuple(str(fields.get(label, "")) for label in metric.labels) for fields in mine}:
            chosen = [each for each in mine if tuple(str(each.get(label, "")) for label in metric.labels) == labels]
            expected = sum(each.get(metric.adds, 0) for each in chosen) if metric.adds else len(chosen)
            found = registry.get_sample_value(f"{metric.name}_total", dict(zip(metric.labels, labels, strict=True)))
            assert found == pytest.approx(expected), metric.name


def test_what_is_counted_has_a_name_of_its_own_and_at_least_one_event() -> None:
    assert len({metric.name for metric in EVENT_METRICS}) == len(EVENT_METRICS)
    assert all(metric.events and metric.name.startswith("armor_") for metric in EVENT_METRICS)


def test_an_agent_answers_with_its_metrics() -> None:
    log, port = EventLog("agent:s1"), free_port()
    serve_metrics_of(log, "127.0.0.1", port)
    log.write("notification", node="s1", tag_id=7)
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        assert b'armor_notifications_total{node="s1"} 1.0' in answer.read()
    with pytest.raises(BadInputError, match=f"--metrics 127.0.0.1:{port}: cannot listen there"):
        serve_metrics_of(log, "127.0.0.1", port)
