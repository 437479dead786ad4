"""Folders of runs whose packets and events are those of a small recovery with a return."""

from __future__ import annotations

from tests.report.folders import CLAIM, ROUTE, run_folder, write_rows

__all__ = ["CLAIM", "ROUTE", "recovered_folder"]

ZERO_S = 1000.0
LOST = 7
SENT_MS = (*range(-500, 1900, 20), *range(1900, 2200, 2), *range(2200, 20_000, 20))
FAILED_MS, REPAIRED_MS, RETURNED_S = 2000.0, 10_000.0, 14.25


def recovered_folder(path):
    """s9-s10 fails at 2 s, s9 and s6 are notified, seven packets are lost, one backtracks; repaired at 10 s."""
    run_folder(path)
    # Plans for one failed link are made in a tenth of the time.
    scenario = path / "scenario.yaml"
    scenario.write_text(scenario.read_text(encoding="utf-8") + "max_failures: 1\n", encoding="utf-8")
    write_rows(path / "probes.jsonl", [*_packets("out"), *_packets("back")])
    write_rows(path / "events.jsonl", _events())
    shared = {
        "run": "sdfast-learned",
        "status": "ok",
        "failure": "s9-s10",
        "at_s": 2.0,
        "from": "s4",
        "to": "s10",
        "probe": "probe",
    }
    out = {"is_affected": True, "first_switchover_ms": 15.7, "last_crankback_ms": 16.1, "first_good_ms": 18.3}
    back = {"is_affected": True, "first_switchover_ms": 20.0, "last_crankback_ms": None, "first_good_ms": 21.0}
    rows = [{**shared, "way": "out", **out}, {**shared, "way": "back", **back}]
    write_rows(path / "rows.jsonl", rows)
    return path


def _packets(way):
    for sequence, sent_ms in enumerate(SENT_MS):
        lost = way == "out" and FAILED_MS <= sent_ms < FAILED_MS + 2 * LOST
        row = {"run": "sdfast-learned", "from": "s4", "to": "s10", "kind": "probe", "way": way, "sequence": sequence}
        row |= {
            "sent_s": sent_ms / 1000,
            "arrived_s": None if lost else sent_ms / 1000 + 0.0005,
            "copies": int(not lost),
        }
        row |= {"hops": 7, "back_hops": 0}
        if way == "out" and sent_ms == FAILED_MS + 16:
            hops = [[hop, 0, sent_ms / 1000 + 0.0001 * place] for place, hop in enumerate(ROUTE, 1)]
            row |= {"back_hops": 5, "hops": len(ROUTE), "route": hops}
        yield row


def _events():
    def event(at_s, source, name, **fields):
        return {"t_monotonic_s": ZERO_S + at_s, "source": source, "event": name, "run": "sdfast-learned", **fields}

    injected = {"kind": "silent", "target": "s9-s10"}
    return [
        event(-1.0, "watcher", "port_status", node="s9", port_no=1, live=True, is_first=True),
        event(2.0, "emulation", "inject", live=False, before_s=ZERO_S + 2.0, after_s=ZERO_S + 2.0001, **injected),
        event(2.0131, "watcher", "port_status", node="s9", port_no=3, live=False),
        event(2.02, "agent:s9", "agent_install", node="s9", rows=9, deleted=2, cause="local failure"),
        event(10.0, "emulation", "inject", live=True, before_s=ZERO_S + 10.0, after_s=ZERO_S + 10.0001, **injected),
        event(RETURNED_S, "controller", "return_done", links=["s9-s10"], rounds=2),
        event(25.0, "emulation", "inject", live=True, before_s=ZERO_S + 25.0, after_s=ZERO_S + 25.0, **injected),
    ]
