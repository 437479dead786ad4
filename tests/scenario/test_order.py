"""What fails first, which end of a link a failure is about, and which streams may stand side by side."""

from __future__ import annotations

from experiments.scenario.failures import one_way
from mininet_topos.topology import Direction, LinkId
from tests.scenario.test_scenario import parse, with_failure


def test_a_one_way_failure_stops_what_the_first_end_sends_unless_it_names_the_other() -> None:
    link = LinkId("s1", "s2", 0)
    assert one_way.OneWay(1.0, link=link).drawn == Direction("s1", "s2", 0)
    assert one_way.OneWay(1.0, link=link, sender="s2").drawn == Direction("s2", "s1", 0)


def test_failures_come_in_the_order_of_their_times_and_streams_of_two_kinds_may_join_two_hosts() -> None:
    text = with_failure("{link: [s2, s1], at_s: 4}").replace(
        "h1, to: s3}", "h1, to: s3}\n  - {from: h1, to: s3, kind: ping}"
    )
    scenario = parse(text + "  - {link: [s3, s4], at_s: 2}\n")
    assert [failure.at_s for failure in scenario.failures] == [2.0, 4.0]
    assert [stream.kind for stream in scenario.traffic] == ["probe", "ping"]
