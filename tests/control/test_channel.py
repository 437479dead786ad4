"""The conversation with a switch that reads nothing."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

pytestmark = pytest.mark.ryu


def test_what_a_switch_that_reads_nothing_is_posted_is_dropped_and_shown() -> None:
    from ryu_apps.control.channel import MAX_POSTED, SwitchChannel
    from ryu_apps.control.route_configuration import Status
    from ryu_apps.control.switch import Switch

    datapath: Any = SimpleNamespace(id=1)
    channel = SwitchChannel(datapath)  # its writer does not run before this test gives way
    for _number in range(MAX_POSTED + 3):
        channel.post(b"message")
    routes: Any = SimpleNamespace(status=Status())
    assert Switch("s1", 1, channel, routes).state()["posts_dropped"] == 3
