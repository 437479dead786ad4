"""Metrics of apps and agents for Prometheus: the events of the event log, counted (docs/metrics.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, start_http_server

from machine.event_log import EventField, EventLog
from mininet_topos.errors import BadInputError


@dataclass(frozen=True)
class EventMetric:
    """A counter, and the events that it counts.

    Attributes
    ----------
    name
        In the terms of Prometheus; the counter that is exposed ends in `_total`.
    events
        Names of the events.
    labels
        Fields of the events by which the counter is split.
    adds
        Field that is added up; empty: each event counts 1.
    """

    name: str
    text: str
    events: tuple[str, ...]
    labels: tuple[str, ...] = ("node",)
    adds: str = ""


EVENT_METRICS = (
    EventMetric("armor_connections", "Connections of a switch that began", ("connect", "reconnect")),
    EventMetric("armor_disconnections", "Connections of a switch that ended", ("disconnect",)),
    EventMetric("armor_plans_installed", "Plans brought into a switch", ("plan_installed",)),
    EventMetric("armor_plan_rows_added", "Rows that a switch lacked of its plan", ("plan_installed",), adds="added"),
    EventMetric("armor_plan_rows_deleted", "Stale rows removed from a switch", ("plan_installed",), adds="deleted"),
    EventMetric(
        "armor_port_changes",
        "Ports whose liveness changed (carrier or BFD): live=False is a detection, many of both a flap",
        ("port_status",),
        ("node", "port_no", "live"),
    ),
    EventMetric(
        "armor_switchovers", "Bundles of rows that an agent sent, by cause", ("agent_install",), ("node", "cause")
    ),
    EventMetric("armor_agent_rows_installed", "Rows that agents installed", ("agent_install",), adds="rows"),
    EventMetric(
        "armor_agent_rows_deleted", "Rows that agents removed", ("agent_install", "agent_remove"), adds="deleted"
    ),
    EventMetric("armor_packets_released", "Punted packets that agents sent on", ("agent_release",), adds="packets"),
    EventMetric(
        "armor_packets_dropped",
        "Punted packets that agents dropped",
        ("packet_dropped",),
        ("node", "reason"),
        "packets",
    ),
    EventMetric("armor_notifications", "Failed sets or links that a switch was notified of", ("notification",)),
    EventMetric("armor_ldis_sent", "Link-down indications that an agent sent", ("ldis_sent",)),
    EventMetric("armor_restorations", "Rewritings of routes or tunnels by the controller", ("restoration_done",), ()),
    EventMetric("armor_restoration_rows", "Rows that restorations changed", ("restoration_done",), (), "rows"),
    EventMetric("armor_restoration_seconds", "Time that restorations took", ("restoration_done",), (), "seconds"),
    EventMetric("armor_returns", "Returns of traffic to repaired links", ("return_done",), ()),
    EventMetric("armor_te_runs", "Runs of traffic engineering", ("te_done",), ()),
    EventMetric("armor_te_solving_seconds", "Time that its solver took", ("te_done",), (), "solving_seconds"),
    EventMetric("armor_te_rows", "Rows that it changed", ("te_done",), (), "rows"),
    EventMetric("armor_te_failures", "Runs of traffic engineering that failed", ("te_failed",), ()),
    EventMetric("armor_mismatches", "Differences between topology and network, by kind", ("mismatch",), ("kind",)),
    EventMetric("armor_errors", "Errors that a switch or a task reported", ("error",)),
    EventMetric(
        "armor_errors_left_out", "Of these, errors without a line in the logs", ("errors_left_out",), adds="number"
    ),
    EventMetric(
        "armor_events_left_out",
        "Other events of a switch without a line in the logs",
        ("events_left_out",),
        ("node", "what"),
        "number",
    ),
)


class EventMetrics:
    """The counters of one process.

    Attributes
    ----------
    registry
        Where Prometheus' library finds them.
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._counters = [
            (metric, Counter(metric.name, metric.text, metric.labels, registry=self.registry))
            for metric in EVENT_METRICS
        ]

    def count(self, event: str, fields: Mapping[str, EventField]) -> None:
        """Count an event; a label that it does not carry is empty."""
        for metric, counter in self._counters:
            if event in metric.events:
                child = (
                    counter.labels(*(fields.get(label, "") for label in metric.labels)) if metric.labels else counter
                )
                child.inc(_number(fields.get(metric.adds)) if metric.adds else 1)


def _number(value: EventField) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def observed_by_metrics(log: EventLog) -> EventMetrics:
    """Metrics of all that a process writes into its event log from now on."""
    metrics = EventMetrics()
    log.observers.append(metrics.count)
    return metrics


def serve_metrics_of(log: EventLog, host: str, port: int) -> None:
    """Answer GET /metrics with the metrics of an event log, in a thread that ends with the process.

    Raises
    ------
    BadInputError
        The address is taken or is none of this machine's.
    """
    try:
        start_http_server(port, host, observed_by_metrics(log).registry)
    except OSError as error:
        raise BadInputError(f"--metrics {host}:{port}: cannot listen there ({error.strerror or error})") from error
