"""Rules per second through the Ryu app, beside `ovs-ofctl --bundle add-flows` of the same rules, and the app's memory.

    python -m benchmarks.install_rate [--topology darkstrand] [--trials 5] [--out FILE]

Both fill the same bridges of one private Open vSwitch in dummy mode (no root), in turn, trial by trial, so that the
ratio holds whatever the machine. Every trial is a JSON line of the result file, failed ones too. Through the app a
trial lasts from the first switch's connection to the last `plan_installed`: reading each switch, comparing, encoding
and the barriers are inside. With ovs-ofctl it lasts as long as one process a switch, four at a time, needs; the text
files are written before.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

from benchmarks.trial_rows import memory_mb, parser_of, record
from mininet_topos.catalogue import load_topology
from mininet_topos.errors import ArmorError
from mininet_topos.topology import Topology
from ryu_apps.plan.edge_rows import with_edge_rows
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.row_text import flow_text, group_text
from ryu_apps.plan.rows import RulePlan
from ryu_apps.schemes import plan_network
from tests.control.running import DummyNetwork, RunningApp
from tests.dummy_ovs import DummyOvs

CASES = (
    ("sdfast", {"mode": "learned", "planner": "tree"}),
    ("sdfast", {"mode": "learned", "planner": "pair", "max_failures": "1"}),
    ("sdfast", {"mode": "agent", "planner": "tree"}),
    ("ffg", {}),
)


def clear(network: DummyNetwork) -> None:
    """Empty every switch."""
    for node in network.topology.node_names:
        network.ovs.ofctl("del-flows", node)
        network.ovs.ofctl("del-groups", node)


def through_ofctl(network: DummyNetwork, plans: list[RulePlan], folder: Path) -> float:
    """Seconds to fill every switch with ovs-ofctl."""
    for plan in plans:
        (folder / f"{plan.node}.groups").write_text("\n".join(map(group_text, plan.groups)) + "\n", encoding="utf-8")
        (folder / f"{plan.node}.flows").write_text("\n".join(map(flow_text, plan.flows)) + "\n", encoding="utf-8")

    def fill(plan: RulePlan) -> None:
        if plan.groups:
            network.ovs.ofctl("add-groups", plan.node, f"{folder}/{plan.node}.groups")
        network.ovs.ofctl("add-flows", plan.node, f"{folder}/{plan.node}.flows", options=("--bundle",))

    started_s = time.monotonic()
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        for _done in pool.map(fill, plans):
            pass
    return time.monotonic() - started_s


def through_app(network: DummyNetwork, app: RunningApp) -> float:
    """Seconds from the first connection to the last plan installed."""
    before = len(app.events("plan_installed"))
    connected = len(app.events("connect")) + len(app.events("reconnect"))
    network.connect(app.target)
    app.wait_event("plan_installed", before + len(network.topology.node_names), timeout_s=300)
    installed = app.events("plan_installed")[before:]
    connections = sorted(event["t_monotonic_s"] for name in ("connect", "reconnect") for event in app.events(name))[
        connected:
    ]
    if any(event["added"] != event["rows"] for event in installed):
        raise ArmorError("a switch was not empty before the trial; nothing can be said about this trial")
    return max(event["t_monotonic_s"] for event in installed) - connections[0]


def trials(topology: Topology, scheme: str, settings: dict[str, str], count: int) -> Iterator[dict[str, object]]:
    """Rows of one case: app and ovs-ofctl in turn, then the app's memory."""
    options = {name: int(value) if value.isdigit() else value for name, value in settings.items()}
    plans = [with_edge_rows(plan) for plan in plan_network(scheme, topology, PlanOptions(**options)).values()]
    rows = sum(len(plan.flows) for plan in plans)
    case = {"topology": topology.name, "scheme": scheme, **settings, "switches": len(plans), "rows": rows}
    quiet = {"stats_interval_s": "0", "discovery_interval_s": "5"}
    with tempfile.TemporaryDirectory(prefix="armor-") as folder, DummyOvs() as ovs:
        network = DummyNetwork(ovs, topology)
        with RunningApp(scheme, topology.name, Path(folder), **settings, **quiet) as app:
            for trial in range(count):
                for how, act in (
                    ("app", lambda: through_app(network, app)),
                    ("ovs-ofctl", lambda: through_ofctl(network, plans, Path(folder))),
                ):
                    network.ovs.disconnect(topology.node_names)
                    clear(network)
                    yield {**case, "trial": trial, "how": how, **measured(act, rows)}
            if app.process is not None:
                network.ovs.disconnect(topology.node_names)
                clear(network)
                through_app(network, app)
                yield {**case, "how": "memory", **memory_mb(app.process.pid)}


def measured(act, rows: int) -> dict[str, object]:
    """Seconds and rate of one trial; a failed one says why."""
    try:
        seconds = act()
    except (ArmorError, AssertionError) as error:
        return {"status": "failed", "error": str(error)}
    return {"status": "ok", "seconds": seconds, "rows_per_s": rows / seconds}


def summary(rows: list[dict[str, object]]) -> list[str]:
    """One line a case, for people."""
    lines = []
    cases = sorted({(row["scheme"], row.get("mode"), row.get("planner"), row["rows"]) for row in rows}, key=str)
    for case in cases:
        mine = [row for row in rows if (row["scheme"], row.get("mode"), row.get("planner"), row["rows"]) == case]
        rate = {
            how: median([float(row["rows_per_s"]) for row in mine if row["how"] == how and row["status"] == "ok"])  # type: ignore[arg-type]
            for how in ("app", "ovs-ofctl")
        }
        memory = next(row for row in mine if row["how"] == "memory")
        failed = sum(1 for row in mine if row.get("status") == "failed")
        name = " ".join(str(part) for part in case[:3] if part)
        lines.append(
            f"{name:24} {case[3]:7} rows  app {rate['app']:8.0f}/s  ovs-ofctl --bundle {rate['ovs-ofctl']:8.0f}/s  "
            f"ratio {rate['app'] / rate['ovs-ofctl']:5.2f}  app memory {memory['rss_mb']:5.0f} MB  failed {failed}"
        )
    return lines


def main() -> int:
    """Run the cases, write the rows, print a summary."""
    parser = parser_of("install_rate", __doc__)
    parser.add_argument("--topology", default="darkstrand")
    parser.add_argument("--trials", type=int, default=5)
    given = parser.parse_args()
    topology = load_topology(given.topology)
    rows = (row for scheme, settings in CASES for row in trials(topology, scheme, settings, given.trials))
    return record("install_rate", given.out, rows, summary)


if __name__ == "__main__":
    sys.exit(main())
