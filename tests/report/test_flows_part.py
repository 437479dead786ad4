"""The flows of a run in a report."""

from __future__ import annotations

from experiments.report.build import report_page
from experiments.report.flows_part import flows_part
from experiments.report.render import to_html
from tests.report.folders import ENVIRONMENT, STAGES, SVG, write_json, write_rows

SCENARIO = """\
topology: usnet
scheme: kuijia
capacity_mbps: 10
flows:
  - {name: f1, from: h1, to: h24, mbps: 4}
failures:
  - {link: [s9, s12], at_s: 6}
"""
FLOW = {
    "name": "f1",
    "source": "s1",
    "destination": "s24",
    "transport": "tcp",
    "class": "victim",
    "offered_mbps": 4.0,
    "before_mbps": 3.99,
    "after_mbps": 1.53,
    "lost_percent_after": 61.7,
    "convergence_s": None,
    "fluid": {"before_mbps": 4.0, "after_mbps": 2.25},
    "expected": {"before_mbps": None, "after_mbps": 2.0, "after_below_mbps": None},
    "met": False,
}
FAILURE = {
    "link": ["s9", "s12"],
    "what": "s9-s12",
    "kind": "silent",
    "at_s": 6.0,
    "repair_at_s": None,
    "failure_s": 6.0,
    "until_s": 20.0,
    "stages_ms": {**STAGES, "last_lost": None},
    "recovered": True,
    "outage_ms": None,
    "lost": 0,
    "backtracked": None,
}
RUN = {
    "run": "kuijia",
    "scheme": "kuijia",
    "mode": "none",
    "bfd_interval_ms": 50,
    "failures": [FAILURE],
    "sent": 0,
    "received": 0,
    "lost": 0,
    "duplicated": 0,
    "reordered": 0,
    "backtracked": 0,
    "flows": [FLOW],
    "claims": [],
    "held": True,
    "trustworthy": True,
    "warnings": [],
}


def test_a_run_with_flows_shows_them_and_their_throughput(tmp_path):
    folder = tmp_path / "flows"
    folder.mkdir()
    (folder / "scenario.yaml").write_text(SCENARIO, encoding="utf-8")
    (folder / "figure.svg").write_bytes(SVG)
    write_json(folder / "environment.json", ENVIRONMENT)
    write_json(folder / "verdict.json", {"runs": [RUN], "held": True, "trustworthy": True, "folder": str(folder)})
    write_rows(folder / "rows.jsonl", [{"run": "kuijia", "status": "ok", **FLOW}])
    page = to_html(report_page([folder]))
    for text in ("Throughput of the flows", "1 flow, 1 failure", "2.25", "61.7", "silent failure of s9-s12 at 6 s"):
        assert text in page
    assert "Delay of every packet" not in page


def test_runs_without_flows_have_no_such_part():
    assert flows_part([{"run": "sdfast", "failures": []}]) is None
