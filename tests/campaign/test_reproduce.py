"""`armor reproduce` with a testbed that answers at once: folders, output, exit codes."""

from __future__ import annotations

import fcntl
import json
import os
import struct
import subprocess
import sys
import termios
from collections.abc import Callable
from pathlib import Path

import pytest

from experiments.campaign.act.store import CALIBRATION, CAMPAIGN, ENVIRONMENT, ROWS, Store
from experiments.campaign.order import good_rows
from experiments.cli import reproduce
from experiments.cli.main import main
from tests.campaign.figures import ALIASES, FIGURES, FakeTestbed

pytest.importorskip("matplotlib")
Use = Callable[[FakeTestbed], FakeTestbed]
REPOSITORY = Path(__file__).resolve().parents[2]
START = ["reproduce", "fig-delay", "x-decided", "--quick", "--out", "new"]


@pytest.fixture
def use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Use:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(reproduce, "_registry", lambda: (FIGURES, ALIASES))

    def choose(testbed: FakeTestbed) -> FakeTestbed:
        monkeypatch.setattr(reproduce, "NetworkTestbed", lambda: testbed)
        return testbed

    choose(FakeTestbed())
    return choose


def said(capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    captured = capsys.readouterr()
    return captured.out, captured.err


def test_a_campaign_leaves_rows_pictures_and_verdicts(use: Use, capsys: pytest.CaptureFixture[str]) -> None:
    testbed = use(FakeTestbed())
    assert main(START) == 0
    names = {str(path.relative_to("new")) for path in Path("new").rglob("*") if path.is_file()}
    assert names == {CAMPAIGN, CALIBRATION, ENVIRONMENT, ROWS} | {
        f"{name}/{file}" for name in ("fig-delay", "x-decided") for file in ("figure.png", "figure.svg", "verdict.json")
    }
    assert len(good_rows(Store(Path("new")).rows())) == 6
    assert testbed.calibrated == [(6, 20)]
    assert testbed.started == [(6, 50)]  # the interval that calibration chose
    environment = json.loads(Path("new", ENVIRONMENT).read_text(encoding="utf-8"))
    assert environment["emulation"] == {"datapath": "none for 6 trials"}
    assert environment["resumed"] == []
    out, err = said(capsys)
    assert "== fig-delay (quick): Delay on a square" in out
    assert "holds" in out
    assert "NOT TRUSTWORTHY: link rate reached 4.2 of 5 Mbit/s" in out
    assert "6 of 6 trials to run" in err
    assert "calibration: BFD every 50 ms" in err


def test_json_is_one_value_on_standard_output(use: Use, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*START, "--json"]) == 0
    value = json.loads(said(capsys)[0])
    assert [result["id"] for result in value["results"]] == ["fig-delay", "x-decided"]
    assert value["folder"] == "new"
    assert json.loads(Path("new/fig-delay/verdict.json").read_text(encoding="utf-8")) == value["results"][0]


def test_what_is_only_decided_calibrates_nothing(use: Use) -> None:
    testbed = use(FakeTestbed())
    assert main(["reproduce", "x-decided", "--out", "new"]) == 0
    assert testbed.calibrated == []
    assert not Path("new", CALIBRATION).exists()


def test_failed_trials_are_listed_by_name_and_the_exit_code_says_that_data_is_missing(
    use: Use, capsys: pytest.CaptureFixture[str]
) -> None:
    use(FakeTestbed(broken="mixed/b"))
    assert main(START) == 1
    out, err = said(capsys)
    assert "2 of 6 trials failed:" in out
    assert "square/r1/k0/mixed/b: the probe failed" in out
    assert "no data" in out
    assert "square/r1/k1/mixed/b failed, given up: the probe failed" in err


def test_a_failure_that_leaves_data_is_no_failure_of_the_command(use: Use, capsys: pytest.CaptureFixture[str]) -> None:
    use(FakeTestbed(broken="k1/mixed/b"))
    assert main(START) == 0
    assert "1 of 6 trials failed:" in said(capsys)[0]


@pytest.mark.parametrize("at", [0, 1, 3, 5])
def test_an_interrupted_campaign_says_how_to_go_on_and_ends_alike(
    at: int, use: Use, capsys: pytest.CaptureFixture[str]
) -> None:
    testbed = use(FakeTestbed(interrupted_at=at))
    assert main(START) == 130
    out, err = said(capsys)
    assert out == ""
    assert err.splitlines()[-1] == "armor: interrupted; go on with: armor reproduce --resume new"
    assert not Path("new/work").exists()
    assert main(["reproduce", "--resume", "new"]) == 0
    assert f"{6 - at} of 6 trials to run" in said(capsys)[1]
    assert testbed.measured == 6
    assert len(testbed.calibrated) == 1
    assert len(good_rows(Store(Path("new")).rows())) == 6
    resumed = json.loads(Path("new", ENVIRONMENT).read_text(encoding="utf-8"))["resumed"]
    assert len(resumed) == 1


def test_a_campaign_that_goes_on_in_another_environment_says_what_has_changed(
    use: Use, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    use(FakeTestbed(interrupted_at=1))
    assert main(START) == 130
    said(capsys)
    monkeypatch.setattr("machine.environment.open_vswitch_version", lambda: "9.9")
    assert main(["reproduce", "--resume", "new"]) == 0
    assert "other than before: open_vswitch" in said(capsys)[1]
    (entry,) = json.loads(Path("new", ENVIRONMENT).read_text(encoding="utf-8"))["resumed"]
    assert entry["changed"] == {"open_vswitch": "9.9"}


def test_a_finished_campaign_that_is_resumed_measures_nothing(use: Use, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(START) == 0
    testbed = use(FakeTestbed())
    first = said(capsys)[0]
    assert main(["reproduce", "--resume", "new"]) == 0
    assert said(capsys)[0] == first
    assert testbed.started == []


def test_redrawing_needs_rows_alone_and_gives_the_same(use: Use, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*START, "--json"]) == 0
    first = json.loads(said(capsys)[0])
    picture = Path("new/fig-delay/figure.svg").read_bytes()
    use(FakeTestbed(missing=True))
    assert main(["reproduce", "--redraw", "new", "--json"]) == 0
    assert json.loads(said(capsys)[0]) == first
    assert Path("new/fig-delay/figure.svg").read_bytes() == picture
    assert main(["reproduce", "fig-delay", "--redraw", "new", "--out", "other"]) == 0
    assert Path("other/fig-delay/figure.svg").read_bytes() == picture
    assert not Path("other/x-decided").exists()


def test_an_unfinished_campaign_can_be_redrawn_and_says_what_is_missing(
    use: Use, capsys: pytest.CaptureFixture[str]
) -> None:
    use(FakeTestbed(interrupted_at=2))
    assert main(START) == 130
    said(capsys)
    assert main(["reproduce", "--redraw", "new"]) == 1
    assert "have not run yet: armor reproduce --resume" in said(capsys)[0]


def test_other_trials_are_not_mixed_into_a_campaign(
    use: Use, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    use(FakeTestbed(interrupted_at=2))
    assert main(START) == 130
    said(capsys)
    changed = {**FIGURES, "x-decided": FIGURES["fig-delay"]}
    monkeypatch.setattr(reproduce, "_registry", lambda: (changed, ALIASES))
    before = Path("new", ROWS).read_bytes()
    assert main(["reproduce", "--resume", "new"]) == 2
    out, err = said(capsys)
    assert out == ""
    assert "its trials are not those of this code" in err
    assert "new folder" in err
    assert Path("new", ROWS).read_bytes() == before


def test_a_missing_requirement_leaves_no_folder(use: Use, capsys: pytest.CaptureFixture[str]) -> None:
    use(FakeTestbed(missing=True))
    assert main(START) == 2
    out, err = said(capsys)
    assert out == ""
    assert err.startswith("armor: Open vSwitch is missing")
    assert not Path("new").exists()


def test_some_variants_can_be_measured_alone(use: Use) -> None:
    assert main(["reproduce", "fig-delay", "--quick", "--variants", "b", "--out", "new"]) == 0
    assert {row["variant"] for row in Store(Path("new")).rows()} == {"b"}


def test_the_list_names_every_id_with_trials_and_durations(use: Use, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "--list", "--json"]) == 0
    rows = {row["id"]: row for row in json.loads(said(capsys)[0])["ids"]}
    assert set(rows) == {*FIGURES, *ALIASES}
    assert rows["fig-both"]["trials"] == rows["fig-delay"]["trials"] == 12
    assert rows["fig-delay"]["quick_trials"] == 4
    assert rows["fig-delay"]["quick_seconds"] < rows["fig-delay"]["seconds"]
    assert main(["reproduce", "--list"]) == 0
    text = said(capsys)[0]
    assert all(name in text for name in (*FIGURES, *ALIASES))


BAD = {
    "nothing": ([], "nothing to reproduce; name ids"),
    "unknown id": (["fig-dealy"], "'fig-dealy' is no id; did you mean 'fig-delay'?"),
    "unknown paper": (["--paper", "sqare"], "--paper 'sqare' is not known; did you mean 'square'?"),
    "unknown variant": (["fig-delay", "--variants", "z"], "--variants names 'z', no variant of fig-delay"),
    "ids and all": (["fig-delay", "--all"], "exclude each other"),
    "zero rounds": (["fig-delay", "--rounds", "0"], "--rounds is '0'"),
    "no campaign to go on with": (["--resume", "nowhere"], "'nowhere' holds no campaign.json"),
    "no campaign to draw": (["--redraw", "nowhere"], "'nowhere' holds no campaign.json"),
    "resume and redraw": (["--resume", "a", "--redraw", "b"], "--resume and --redraw exclude each other"),
    "resume with ids": (["fig-delay", "--resume", "a"], "--resume takes ids from the folder's campaign.json"),
    "resume with variants": (["--resume", "a", "--variants", "b"], "--resume takes --variants from"),
    "resume elsewhere": (["--resume", "a", "--out", "b"], "--resume takes --out from"),
    "redraw quick": (["--redraw", "a", "--quick"], "--redraw takes --quick from"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line_with_a_repair(case: str, use: Use, capsys: pytest.CaptureFixture[str]) -> None:
    argv, wanted = BAD[case]
    assert main(["reproduce", *argv]) == 2
    out, err = said(capsys)
    assert out == ""
    assert len(err.splitlines()) == 1
    assert wanted in err
    assert list(Path().iterdir()) == []


def test_a_folder_in_use_is_refused(use: Use, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(START) == 0
    said(capsys)
    assert main(START) == 2
    assert "go on with --resume new" in said(capsys)[1]


def test_redrawing_an_id_that_the_campaign_lacks_is_refused(use: Use, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(START) == 0
    said(capsys)
    assert main(["reproduce", "fig-again", "--redraw", "new"]) == 2
    out, err = said(capsys)
    assert out == ""
    assert "has no 'fig-again'; its ids are fig-delay, x-decided" in err


ON_A_TERMINAL = """
import sys
from experiments.cli import reproduce
from experiments.cli.main import main
from tests.campaign.figures import ALIASES, FIGURES, FakeTestbed
reproduce._registry = lambda: (FIGURES, ALIASES)
reproduce.NetworkTestbed = lambda: FakeTestbed(broken="k1/mixed/b")
sys.exit(main(["reproduce", "fig-delay", "--quick", "--out", sys.argv[1]]))
"""


@pytest.mark.slow
def test_on_a_terminal_a_bar_counts_and_standard_output_stays_clean(tmp_path: Path) -> None:
    pytest.importorskip("tqdm")
    master, slave = os.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    command = [sys.executable, "-c", ON_A_TERMINAL, str(tmp_path / "new")]
    process = subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=slave)
    os.close(slave)
    shown = b""
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:  # Linux says so when the other side is closed
            break
        if not part:
            break
        shown += part
    out = process.communicate()[0].decode()
    os.close(master)
    assert process.returncode == 0
    text = shown.decode()
    assert "100%" in text
    assert "4 of 4 trials" in text
    assert "square/r1/k1/mixed/b failed, given up: the probe failed" in text
    assert out.startswith("== fig-delay (quick)")
    assert "%|" not in out
