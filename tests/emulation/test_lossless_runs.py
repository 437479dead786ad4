"""Runs of SD-FAST with SQR beside agents: a silent failure loses nothing, too small a ring loses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dataplane.sqr import find_agent
from emulation.runfile import STATE_VARIABLE
from mininet_topos.errors import MissingRequirementError
from tests.undisturbed import undisturbed_run

pytestmark = [pytest.mark.emulation, pytest.mark.ryu]

# A ring of 8 packets holds 53 ms at 150 packets a second, and no session notices a failure so early; 1.5 s bound a slow
# one. What is replayed of 1.5 s fits the socket by which a switch reads a port (256 packets), so that a next hop loses
# nothing of it even if it reads nothing meanwhile (docs/decisions/unread-frames.md).
SCENARIO = """\
topology: figure2
scheme: lossless
mode: agent
sqr: {links: [[s4, s5]], slots: 4096, delta_ms: 1500, reconfiguration_ms: 1000}
controls:
  - {scheme: lossless, name: small-ring, slots: 8, packets: 10}
bfd_interval_ms: 100
wait_to_restore_s: 1
settle_s: 1
traffic:
  - {from: h1, to: h5, interval_ms: 20}
  - {from: h1, to: h5, kind: datagrams, rate_pps: 100}
failures:
  - {link: [s4, s5], at_s: 0.5, repair_at_s: 3.5}
duration_s: 8.5
"""


def test_a_silent_failure_loses_nothing_with_agents_and_a_ring_that_is_too_small_loses(
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    try:
        find_agent()
    except MissingRequirementError as error:
        pytest.skip(str(error))
    monkeypatch.setenv(STATE_VARIABLE, str(tmp_path_factory.mktemp("state")))
    file = tmp_path / "lossless.yaml"
    file.write_text(SCENARIO, encoding="utf-8")
    code, (kept, small) = undisturbed_run(file, tmp_path / "out", capsys)
    assert code == 0, [claim for run in (kept, small) for claim in run["claims"] if not claim["held"]]
    assert (kept["run"], small["run"]) == ("lossless-agent", "lossless-agent-small-ring")
    assert kept["lost"] == 0
    assert kept["duplicated"] > 0
    (load,) = kept["loads"]
    assert load["sent"] == load["received"] > 0
    assert small["lost"] > 10
    lines = (tmp_path / "out" / "logs" / kept["run"] / "s4" / "sqr-s4.log").read_text(encoding="utf-8").splitlines()
    detected = [line for line in map(json.loads, lines) if line.get("event") == "detected"]
    assert {line["source"] for line in detected} == {"notified"}  # once more where BFD flaps on the repaired link
