"""Every example in a docstring runs and prints what it says."""

from __future__ import annotations

import doctest
import importlib

import pytest

from tests.quality import layers


def modules_with_examples(pure: bool) -> list[str]:
    """Return our modules whose text holds an example."""
    modules = {layers.module_name(path): path for path in layers.source_files()}
    return [
        module
        for module, path in modules.items()
        if layers.rank(module) is not None
        and layers.is_pure(module) == pure
        and ">>> " in (layers.ROOT / path).read_text(encoding="utf-8")
    ]


def run_examples(module: str) -> None:
    outcome = doctest.testmod(importlib.import_module(module), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert outcome.attempted > 0
    assert outcome.failed == 0


@pytest.mark.parametrize("module", modules_with_examples(pure=True))
def test_examples_of_a_pure_module_hold(module):
    run_examples(module)


@pytest.mark.parametrize("module", modules_with_examples(pure=False))
def test_examples_of_an_acting_module_hold(module):
    pytest.importorskip(module, reason=f"{module} needs a library that is not installed")
    run_examples(module)
