"""The key `notification` of a scenario."""

from __future__ import annotations

import json

import pytest

from experiments.scenario.document import to_document
from experiments.testbed.runs.parts import options_of
from mininet_topos.errors import BadInputError
from ryu_apps.plan.choices import NOTIFICATIONS
from tests.scenario.test_scenario import GOOD, parse


@pytest.mark.parametrize("notification", NOTIFICATIONS)
def test_a_scenario_says_whether_failures_are_notified_and_survives_being_written_down(notification: str) -> None:
    scenario = parse(f"{GOOD}notification: {notification}\n")  # a bare off, which YAML reads as false
    assert [each.notification for each in scenario.variations] == [notification]
    assert parse(json.dumps(to_document(scenario))) == scenario
    assert options_of(scenario.variations[0]).notification == notification
    with pytest.raises(BadInputError, match="notification 'loud' is not known; did you mean 'flood'"):
        parse(f"{GOOD}notification: loud\n")
