"""Rounds of a torture in networks that are not built: what the run has is kept when a later one cannot be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from experiments.cli.torture import torture_text
from experiments.testbed.runs.folder import ResultFolder
from experiments.testbed.runs.run import plan_scenario
from experiments.torture import run
from experiments.torture.decide.faults import Fault
from experiments.torture.record import Record
from experiments.torture.run import Session, Torture
from experiments.torture.scenario import torture_scenario
from mininet_topos.errors import ArmorError

STORM = (Fault(0.0, "silent", "s1-s2", 1.0),)
LOST = "s3 lacks 2 planned rows"


class Network:
    """Of networks, `built` can be built; each has a good round, then one that is violated."""

    built = 1

    def __init__(self, *_given: object) -> None:
        self.calms = [(2.0, []), (3.0, [LOST])]
        self.targets: dict[str, list[str]] = {}

    def __enter__(self) -> Network:
        if not Network.built:
            raise ArmorError("s2 did not connect within 60 s")
        Network.built -= 1
        return self

    def __exit__(self, *_exception: object) -> None:
        """Nothing is to be removed."""

    def storm(self, faults: object) -> None:
        """Break nothing."""

    def calm(self) -> tuple[float, list[str]]:
        """Seconds, and what is not right."""
        return self.calms.pop(0)

    def usage(self) -> dict[str, Any]:
        """No process."""
        return {}

    def backups(self) -> tuple[int, int]:
        """Acknowledged rows, lost rows."""
        return 5, 0


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    monkeypatch.setattr(run, "TorturedNetwork", Network)
    scenario = torture_scenario("square", "sdfast", None, 1, tls=False)
    ((variation, planned),) = plan_scenario(scenario).items()
    record = Record(scenario, (variation, planned), 1, ResultFolder(tmp_path / "out"))
    return Session(record, Torture(60.0, lambda _targets, _seed: STORM, replays=False))


def test_a_later_network_that_cannot_be_built_is_a_violation_and_the_rounds_before_it_are_kept(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Network, "built", 1)
    value = session.run()
    assert (value["rounds"], value["recoveries"], value["faults"], value["acknowledged_rows"]) == (2, 1, 2, 10)
    lost, unbuilt = value["violations"]
    assert (lost["what"], lost["round"]) == (LOST, 2)
    assert (unbuilt["round"], unbuilt["faults"]) == (2, [])
    assert unbuilt["what"] == "the next network could not be built: s2 did not connect within 60 s"
    assert json.loads((tmp_path / "out" / "verdict.json").read_text()) == value
    lines = torture_text(value).splitlines()
    assert "violation after round 2: the next network could not be built: s2 did not connect within 60 s" in lines


def test_a_first_network_that_cannot_be_built_is_an_error(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Network, "built", 0)
    with pytest.raises(ArmorError, match="s2 did not connect"):
        session.run()
