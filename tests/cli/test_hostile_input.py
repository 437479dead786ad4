# ruff: noqa: E501 - a case of the table reads best on one line
"""Options that would be passed over, files that are none, output that cannot be written: said in one line, exit code 2."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.cli.main import main
from tests.cli.test_bad_input import FILES, SCENARIO, assert_refused

BAD = {
    "empty value": (["topo", "list", "--out="], "--out is ''; give it a value"),
    "value that argparse swallows": (["topo", "list", "--out=--"], "--out is '--'; give it a value"),
    "option twice": (["verify", "sdfast", "figure2", "--seed", "1", "--seed=2"], "--seed stands twice"),
    "other digits": (["verify", "sdfast", "figure2", "--failures", "٣"], "--failures is '٣'"),
    "underscore": (["verify", "sdfast", "figure2", "--sample", "1_0"], "--sample is '1_0'"),
    "not a number": (["te", "solve", "gscale", "--low-to-high", "nan"], "--low-to-high is 'nan'"),
    "drawing without a picture": (["topo", "show", "figure2", "--failed", "s1-s2"], "--failed is for 'armor topo draw'"),
    "protect for another scheme": (["plan", "kuijia", "gscale", "--protect", "x.yaml"], "--protect is for schemes that protect flows"),
    "mode of tunnels": (["plan", "kuijia", "gscale", "--mode", "agent"], "--mode is not for 'kuijia'"),
    "mode of in-band": (["plan", "in-band", "figure2", "--metric", "delay"], "--metric is not for 'in-band'"),
    "tunnels of sdfast": (["plan", "sdfast", "figure2", "--tunnels", "3"], "--tunnels is for schemes of tunnels"),
    "samples without a judge": (["verify", "sdfast", "figure2", "--samples", "5"], "--samples is for --against-ovs"),
    "jobs of one process": (["verify", "sqr", "figure2", "--jobs", "2"], "--jobs is not for 'sqr'"),
    "failure of solve": (["te", "solve", "gscale", "--link", "s1-s2"], "--link is not for 'armor te solve'"),
    "demands of sweep": (["te", "sweep", "--figure", "kuijia-fig4", "--demands", "uniform:1"], "--demands is not for 'armor te sweep'"),
    "bridge of check": (["pmt", "check", "x.yaml", "--bridge", "s1"], "--bridge is not for 'armor pmt check'"),
    "flow of list": (["protect", "list", "--from", "h1"], "--from is for 'armor protect add'"),
    "id of the list": (["reproduce", "sdfast-fig9", "--list"], "--list shows all ids; leave sdfast-fig9 away"),
    "seed of a campaign that has begun": (["reproduce", "--resume", "x", "--seed", "2"], "--resume takes --seed from"),
    "watching without a network": (["doctor", "--quick", "--watch-s", "5"], "--watch-s is for the trial network"),
    "pmt of a controller that runs": (["load", "--controller", "127.0.0.1:1", "--pmt", "x.yaml"], "--pmt needs a controller of its own"),
    "endless stall": (["load", "--controller", "127.0.0.1:1", "--stall", "1:inf"], "--stall is '1:inf'"),
    "port that is none": (["protect", "list", "--url", "http://127.0.0.1:99999"], "--url 'http://127.0.0.1:99999' is no address"),
    "bracket of no address": (["protect", "list", "--url", "http://[::1"], "--url 'http://[::1' is no address"),
    "space in an address": (["protect", "list", "--url", "http://a b"], "--url 'http://a b' is no address"),
    "interval of years": (["demo", "--interval-ms", "1e12"], "--interval-ms is '1e12'; give a number above 0, at least 0.5, at most 1000"),
    "load beyond memory": (["load", "--controller", "127.0.0.1:1", "--rate", "1e6", "--seconds", "3600"], "lower the rate or the time"),
    "seed that a file could not hold": (["run", "good.yaml", "--seed", "2147483648"], "--seed is 2147483648; a scenario takes 0 to 2147483647"),
    "very long folder": (["report", "x" * 5000], "cannot be read (File name too long)"),
    "very long value": (["topo", "show", "x" * 9000 + ".json"], "cannot be read (File name too long)"),
    "scenario is a pipe": (["run", "pipe"], "scenario 'pipe' cannot be read (this is a pipe or a device)"),
    "protected flows are a pipe": (["plan", "protect", "figure2", "--protect", "pipe"], "--protect 'pipe' cannot be read (this is a pipe"),
    "topology is a pipe": (["topo", "show", "./pipe"], "pipe cannot be read (this is a pipe"),
    "demands are a pipe": (["te", "solve", "gscale", "--demands", "pipe.csv"], "demand file 'pipe.csv' cannot be read (this is a pipe"),
    "PMT is a pipe": (["pmt", "check", "pipe"], "PMT 'pipe' cannot be read (this is a pipe"),
    "flows are a pipe": (["protect", "add", "pipe"], "'pipe' cannot be read (this is a pipe"),
    "rows are a directory": (["reproduce", "--redraw", "campaign"], "rows.jsonl' cannot be read (this is a directory)"),
    "campaign.json is a pipe": (["report", "piped"], "holds no results"),
    "scenario whose demands cannot be read": (["run", "demands.yaml"], "demands.yaml: demand file 'gone.csv' cannot be read"),
}  # fmt: skip


@pytest.fixture
def hostile_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    for name in ("pipe", "pipe.csv"):
        os.mkfifo(tmp_path / name)
    (tmp_path / "campaign" / "rows.jsonl").mkdir(parents=True)
    (tmp_path / "campaign" / "campaign.json").write_text('{"format_version": 1}', encoding="utf-8")
    (tmp_path / "piped").mkdir()
    os.mkfifo(tmp_path / "piped" / "campaign.json")
    (tmp_path / "demands.yaml").write_text(
        "topology: gscale\nscheme: kuijia\ndemands: gone.csv\nflows: tcp\nfailures: [{link: [s1, s2], at_s: 5}]\n",
        encoding="utf-8",
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("case", BAD)
def test_hostile_input_is_answered_by_one_line_and_leaves_nothing(
    case: str, hostile_files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(hostile_files.rglob("*"))
    argv, wanted = BAD[case]
    assert_refused(argv, wanted, capsys)
    assert sorted(hostile_files.rglob("*")) == before


def test_a_message_of_a_very_long_value_is_short(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["topo", "show", "figure2", "--seed", "x" * 100_000]) == 2
    assert len(capsys.readouterr().err) < 300


def test_a_mark_of_an_editor_and_other_line_ends_change_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "x.yaml").write_bytes(b"\xef\xbb\xbf" + SCENARIO.replace("\n", "\r\n").encode())
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert main(["run", str(tmp_path / "x.yaml")]) == 2
    assert "needs root" in capsys.readouterr().err


def test_as_many_failures_as_anybody_names_are_planned_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "sdfast", "square", "--max-failures", "99999999999", "--json"]) == 0
    every = capsys.readouterr().out
    assert main(["plan", "sdfast", "square", "--max-failures", "4", "--json"]) == 0
    four = capsys.readouterr().out
    assert every.replace("99999999999", "4") == four


def test_the_seed_of_the_command_line_is_that_of_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from experiments.cli import run as command
    from experiments.testbed.runs import parts

    (tmp_path / "x.yaml").write_text(SCENARIO + "seed: 3\n", encoding="utf-8")
    seen = {}

    def measured(
        scenario: object, _planned: object, folder: object, text: str | None, _title: str, **_options: bool
    ) -> dict[str, object]:
        seen["seed"], seen["text"] = scenario.seed, text
        return {"runs": [], "held": True, "trustworthy": True, "folder": "", "captures": []}

    monkeypatch.setattr(parts, "require_programs", lambda: None)
    monkeypatch.setattr(command, "run_and_write", measured)
    assert main(["run", str(tmp_path / "x.yaml"), "--seed", "7", "--out", str(tmp_path / "a")]) == 0
    assert seen == {"seed": 7, "text": None}
    assert main(["run", str(tmp_path / "x.yaml"), "--out", str(tmp_path / "b")]) == 0
    assert seen == {"seed": 3, "text": SCENARIO + "seed: 3\n"}


def armor(command: str) -> subprocess.CompletedProcess[str]:
    """`armor` in a shell, so that its streams can be what users make them."""
    return subprocess.run(
        ["sh", "-c", command.replace("armor", f"{sys.executable} -m experiments")],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.slow
def test_output_that_cannot_be_written_is_said_in_one_line() -> None:
    for command in ("armor topo list > /dev/full", "armor topo list --out /dev/full"):
        done = armor(command)
        assert done.returncode == 2
        assert done.stderr.count("\n") == 1
        assert "No space left on device" in done.stderr


@pytest.mark.slow
def test_closed_streams_hide_the_output_and_not_the_exit_code() -> None:
    assert armor("armor topo list >&-").returncode == 0
    assert armor("armor topo lst 2>&-").returncode == 2
    assert armor("armor topo lst 2>&-").stdout == ""


@pytest.mark.parametrize("argv", [["verify", "sdfast", "figure2"], ["te", "solve", "gscale"], ["topo", "list"]])
def test_a_place_that_cannot_be_written_is_refused_before_the_work(
    argv: list[str], hostile_files: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from experiments.cli import te, topo, verify

    for module in (te, topo, verify):
        monkeypatch.setattr(module, "run" if module is not te else "_solve", None)
    assert_refused([*argv, "--out", "good.yaml/x"], "--out 'good.yaml/x' cannot be written", capsys)


def test_a_refused_command_leaves_no_folder(hostile_files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["te", "failure", "gscale", "--link", "s1-s2", "--failure-probability", "5"]
    assert_refused([*argv, "--out", "new/folder/x.png"], "failure probability 5.0", capsys)
    assert_refused(argv, "failure probability 5.0", capsys)
    assert not (hostile_files / "new").exists()
    assert not (hostile_files / "results").exists()


def test_output_goes_into_a_folder_that_is_made_for_it(hostile_files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["topo", "list", "--out", "new/folder/list.txt"]) == 0
    assert "darkstrand" in (hostile_files / "new" / "folder" / "list.txt").read_text(encoding="utf-8")
