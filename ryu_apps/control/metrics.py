"""GET /metrics of the REST interface: the controller's events, counted, and what it knows of ports and links."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from machine.event_log import EventLog
from machine.event_metrics import observed_by_metrics
from ryu_apps.control.decide.rest import View
from ryu_apps.control.listening import CONNECTIONS


class PortCollector:
    """Ports and links in Prometheus' terms; values are read when they are asked for."""

    def __init__(self, view: View) -> None:
        self._view = view

    def collect(self) -> Iterator[Metric]:
        """Metric families (called by prometheus_client)."""
        view = self._view
        yield GaugeMetricFamily("armor_failed_links", "Links with a failed end", len(view.failed_links()))
        yield GaugeMetricFamily(
            "armor_connected_switches", "Switches that are connected now", len(view.live_topology().ports)
        )
        dropped = CounterMetricFamily(
            "armor_port_dropped_packets", "Packets that a full queue of a port dropped", labels=("node", "port_no")
        )
        sent = CounterMetricFamily("armor_port_sent_bytes", "Bytes that a port sent", labels=("node", "port_no"))
        for node, samples in view.port_samples().items():
            for port_no, sample in samples.items():
                dropped.add_metric((node, str(port_no)), sample.stat.tx_dropped)
                sent.add_metric((node, str(port_no)), sample.stat.tx_bytes)
        yield dropped
        yield sent


class ConnectionCollector:
    """OpenFlow connections of this process."""

    def collect(self) -> Iterator[Metric]:
        """Metric families (called by prometheus_client)."""
        text = "OpenFlow connections that are open, those without a handshake too"
        yield GaugeMetricFamily("armor_open_connections", text, CONNECTIONS.n_open)
        text = "OpenFlow connections over a limit, which were closed"
        yield CounterMetricFamily("armor_refused_connections", text, CONNECTIONS.n_refused)


def metrics_registry(view: View, events: EventLog) -> CollectorRegistry:
    """Metrics of a controller, from now on."""
    registry = observed_by_metrics(events).registry
    registry.register(PortCollector(view))
    registry.register(ConnectionCollector())
    return registry
