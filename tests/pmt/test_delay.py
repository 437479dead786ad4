"""The paper's formula of the PMT's price, with the paper's numbers."""

from __future__ import annotations

import math

import pytest

from mininet_topos.errors import BadInputError
from ryu_apps.pmt.delay import matching_delay_us


def test_one_flow_and_five_rules_take_46_us():
    assert matching_delay_us(1, 5) == 20 * math.log2(5)
    assert round(matching_delay_us(1, 5)) == 46


def test_sixty_four_rules_take_less_than_300_us_below_512_flows_and_exactly_that_at_512():
    assert matching_delay_us(511, 64) < 300
    assert matching_delay_us(512, 64) == 300
    assert all(matching_delay_us(n, 64) < matching_delay_us(n + 1, 64) for n in range(1, 512))


def test_one_flow_and_one_rule_take_no_time_and_n_and_m_are_interchangeable():
    assert matching_delay_us(1, 1) == 0
    assert matching_delay_us(8, 5) == matching_delay_us(5, 8)
    assert matching_delay_us(8, 5, operation_us=40) == 2 * matching_delay_us(8, 5)


@pytest.mark.parametrize("numbers", [(0, 1), (1, 0), (-1, 1), (1, 1, 0.0), (1, 1, math.inf), (1, 1, math.nan)])
def test_numbers_that_are_not_positive_are_refused(numbers):
    with pytest.raises(BadInputError, match="positive number"):
        matching_delay_us(*numbers)
