"""The targets of the fuzzer take their seeds, seeds with a few bytes changed, and whatever was found before."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mininet_topos.errors import ArmorError
from tests.fuzz.targets import TARGETS, once, seeds

FOUND = Path(__file__).parent / "found"
SEEDS = {name: list(seeds(name)) for name in TARGETS}


@pytest.mark.parametrize("name", [name for name in TARGETS if name != "capture"])
def test_a_target_accepts_some_of_its_seeds(name):
    def is_accepted(data):
        try:
            TARGETS[name](data)
        except ArmorError:
            return False
        return True

    assert any(map(is_accepted, SEEDS[name]))


@pytest.mark.parametrize("name", TARGETS)
@given(data=st.data())
def test_a_target_refuses_in_its_own_words_or_takes(name, data):
    seed = bytearray(data.draw(st.sampled_from([b"", *SEEDS[name]])))
    for _change in range(data.draw(st.integers(0, 4))):
        at = data.draw(st.integers(0, len(seed)))
        seed[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=6))
    once(name, bytes(seed))


def test_what_was_found_once_is_mended():
    for file in sorted(FOUND.glob("*-*")):
        # libFuzzer's names begin with the target's: openflow-crash-<digest>
        once(max((name for name in TARGETS if file.name.startswith(f"{name}-")), key=len), file.read_bytes())
