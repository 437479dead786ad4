"""Commands of `tc` and `ip`: rates that add up to the link's, and one class a mark, most urgent first."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.loadgen.decide.link import LinkClasses, class_counters, rate_lines, sent_bytes
from experiments.testbed.traffic.cross_traffic import gaps_s
from mininet_topos.errors import BadInputError

MARKS = st.lists(st.sampled_from(range(8, 64, 8)), unique=True, max_size=7).map(lambda dscps: sorted(dscps)[::-1])


@given(MARKS, st.floats(1, 100))
def test_every_mark_has_a_class_and_urgent_ones_come_first(dscps: list[int], rate_mbps: float) -> None:
    lines = rate_lines("x0", rate_mbps, LinkClasses(tuple(dscps)))
    leaves = [line for line in lines if "parent 1:1 classid" in line]
    assert [int(line.split(" prio ")[1].split()[0]) for line in leaves] == list(range(len(dscps) + 1))
    filters = [line for line in lines if line.startswith("filter")]
    assert [int(line.split("tos ")[1].split()[0], 16) >> 2 for line in filters] == dscps
    guaranteed = [int(line.split("htb rate ")[1].split("kbit")[0]) for line in leaves]
    assert sum(guaranteed) <= round(rate_mbps * 1000)


def test_one_queue_has_the_whole_rate() -> None:
    assert sum("rate 2000kbit ceil 2000kbit" in line for line in rate_lines("x0", 2.0)) == 2


def test_impossible_links_are_refused_with_the_repair() -> None:
    with pytest.raises(BadInputError, match="too slow; use at least"):
        rate_lines("x0", 0.001)
    with pytest.raises(BadInputError, match="more classes than the 8"):
        rate_lines("x0", 2.0, LinkClasses(tuple(range(8))))


def test_counters_are_found_by_the_handle_of_their_queue() -> None:
    shown = [
        {"kind": "htb", "handle": "1:", "bytes": 9, "packets": 1, "drops": 0},
        {"kind": "pfifo", "handle": "10:", "bytes": 5, "packets": 2, "drops": 1},
        {"kind": "pfifo", "handle": "f0:", "bytes": 4, "packets": 1, "drops": 0},
    ]
    found = class_counters(shown, [48])
    assert found == {
        "dscp 48": {"bytes": 5, "packets": 2, "drops": 1},
        "rest": {"bytes": 4, "packets": 1, "drops": 0},
    }
    later = {name: {**each, "bytes": each["bytes"] + 10} for name, each in found.items()}
    assert sent_bytes(found, later) == 20


@pytest.mark.parametrize("burst_pkts", [1, 32])
def test_bursts_keep_the_rate(burst_pkts: int) -> None:
    gaps = gaps_s(100.0, burst_pkts, 7)
    total_s = sum(next(gaps) for _ in range(20_000))
    assert 20_000 * burst_pkts / total_s == pytest.approx(100, rel=0.03)
