"""Small folders of results, as the commands write them."""

from __future__ import annotations

import json

SVG = b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 10 10"><rect id="a" width="9" height="9"/></svg>'
ENVIRONMENT = {
    "command": ["armor", "run", "a file.yaml"],
    "commit": "0123456789abcdef+",
    "started": "2026-01-02T03:04:05+0000",
    "kernel": "6.1.0-test",
    "open_vswitch": "3.1.0",
    "cores": 4,
    "load": [0.25, 0.5, 0.75],
    "packages": {"numpy": "2.2.0", "ryu": None},
    "emulation": {"sdfast-learned": {"datapath": "netdev", "bfd_interval_ms": 5}},
}
SCENARIO = """\
topology: darkstrand
scheme: sdfast
modes: [learned]
traffic:
  - {from: h4, to: h10}

failures:
  - {link: [s9, s10], at_s: 2, repair_at_s: 10}
duration_s: 20
"""
STAGES = {
    "detect": 13.15,
    "switch_over": 15.7,
    "first_good": 18.3,
    "last_lost": 12.4,
    "last_crankback": 16.1,
    "steady": 18.3,
}
ROUTE = "s4>s7 s7>s8 s8>s5 s5>s6 s6>s9 s9>s6 s6>s5 s5>s8 s8>s7 s7>s4 s4>s1 s1>s2 s2>s14".split()
CLAIM = {
    "name": "mean delay against CB",
    "unit": "%",
    "paper": -54.0,
    "measured": -48.25,
    "low": -51.0,
    "high": -45.5,
    "verdict": "holds",
    "band": "-69 to -39",
    "note": "both parts together",
}


def write_json(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")


def write_rows(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def run_verdict(name="sdfast-learned"):
    counts = {"sent": 1000, "received": 993, "lost": 7, "duplicated": 0, "reordered": 0, "backtracked": 1}
    failure = {
        "link": ["s9", "s10"],
        "what": "s9-s10",
        "kind": "silent",
        "at_s": 2.0,
        "repair_at_s": 10.0,
        "failure_s": 2.0,
        "until_s": 10.0,
        "stages_ms": STAGES,
        "outage_ms": 14.5,
        "lost": 7,
        "backtracked": 1,
        "lost_after_repair": 0,
    }
    return {
        "run": name,
        "scheme": "sdfast",
        "mode": "learned",
        "planner": "tree",
        "routes": "spt",
        "bfd_interval_ms": 5,
        "failures": [failure],
        **counts,
        "claims": [
            {"name": "s4>s10 recovers", "held": True, "detail": ""},
            {"name": "every switch holds its plan", "held": False, "detail": "s3: 2 rows missing"},
        ],
        "held": False,
        "trustworthy": False,
        "warnings": ["the machine was busy"],
    }


def probe_row(**more):
    row = {
        "run": "sdfast-learned",
        "from": "s4",
        "to": "s10",
        "kind": "probe",
        "way": "out",
        "sequence": 1,
        "sent_s": 2.016,
        "arrived_s": 2.018,
        "copies": 1,
        "hops": 13,
        "back_hops": 5,
        "route": [[hop, 0, 2.016] for hop in ROUTE],
    }
    return {**row, **more}


def run_folder(path, name="sdfast-learned", failed=None):
    """A folder of `armor run` with one run; `failed` adds one that broke off with this error."""
    path.mkdir(parents=True)
    runs = [run_verdict(name)]
    if failed:
        broken = {"run": "sdfast-agent", "scheme": "sdfast", "mode": "agent", "failures": [], "error": failed}
        runs.append({**broken, "held": False, "trustworthy": False, "warnings": [failed]})
    write_json(path / "verdict.json", {"runs": runs, "held": False, "trustworthy": False, "folder": "x"})
    write_json(path / "environment.json", ENVIRONMENT)
    (path / "scenario.yaml").write_text(SCENARIO, encoding="utf-8")
    write_rows(path / "probes.jsonl", [probe_row(run=name), probe_row(run=name, sequence=2, back_hops=1)])
    row = {"run": name, "status": "ok", "failure": "s9-s10", "at_s": 2.0, "from": "s4", "to": "s10"}
    row |= {"probe": "probe", "way": "out", "first_good_ms": 18.3, "outage_ms": 14.5, "sent": 500, "lost": 7}
    write_rows(path / "rows.jsonl", [row])
    (path / "figure.svg").write_bytes(SVG)
    return path


def trial_row(trial, status="ok", **more):
    row = {"version": 1, "trial": trial, "attempt": 1, "status": status, "error": None, "kind": "mixed"}
    row |= {"topology": "darkstrand", "variant": "cbc-5ms", "failures": 4, "links": ["s6-s9"], "seconds": 6.5}
    row |= {"convergence_ms": 120.5, "backtracking_ms": {"from_failure": 80.25, "from_detection": 60.0}}
    return {**row, "trustworthy": True, "warnings": [], **more}


def campaign_folder(path, trials=("t/1", "t/2", "t/3", "t/4"), rows=None, claims=(CLAIM,)):
    """A folder of `armor reproduce` with one drawn id out of two."""
    path.mkdir(parents=True)
    description = {"format_version": 1, "ids": ["sdfast-fig5", "sdfast-fig9"], "quick": True, "seed": 7}
    write_json(path / "campaign.json", {**description, "trials": list(trials)})
    write_json(path / "environment.json", {**ENVIRONMENT, "command": ["armor", "reproduce", "sdfast-fig5"]})
    facts = {"bfd_interval_ms": 20, "link": {"capacity_mbps": 5, "reached_mbps": 4.2}, "trustworthy": False}
    write_json(path / "calibration.json", {**facts, "problems": ["link rate reached 4.2 of 5 Mbit/s"]})
    default = [
        trial_row("t/1", convergence_ms=100.0),
        trial_row("t/2", trustworthy=False, warnings=["the machine was busy"]),
        trial_row("t/3", "failed", error="the controller did not answer"),
        trial_row("t/3", "failed", error="the controller did not answer again", attempt=2),
    ]
    write_rows(path / "rows.jsonl", default if rows is None else rows)
    verdict = {
        "id": "sdfast-fig5",
        "title": "Delay",
        "paper": "sd-fast",
        "verdict": "holds",
        "caption": "not trustworthy",
    }
    table = {"header": ["variant", "delay, ms"], "rows": [["cb", "4.25"], ["SD-FAST", 2.5]]}
    write_json(path / "sdfast-fig5" / "verdict.json", {**verdict, "claims": list(claims), "table": table})
    (path / "sdfast-fig5" / "figure.svg").write_bytes(SVG)
    return path
