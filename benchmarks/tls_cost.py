"""What TLS costs the controller: installing plans, and rewriting routes after a link failure (CBC's controller).

    python -m benchmarks.tls_cost [--topology darkstrand] [--trials 7] [--out FILE]

Two apps, one with TLS and one without, take the same switches of a private Open vSwitch in turn, trial by trial (no
root). Each trial installs all plans on empty switches, fails a link and repairs it. Rows: seconds from the first
connection to the last plan installed, and seconds that the controller needs from the failure until the last switch has
confirmed its new routes. The first connection comes after TLS's handshake.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.install_rate import clear, through_app
from benchmarks.trial_rows import parser_of, record
from machine.authority import files_of, make_certificates
from mininet_topos.catalogue import load_topology
from mininet_topos.topology import Topology
from tests.control.running import DummyNetwork, RunningApp
from tests.dummy_ovs import DummyOvs

SETTINGS = {"stats_interval_s": "0", "discovery_interval_s": "5"}
MEASURES = ("install_s", "restoration_s")


def trial(network: DummyNetwork, app: RunningApp, link: str) -> dict[str, float]:
    """Seconds of the measures: fill empty switches, fail a link; then repair it."""
    network.ovs.disconnect(network.topology.node_names)
    clear(network)
    install_s = through_app(network, app)
    app.wait_ready()
    done = len(app.events("restoration_done"))
    network.set_link(link, up=False)
    restored = app.wait_event("restoration_done", done + 1)
    network.set_link(link, up=True)
    app.wait_event("restoration_done", done + 2)
    return {"install_s": install_s, "restoration_s": restored["seconds"]}


def trials(topology: Topology, count: int, folder: Path) -> Iterator[dict[str, object]]:
    """Rows: both apps in turn, each time with another link."""
    make_certificates(folder / "certificates", ("controller", "switches"), days=1)
    own, theirs = files_of(folder / "certificates", "controller"), files_of(folder / "certificates", "switches")
    tls = ("--ctl-privkey", own.private_key, "--ctl-cert", own.certificate, "--ca-certs", own.ca_certificate)
    with DummyOvs() as ovs, ExitStack() as stack:
        network = DummyNetwork(ovs, topology)
        ovs.vsctl("set-ssl", theirs.private_key, theirs.certificate, theirs.ca_certificate)
        apps = {}
        for name, arguments in (("clear", ()), ("tls", tls)):
            (folder / name).mkdir()
            app = RunningApp("cbc", topology.name, folder / name, arguments, **SETTINGS)
            apps[name] = stack.enter_context(app)
        for number in range(count):
            link = str(topology.link_ids[number % len(topology.link_ids)])
            for name in sorted(apps, reverse=bool(number % 2)):
                yield {"trial": number, "channel": name, "link": link, **trial(network, apps[name], link)}


def summary(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """A line a measure, for people."""
    lines = []
    for measure in MEASURES:
        of = {name: {row["trial"]: row[measure] for row in rows if row["channel"] == name} for name in ("clear", "tls")}
        said = [
            f"{name} {median(each.values()):.3f} s [{min(each.values()):.3f}, {max(each.values()):.3f}]"
            for name, each in of.items()
        ]
        ratios = sorted(of["tls"][number] / of["clear"][number] for number in of["tls"])
        lines.append(f"{measure:14} {', '.join(said)}; ratio {median(ratios):.2f} [{ratios[0]:.2f}, {ratios[-1]:.2f}]")
    return lines


def main() -> int:
    """Run the trials, write the rows, print a summary."""
    parser = parser_of("tls_cost", __doc__)
    parser.add_argument("--topology", default="darkstrand")
    parser.add_argument("--trials", type=int, default=7)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="armor-") as folder:
        rows = trials(load_topology(given.topology), given.trials, Path(folder))
        return record("tls_cost", given.out, rows, summary)


if __name__ == "__main__":
    sys.exit(main())
