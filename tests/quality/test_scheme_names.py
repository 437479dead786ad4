"""The check of scheme names finds every way to decide by one, and the product keeps it."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest

from ryu_apps.plan.scheme_names import scheme_names
from ryu_apps.schemes import all_schemes
from tests.quality import layers
from tests.quality.scheme_names import OTHER_MEANINGS, complaints

SOURCES = [path for path in layers.source_files() if path.parts[0] in layers.PACKAGES]
SHELL, FIGURE = PurePosixPath("experiments/testbed/some.py"), PurePosixPath("experiments/figures/some.py")
COMPARING = (
    'if scheme == "cbc": pass',
    'if "cbc" != variation.scheme: pass',
    'if scheme in ("cb", "cbc"): pass',
    'found = name.startswith("ffg")',
    'match scheme:\n    case "sqr": pass',
    'match scheme:\n    case "sqr" | "ffg": pass',
    'if variation.mode == "agent": pass',
    'if value["mode"] != "learned": pass',
    'match mode:\n    case "agent": pass',
    'found = scheme.index("te")',
)
TABLES = (
    'LABELS = {"cbc": "CBC"}',
    'KEEPING = ("sqr", "lossless")',
    'KEEPING = {"sqr"}',
    'SCHEME = "protect"',
    'SCHEME: str = "protect"',
    'planner = SCHEMES["te"]',
    'MODES = ["learned", "agent"]',
    'found = {"agent": 1}',
)
HARMLESS = (
    'VARIANT = Variant("sdfast", "agent", "pair")',
    'plans = plan_network("shortest", topology, options)',
    'if notified_by == "agent": pass',
    'words = ("agent", "controller")',
    "if scheme.buffers: pass",
    '"""Of schemes sqr and lossless."""',
)


def test_nothing_in_the_product_decides_by_the_name_of_a_scheme_or_mode() -> None:
    assert len(SOURCES) > 400
    assert [line for path in SOURCES for line in complaints(path, (layers.ROOT / path).read_text())] == []


@pytest.mark.parametrize("mutant", COMPARING + TABLES)
def test_a_decision_by_name_is_found(mutant: str) -> None:
    assert complaints(SHELL, mutant)
    assert not complaints(PurePosixPath("ryu_apps/schemes/some.py"), mutant)


@pytest.mark.parametrize("mutant", COMPARING)
def test_figures_name_schemes_and_decide_nothing_by_them(mutant: str) -> None:
    assert complaints(FIGURE, mutant)


@pytest.mark.parametrize("source", HARMLESS)
def test_a_name_that_is_handed_on_decides_nothing(source: str) -> None:
    assert not complaints(SHELL, source)


@pytest.mark.parametrize("place", OTHER_MEANINGS)
def test_words_of_other_meaning_are_still_there(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    words = OTHER_MEANINGS[place]
    monkeypatch.setitem(OTHER_MEANINGS, place, set())
    here = [path for path in SOURCES if str(path).startswith(place)]
    found = " ".join(line for path in here for line in complaints(path, (layers.ROOT / path).read_text()))
    assert words == {word for word in words if repr(word) in found}


def test_names_are_known_without_loading_a_scheme() -> None:
    assert set(scheme_names()) == set(all_schemes())
