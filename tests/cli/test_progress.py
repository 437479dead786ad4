"""Progress of long work where standard error is no terminal."""

from __future__ import annotations

import pytest

from experiments.terminal import output
from experiments.terminal.output import progress


def test_short_work_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with progress(3, "cases", "%") as bar:
        bar.update(3)
    assert capsys.readouterr().err == ""


def test_long_work_says_now_and_then_how_far_it_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = 100.0
    monkeypatch.setattr(output.time, "monotonic", lambda: now_s)
    with progress(300, "failures", "") as counted, progress(None, "armor", "") as staged:
        for now_s in (105.0, 112.0, 113.0, 121.9, 122.0):
            counted.update(50)
            staged.set_description_str(f"second {now_s:.0f}")
    assert capsys.readouterr().err.splitlines() == [
        "failures: 33 %",
        "second 112",
        "failures: 83 %",
        "second 122",
    ]
