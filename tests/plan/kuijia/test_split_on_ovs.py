"""Flows are split by weight on a real Open vSwitch: hash ranges keep the weights, SELECT groups do not."""

from __future__ import annotations

import pytest

from experiments.against_ovs.split import PROTOCOLS, Split, measure_split

# A right split is refused once in 100,000 draws; the draw is by seed, so it does not come and go.
IMPROBABLE = 1e-5


@pytest.mark.ovs
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("weights", [(0.5, 0.3, 0.2), (6.0, 3.0, 1.0, 0.0)])
def test_hash_ranges_keep_the_weights(weights: tuple[float, ...], protocol: str) -> None:
    found = measure_split(weights, protocol, flows=2000)
    assert sum(found.flows) == 2000
    assert found.p_value > IMPROBABLE
    assert all(count == 0 for count, weight in zip(found.flows, weights, strict=True) if weight == 0)


@pytest.mark.ovs
def test_the_same_flows_over_other_weights_are_seen_to_differ() -> None:
    found = measure_split((0.5, 0.3, 0.2), "udp", flows=2000)
    assert Split((0.4, 0.3, 0.3), found.flows).p_value < IMPROBABLE


@pytest.mark.ovs
def test_a_select_group_sends_all_udp_of_two_hosts_over_one_tunnel() -> None:
    """Its default hash leaves UDP ports out, so 2,000 flows are one."""
    assert sorted(measure_split((1.0, 1.0, 1.0), "udp", "select", flows=2000).flows) == [0, 0, 2000]


def test_a_split_is_judged_by_pearson_s_statistic() -> None:
    exact = Split((0.5, 0.3, 0.2), (500, 300, 200))
    assert (exact.chi_square, exact.p_value, exact.worst_error) == (0, 1, 0)
    skewed = Split((0.5, 0.5), (60, 40))
    assert skewed.chi_square == pytest.approx(4)
    assert skewed.p_value == pytest.approx(0.0455, abs=1e-4)
    assert skewed.worst_error == pytest.approx(0.1)
    assert Split((0.5, 0.5, 0.0), (60, 40, 0)).p_value == pytest.approx(skewed.p_value)
