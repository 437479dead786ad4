"""Counters of the datapath: read from its text, and held to what was sent."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.testbed.packet_cost.decide.counters import (
    LOOKUPS,
    RECEIVED,
    count_complaint,
    counted_since,
    read_counters,
)
from mininet_topos.errors import ArmorError

COUNTS = {"rx": 0, "simple": 0, "emc": 0, "smc": 0, "megaflow": 0, "ok": 0, "failed": 0}


def shown(thread: str = "main thread", **given: int) -> str:
    """One thread of `pmd-stats-show` as Open vSwitch 3.1 prints it."""
    count = COUNTS | given
    return f"""{thread}:
  packets received: {count["rx"]}
  packet recirculations: 7
  avg. datapath passes per packet: 1.00
  phwol hits: 0
  mfex opt hits: 0
  simple match hits: {count["simple"]}
  emc hits: {count["emc"]}
  smc hits: {count["smc"]}
  megaflow hits: {count["megaflow"]}
  avg. subtable lookups per megaflow hit: 1.00
  miss with success upcall: {count["ok"]}
  miss with failed upcall: {count["failed"]}
  avg. packets per output batch: 12.60
"""


@given(st.fixed_dictionaries({name: st.integers(0, 10**12) for name in COUNTS}))
def test_each_packet_is_counted_once_by_what_found_it(count: dict[str, int]) -> None:
    counts = read_counters(shown(**count))
    assert counts[RECEIVED] == count["rx"]
    assert counts["exact"] == count["emc"]
    assert counts["megaflow"] == count["simple"] + count["smc"] + count["megaflow"]
    assert counts["none"] == count["ok"] + count["failed"]


def test_threads_are_added_up() -> None:
    text = shown(rx=3, emc=3) + shown("pmd thread numa_id 0 core_id 1", rx=4, megaflow=4)
    assert read_counters(text) == {RECEIVED: 7, "exact": 3, "megaflow": 4, "none": 0}


def test_a_text_without_the_counters_is_refused() -> None:
    with pytest.raises(ArmorError, match="emc hits"):
        read_counters("main thread:\n  packets received: 3\n  megaflow hits: 3\n")


@given(
    st.dictionaries(st.sampled_from([RECEIVED, *LOOKUPS]), st.integers(0, 10**9), min_size=4),
    st.dictionaries(st.sampled_from([RECEIVED, *LOOKUPS]), st.integers(0, 10**9), min_size=4),
)
def test_what_was_counted_since_adds_up_again(before: dict[str, int], more: dict[str, int]) -> None:
    after = {name: before[name] + more[name] for name in before}
    assert counted_since(before, after) == more


def test_a_result_is_what_it_claims_only_if_every_packet_was_found_so() -> None:
    good = {RECEIVED: 10, "exact": 10, "megaflow": 0, "none": 0}
    assert count_complaint(good, "exact", 10) is None
    assert "received 10" in str(count_complaint(good, "exact", 11))
    assert "10 found in the exact-match cache" in str(count_complaint(good, "none", 10))
