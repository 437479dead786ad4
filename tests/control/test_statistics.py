"""Counters and rates."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ryu_apps.control.decide.statistics import flow_samples, port_sample, port_samples
from ryu_apps.openflow.messages import FlowStat, PortStat
from ryu_apps.plan.ids import Kind, cookie
from tests import schemes

COUNTS = st.integers(0, 2**63)


def port_stat(rx_bytes=0, tx_bytes=0, tx_dropped=0, port_no=1):
    return PortStat(port_no, 0, 0, rx_bytes, tx_bytes, 0, tx_dropped, 0, 0, 1.0)


def flow_stat(destination, n_packets, n_bytes):
    value = cookie(schemes.SDFAST, Kind.PLANNED, 0, destination)
    return FlowStat(None, 1, 1, value, b"", n_packets, n_bytes, 1.0, 0)


def test_the_first_sample_has_counters_and_no_rate():
    sample = port_sample(None, port_stat(10, 20), 5.0)
    assert (sample.stat.rx_bytes, sample.rx_mbps, sample.tx_mbps) == (10, None, None)


def test_a_rate_is_bits_by_seconds():
    before = port_sample(None, port_stat(0, 1_000_000, 5), 10.0)
    after = port_sample(before, port_stat(250_000, 2_000_000, 9), 12.0)
    assert (after.rx_mbps, after.tx_mbps, after.tx_dropped_per_s) == (1.0, 4.0, 2.0)


@given(COUNTS, COUNTS, st.floats(0, 1e6), st.floats(0.001, 1e6))
def test_what_was_sent_is_the_rate_times_the_time(before, more, at_s, seconds):
    first = port_sample(None, port_stat(tx_bytes=before), at_s)
    second = port_sample(first, port_stat(tx_bytes=before + more), at_s + seconds)
    assert second.tx_mbps * (second.at_s - first.at_s) == pytest.approx(more * 8 / 1e6)


def test_counters_that_went_back_and_samples_of_one_instant_give_no_rate():
    before = port_sample(None, port_stat(100, 100), 10.0)
    assert port_sample(before, port_stat(50, 200), 11.0).rx_mbps is None
    assert port_sample(before, port_stat(50, 200), 11.0).tx_mbps is not None
    assert port_sample(before, port_stat(150, 200), 10.0).tx_mbps is None


def test_ports_are_sampled_by_number():
    before = port_samples({}, [port_stat(0, port_no=1), port_stat(0, port_no=2)], 0.0)
    after = port_samples(before, [port_stat(125_000, port_no=2)], 1.0)
    assert list(after) == [2]
    assert after[2].rx_mbps == 1.0


def test_flows_are_summed_by_destination_and_rows_of_no_destination_are_left_out():
    before = flow_samples(
        {}, [flow_stat(5, 1, 100), flow_stat(5, 2, 200), flow_stat(6, 4, 400), flow_stat(0, 9, 9)], 0.0
    )
    assert {key: (one.n_packets, one.n_bytes) for key, one in before.items()} == {5: (3, 300), 6: (4, 400)}
    after = flow_samples(before, [flow_stat(5, 10, 300 + 125_000), flow_stat(7, 1, 1)], 1.0)
    assert after[5].rate_mbps == 1.0
    assert after[7].rate_mbps is None
