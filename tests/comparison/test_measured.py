"""`armor compare --measure`: which trials, and what becomes of their rows."""

from __future__ import annotations

import json
import signal
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.campaign.act.store import Store
from experiments.campaign.order import FAILED, in_order
from experiments.campaign.values import Trial, Variant
from experiments.cli import compare, reproduce
from experiments.cli.main import main
from experiments.comparison.decide.measured import HEADER, Spread, cells, measured, outage_of_row_ms, spread
from experiments.comparison.decide.trials import PAIRS, Measuring, cases_of, compare_trials, variant_of
from machine import ending
from mininet_topos.catalogue import load_topology
from mininet_topos.errors import BadInputError, MissingRequirementError
from ryu_apps.plan.options import PlanOptions
from ryu_apps.schemes import find_scheme
from tests.examples import examples
from tests.signals import heard_as_from_a_terminal

USNET = load_topology("usnet")
VARIANTS = [variant_of(find_scheme(name), PlanOptions()) for name in ("sdfast", "cbc", "ffg", "cb")]


@examples(40)
@given(st.integers(1, 5), st.integers(0, 99))
def test_each_scheme_has_one_turn_a_round_on_the_same_link_and_pairs(rounds: int, seed: int) -> None:
    trials = compare_trials(Measuring("usnet", USNET, None, rounds, seed), VARIANTS)
    turns = [[trial.variant for trial in trials if trial.round == number] for number in range(1, rounds + 1)]
    assert all(sorted(turn, key=str) == sorted(VARIANTS, key=str) for turn in turns)
    assert len({(trial.links, trial.pairs) for trial in trials}) == 1
    assert len({frozenset(pair) for pair in trials[0].pairs}) == len(trials[0].pairs) == PAIRS
    assert len({trial.trial_id for trial in trials}) == len(trials)
    assert [trial.round for trial in in_order(trials)] == sorted(trial.round for trial in trials)


def test_other_seeds_give_other_orders() -> None:
    orders = {
        tuple(trial.variant for trial in compare_trials(Measuring("usnet", USNET, None, 1, seed), VARIANTS))
        for seed in range(30)
    }
    assert len(orders) > 10


@pytest.mark.parametrize("link", [str(link) for link in USNET.link_ids])
def test_all_cases_of_a_link_lie_on_it(link: str) -> None:
    for case in cases_of(Measuring("usnet", USNET, link, 1, 1)):
        assert link in {str(USNET.link_id(direction)) for direction in case.primary}


@pytest.mark.parametrize("link", ["s1-s99", "s2-s1"])
def test_an_unknown_link_is_refused(link: str) -> None:
    with pytest.raises(BadInputError, match="no link"):
        cases_of(Measuring("usnet", USNET, link, 1, 1))


@given(st.lists(st.floats(0, 1e6), min_size=1))
def test_a_spread_holds_every_round(values: list[float]) -> None:
    found = spread(values)
    assert found == Spread(median(values), min(values), max(values))
    assert spread([*values, None]) is None


@given(st.lists(st.floats(0, 1e6) | st.none(), min_size=1))
def test_an_outage_that_had_not_ended_is_no_number(outages_ms: list[float | None]) -> None:
    row: Any = SimpleNamespace(pairs=[SimpleNamespace(outage_ms=each) for each in outages_ms])
    known_ms = [each for each in outages_ms if each is not None]
    assert outage_of_row_ms(row) == (max(known_ms) if len(known_ms) == len(outages_ms) else None)


def test_a_scheme_without_a_row_has_dashes() -> None:
    (line,) = measured([Variant("cb")], [])
    assert cells(line) == ("cb", "0", "0", *("-" for _ in HEADER[3:]))


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--rounds", "2"), "--measure"),
        (("--link", "s1-s2"), "--measure"),
        (("--measure", "--routes", "mst"), "is not for --measure"),
        (("--measure", "--link", "s9-s10"), "is no link of"),
    ],
)
def test_measuring_refuses_what_it_cannot_use(words: tuple[str, ...], complaint: str, capsys) -> None:
    assert main(["compare", "ffg", "square", *words]) == 2
    assert complaint in capsys.readouterr().err


@pytest.mark.parametrize("is_root", [False, True])
def test_what_cannot_be_measured_is_refused_before_anything_is_computed(
    is_root: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def require(*_given: object) -> None:
        if not is_root:
            raise MissingRequirementError("root is missing")

    monkeypatch.setattr(reproduce.NetworkTestbed, "require", require)
    monkeypatch.setattr(compare, "_compared", lambda *_given: pytest.fail("the schemes were compared first"))
    (tmp_path / "measured").mkdir()
    (tmp_path / "measured" / "rows.jsonl").touch()
    assert main(["compare", "ffg", "square", "--measure", "--out", str(tmp_path)]) == 2
    assert ("is not empty" if is_root else "root is missing") in capsys.readouterr().err


@pytest.mark.parametrize("trials_before", [0, 1])
def test_an_interrupted_measurement_keeps_what_is_known(
    trials_before: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(store: Store, trials: Sequence[Trial], _testbed: object) -> None:
        with store.writing():
            for trial in trials[:trials_before]:
                store.append({"trial": trial.trial_id, "variant": trial.variant.name, "status": FAILED})
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(reproduce, "measure_trials", interrupted)
    monkeypatch.setattr(reproduce.NetworkTestbed, "require", lambda *_given: None)
    monkeypatch.setattr(ending, "_INSIST_S", 0.05)  # shorter than drawing the picture takes
    words = ("compare", "ffg", "shortest", "square", "--measure", "--json", "--out")
    with heard_as_from_a_terminal():
        assert main([*words, str(tmp_path / "out")]) == 130
    said = capsys.readouterr()
    value = json.loads((tmp_path / "out" / "compare.json").read_text())
    assert "armor: interrupted" in said.err
    assert json.loads(said.out) == value
    assert {row["scheme"] for row in value["rows"]} == {"ffg", "shortest"}
    assert [each["scheme"] for each in value["measured"]] == ["ffg", "shortest"][: 2 * trials_before]
    assert len(list((tmp_path / "out" / "measured").glob("rows.jsonl"))) == 1
