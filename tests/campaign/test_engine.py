"""The engine with fake runners: order, attempts, interrupts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.campaign.act.engine import Runner, run_campaign
from experiments.campaign.act.store import ROWS, Store
from experiments.campaign.order import attempts_of, good_rows
from experiments.campaign.values import Json, Trial
from mininet_topos.errors import ArmorError, MissingRequirementError
from tests.campaign.fakes import FakeRunner, Silent, trial, trials
from tests.examples import examples

REPOSITORY = Path(__file__).resolve().parents[2]


def run(path: Path, wanted: list[Trial], runner: Runner) -> Silent:
    """Run on a folder, new or begun."""
    store = Store(path)
    progress = Silent()
    path.mkdir(exist_ok=True)
    with store.writing():
        run_campaign(wanted, {"mixed": runner, "download": runner, "verify": lambda _: {}}, store, True, progress)
    return progress


def test_trials_that_share_a_network_run_in_one_session_and_variants_take_turns(tmp_path: Path) -> None:
    runner = FakeRunner()
    run(tmp_path, trials(), runner)
    opened = [line for line in runner.log if line.startswith("open")]
    assert opened == ["open a 1", "open b 1", "open c 1", "open a 2", "open b 2", "open c 2"]
    assert len(runner.log) == 6 + 12


def test_kinds_with_the_same_runner_share_a_session(tmp_path: Path) -> None:
    runner = FakeRunner()
    run(tmp_path, [trial(1, "a"), trial(1, "b"), trial(1, "a", kind="download")], runner)
    assert runner.log[:3] == ["open a 1", "square/r1/k0/mixed/a", "square/r1/k0/download/a"]


def test_a_row_has_what_follows_from_its_trial_and_what_was_measured(tmp_path: Path) -> None:
    run(tmp_path, [trial(2, "a", 1)], FakeRunner(lambda _: {"convergence_ms": 7.5, "trial": "another", "attempt": 9}))
    (row,) = Store(tmp_path).rows()
    expected = {"trial": "square/r2/k1/mixed/a", "attempt": 1, "status": "ok", "error": None, "round": 2, "quick": True}
    assert expected.items() <= row.items()
    assert row["convergence_ms"] == 7.5
    assert row["links"] == ["s1-s2"]
    assert row["seconds"] >= 0


def test_a_trial_that_fails_once_gets_a_new_network_and_a_second_attempt(tmp_path: Path) -> None:
    failed: set[str] = set()

    def measure(one: Trial) -> Json:
        if one.failures == 1 and one.trial_id not in failed:
            failed.add(one.trial_id)
            raise ArmorError("the probe failed")
        return {}

    runner = FakeRunner(measure)
    run(tmp_path, [trial(1, "a", k) for k in range(3)], runner)
    assert [line.split("/")[2] for line in runner.log if "/" in line] == ["k0", "k1", "k1", "k2"]
    assert [line for line in runner.log if "open" in line] == ["open a 1", "open a 1"]
    rows = [row for row in Store(tmp_path).rows() if row["failures"] == 1]
    assert [(row["attempt"], row["status"], row["error"]) for row in rows] == [
        (1, "failed", "the probe failed"),
        (2, "ok", None),
    ]


def test_a_trial_that_fails_twice_is_given_up_and_the_others_go_on(tmp_path: Path) -> None:
    def measure(one: Trial) -> Json:
        if one.failures == 0:
            raise ArmorError("never works")
        return {}

    progress = run(tmp_path, trials(rounds=1), FakeRunner(measure))
    attempts = attempts_of(Store(tmp_path).rows())
    assert {name: statuses for name, statuses in attempts.items() if "/k0/" in name} == {
        f"square/r1/k0/mixed/{variant}": ["failed", "failed"] for variant in "abc"
    }
    assert len(good_rows(Store(tmp_path).rows())) == 3
    assert len(progress.finished) == 6


def test_a_network_that_cannot_be_built_fails_all_its_trials_by_name(tmp_path: Path) -> None:
    run(tmp_path, trials(rounds=1, variants="a", most_failures=2), FakeRunner(opens=lambda: False))
    rows = Store(tmp_path).rows()
    assert {row["trial"] for row in rows} == {f"square/r1/k{k}/mixed/a" for k in range(3)}
    assert all(row["error"] == "its network could not be built: the switches did not start" for row in rows)
    assert [row["attempt"] for row in rows if row["failures"] == 0] == [1, 2]


def test_a_network_that_is_built_at_the_second_try_loses_nothing(tmp_path: Path) -> None:
    answers = iter([False, True])
    run(tmp_path, trials(rounds=1, variants="a", most_failures=2), FakeRunner(opens=lambda: next(answers)))
    assert len(good_rows(Store(tmp_path).rows())) == 3


def test_a_row_that_is_no_json_is_a_failed_attempt(tmp_path: Path) -> None:
    run(tmp_path, [trial(1, "a")], FakeRunner(lambda _: {"convergence_ms": float("nan")}))
    assert ["no JSON value" in row["error"] for row in Store(tmp_path).rows()] == [True, True]


def test_a_missing_requirement_ends_the_campaign(tmp_path: Path) -> None:
    def measure(_: Trial) -> Json:
        raise MissingRequirementError("no wget")

    runner = FakeRunner(measure)
    with pytest.raises(MissingRequirementError):
        run(tmp_path, trials(), runner)
    assert Store(tmp_path).rows() == []
    assert runner.open_sessions == 0


def test_what_is_finished_does_not_run_again(tmp_path: Path) -> None:
    run(tmp_path, trials(), FakeRunner())
    again = FakeRunner()
    run(tmp_path, trials(), again)
    assert again.log == []


@examples(60)
@given(data=st.data())
def test_however_it_is_interrupted_resuming_ends_with_the_same_trials(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Interrupts at any trial, also at its first attempt's failure, and a torn last line after any of them."""
    path = tmp_path_factory.mktemp("campaign")
    wanted = trials()
    breaks = data.draw(st.lists(st.sampled_from(["interrupt", "error", "fine"]), max_size=30))
    left = list(breaks)

    def measure(_: Trial) -> Json:
        what = left.pop(0) if left else "fine"
        if what == "interrupt":
            raise KeyboardInterrupt
        if what == "error":
            raise ArmorError("it broke")
        return {"long": "x" * 200}

    for _ in range(len(breaks) + 1):
        runner = FakeRunner(measure)
        try:
            run(path, wanted, runner)
            break
        except KeyboardInterrupt:
            assert runner.open_sessions == 0
            if data.draw(st.booleans()):
                with (path / ROWS).open("ab") as file:
                    file.write(
                        b'{"version": 1, "trial": "square/r1/k0/mixed/a", "status": "ok"}'[
                            : data.draw(st.integers(0, 63))
                        ]
                    )
    attempts = attempts_of(Store(path).rows())
    assert set(attempts) == {one.trial_id for one in wanted}
    assert all(statuses in (["ok"], ["failed", "ok"], ["failed", "failed"]) for statuses in attempts.values())


KILLED = """
import os, signal, sys
from pathlib import Path
from experiments.campaign.act.engine import run_campaign
from experiments.campaign.act.store import Store
from tests.campaign.fakes import FakeRunner, Silent, trials

class Killing(Silent):
    def end(self, trial, row, is_last):
        super().end(trial, row, is_last)
        if len(self.finished) == 5:
            os.kill(os.getpid(), signal.SIGKILL)

store = Store(Path(sys.argv[1]))
with store.writing():
    run_campaign(trials(), {"mixed": FakeRunner()}, store, True, Killing())
"""


def test_kill_9_loses_no_row_that_was_reported(tmp_path: Path) -> None:
    ended = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], cwd=REPOSITORY, check=False, env=os.environ)
    assert ended.returncode == -signal.SIGKILL
    assert len(Store(tmp_path).rows()) == 5
    runner = FakeRunner()
    run(tmp_path, trials(), runner)
    assert len([line for line in runner.log if "/" in line]) == 7
    assert set(good_rows(Store(tmp_path).rows())) == {one.trial_id for one in trials()}
