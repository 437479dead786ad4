"""Stacks as deep as the datapath holds, in the interpreter and in a real Open vSwitch."""

from __future__ import annotations

import pytest

from experiments.verify.against_ovs.compare import compare_with_ovs
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.ti_lfa.repairs import MOST_LABELS
from tests.plan.ti_lfa.test_repairs import expensive_ladder


@pytest.mark.ovs
def test_the_interpreter_agrees_with_a_real_switch_on_three_labels() -> None:
    outcome = compare_with_ovs(
        expensive_ladder(MOST_LABELS), "ti_lfa", PlanOptions(metric="delay"), samples=150, seed=1
    )
    assert outcome.first_difference is None
    assert outcome.packets == 150
