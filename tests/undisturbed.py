"""Measuring again where a busy machine has disturbed it, by the measurement's own word."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from emulation.network import EmulatedNetwork
from experiments.cli.main import main

ResultT = TypeVar("ResultT")

TRIES = 3
# BFD took links as failed that nobody broke; a failure came or was notified late; frames were lost at the door.
TOO_BUSY = (
    "BFD flapped",
    "s late; the machine is too busy",
    "traffic engineering left out",
    "a failure was notified after",
    "frames were lost before a switch read them",
)


def first_undisturbed(measure: Callable[[], ResultT], disturbance: Callable[[ResultT], object]) -> ResultT:
    """The first of a few results that nothing has disturbed, or the last.

    Parameters
    ----------
    disturbance
        What has disturbed a result; something false where nothing has.
    """
    for _ in range(TRIES):
        result = measure()
        if not (disturbed_by := disturbance(result)):
            break
        # `capsys`, which some measure with, would swallow it in sys.stderr.
        print(f"disturbed: {disturbed_by}", file=sys.__stderr__)
    return result


def undisturbed(measure: Callable[..., dict[str, Any]], *arguments: Any) -> dict[str, Any]:
    """The first of a few results without a warning that the machine was too busy for it, or the last.

    Everything that is wrong in a result with such a warning can come of that.
    """

    def busy(result: dict[str, Any]) -> list[str]:
        return [warning for warning in result["warnings"] if any(words in warning for words in TOO_BUSY)]

    return first_undisturbed(lambda: measure(*arguments), busy)


def undisturbed_run(
    scenario: Path, out: Path, capsys: pytest.CaptureFixture[str], *arguments: str
) -> tuple[int, list[dict[str, Any]]]:
    """Exit code of `armor run` and what it says of its runs; its folder holds the last one."""

    def once() -> dict[str, Any]:
        shutil.rmtree(out, ignore_errors=True)
        code = main(["run", str(scenario), "--json", "--out", str(out), *arguments])
        said = capsys.readouterr()
        assert said.out, said.err
        runs = json.loads(said.out)["runs"]
        return {"code": code, "runs": runs, "warnings": [warning for run in runs for warning in run["warnings"]]}

    result = undisturbed(once)
    return result["code"], result["runs"]


def without_flaps(network: EmulatedNetwork, measure: Callable[[], ResultT]) -> ResultT:
    """The first of a few results during which BFD took no link as failed, or as up, or the last."""

    def once() -> tuple[ResultT, int]:
        before = sum(network.flap_counts().values())
        result = measure()
        return result, sum(network.flap_counts().values()) - before

    return first_undisturbed(once, lambda measured: measured[1] and f"BFD flapped {measured[1]} times")[0]
