"""Counters of the PSO service over HTTP: GET /metrics for Prometheus, GET /pso as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from ryu_apps.control.decide.resource import refusal
from ryu_apps.control.metrics import ConnectionCollector
from ryu_apps.control.priority.decide.counters import BOUNDS_S, ClassCounters, Counters
from ryu_apps.control.priority.decide.settings import PsoSettings
from ryu_apps.control.priority.service import PsoService
from ryu_apps.control.serving import Answer, Application, json_answer, listen_and_serve

_LABELS = ("direction", "class_id")
_COUNTS = ("received", "served", "dropped", "removed")


class CounterCollector:
    """The counters in Prometheus' terms; values are read when they are asked for."""

    def __init__(self, counters: Counters) -> None:
        self._counters = counters

    def collect(self) -> Iterator[Any]:
        """Metric families (called by prometheus_client)."""
        by_class = sorted(self._counters.by_class.items())
        for name in _COUNTS:
            family = CounterMetricFamily(f"armor_pso_{name}", f"OpenFlow messages {name}", labels=_LABELS)
            for (direction, class_id), counters in by_class:
                family.add_metric((direction, str(class_id)), getattr(counters, name))
            yield family
        delays = HistogramMetricFamily("armor_pso_delay_seconds", "Time in the queues of the service", labels=_LABELS)
        for (direction, class_id), counters in by_class:
            delays.add_metric((direction, str(class_id)), _cumulative(counters), counters.delay.sum_s)
        yield delays
        errors = CounterMetricFamily("armor_pso_errors", "Errors by kind", labels=("kind",))
        for kind, count in sorted(self._counters.errors.items()):
            errors.add_metric((kind,), count)
        yield errors


def _cumulative(counters: ClassCounters) -> list[tuple[str, float]]:
    seen, buckets = 0, []
    for bound, count in zip((*map(repr, BOUNDS_S), "+Inf"), counters.delay.counts, strict=True):
        seen += count
        buckets.append((bound, float(seen)))
    return buckets


def metrics_application(service: PsoService) -> Application:
    """What a request gets."""
    registry = CollectorRegistry()
    registry.register(CounterCollector(service.counters))
    registry.register(ConnectionCollector())

    def application(method: str, path: str, _body: str) -> Answer:
        if method not in ("GET", "HEAD"):
            return json_answer((HTTPStatus.METHOD_NOT_ALLOWED, refusal(f"{method} is not offered here; use GET")))
        if path == "/metrics":
            return HTTPStatus.OK, CONTENT_TYPE_LATEST, generate_latest(registry)
        if path == "/pso":
            return json_answer((HTTPStatus.OK, service.describe()))
        return json_answer((HTTPStatus.NOT_FOUND, refusal("use /metrics or /pso")))

    return application


def serve_metrics(service: PsoService, settings: PsoSettings) -> Any:
    """Start answering; the greenlet that does.

    Raises
    ------
    BadInputError
        The address is taken or is none of this machine's; or the token file cannot be used.
    """
    return listen_and_serve(
        metrics_application(service),
        settings.metrics_host,
        settings.metrics_port,
        "metrics_port (0: none) or metrics_host",
        settings.metrics_token_file,
    )
