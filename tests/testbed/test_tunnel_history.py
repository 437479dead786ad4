"""Which links the controller avoids, from the event log of a run."""

from __future__ import annotations

import json

import pytest

from experiments.testbed.runs.tunnel_agents import history_of
from experiments.torture.scenario import torture_scenario

SCENARIO = torture_scenario("square", "kuijia", None, 1, tls=False)
BOTH, ONE, NONE = (("restoration_begin", {"links": links}) for links in (["s1-s2", "s3-s4"], ["s1-s2"], []))


def restart(process: str) -> tuple[str, dict[str, str]]:
    return "restart", {"process": process}


@pytest.mark.parametrize(
    ("events", "avoided"),
    [
        ([ONE, BOTH], {"s1-s2", "s3-s4"}),
        ([ONE, BOTH, NONE], set()),
        ([BOTH, restart("ovs-vswitchd")], {"s1-s2", "s3-s4"}),
        ([BOTH, restart("controller")], set()),
        ([BOTH, restart("controller"), ONE], {"s1-s2"}),
    ],
)
def test_links_are_avoided_until_the_controller_says_otherwise_or_is_started_again(events, avoided):
    lines = [
        json.dumps({"t_monotonic_s": float(number), "source": "x", "event": name, **fields})
        for number, (name, fields) in enumerate(events)
    ]
    history = history_of("".join(f"{line}\n" for line in lines), SCENARIO)
    assert {str(link) for links in history for link in links} == avoided
