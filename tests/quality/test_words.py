"""The source says things in the field's words, and the check that says so finds the others."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest

from tests.quality import layers
from tests.quality.words import TERMS, complaints

CODE = PurePosixPath("experiments/some.py")
MUTANTS = (
    "def best_arm() -> None:",
    "class ArmOfTest:",
    '"""Milliseconds after the cut."""',
    "# A silent cut.",
    "x_demoted = 1",
    "OpenBench()",
    '"""The laboratory."""',
    "the packet comes twice",
    "packets walk back",
    "turning_back = 0",
    "may_be_shed: bool",
    "is told of failures",
    "def flips() -> None:",
    "the home connection",
    "where the controller hangs on a switch",
    "class KeptSession:",
    "self._shut_gates()",
    "first_detour_ms = 0.0",
    "_main_lanes = ()",
    "def spoilt_by() -> None:",
    "the packet visits a switch",
    "a growing array",
    "Story(1)",
    "x_came_back = 1",
    "segments were sent again",
    "the agent's sheet",
    "told apart by their ports",
    "_is_told_more = False",
    "whoever trusts it",
    "a process that died",
    "alive = set()",
    "the port is dead",
)
HARMLESS = (
    "for armor in ():",
    "benchmarks/te_figure4.py",
    "a frame that is cut short",
    "message is cut off before its match",
    "an alarm of signal.alarm",
    "to publish, established",
    "process.is_alive()",
    "draw_histories(); aggregates; surrogates",
)


def test_the_source_uses_the_terms_of_the_field() -> None:
    paths = [path for path in layers.text_files() if path.suffix in (".py", ".md")]
    assert len(paths) > 1000
    assert [line for path in paths for line in complaints(path, (layers.ROOT / path).read_text())] == []


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_refused_word_is_found_in_names_and_prose(mutant: str) -> None:
    assert list(complaints(CODE, f"{mutant}\n"))
    assert not list(complaints(PurePosixPath("CHANGELOG.md"), mutant))


@pytest.mark.parametrize("text", HARMLESS)
def test_another_meaning_is_not_refused(text: str) -> None:
    assert not list(complaints(CODE, text))


def test_quotations_of_the_papers_stay() -> None:
    assert not list(complaints(PurePosixPath("docs/some.md"), "> the arms"))
    assert list(complaints(PurePosixPath("docs/some.md"), "the arms"))


def test_a_term_is_not_itself_refused() -> None:
    assert not [line for term in TERMS.values() for line in complaints(CODE, term)]
