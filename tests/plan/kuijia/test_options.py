"""Options and prefixes: what they mean, and what is refused."""

from __future__ import annotations

import pytest

from mininet_topos.errors import BadInputError
from ryu_apps.plan.addressing import hosts_of
from ryu_apps.plan.kuijia.options import Prefix, TunnelOptions, parse_prefix, prefixes_of
from tests.plan.kuijia.networks import figure1


def test_a_prefix_holds_the_addresses_that_begin_like_it() -> None:
    prefix = parse_prefix("10.0.2.0/23")
    assert prefix == Prefix(0x0A000200, 23)
    assert [address in prefix for address in (0x0A0001FF, 0x0A000200, 0x0A0003FF, 0x0A000400)] == [0, 1, 1, 0]
    assert prefix.match == (0x0A000200, 0xFFFFFE00)
    assert "10.0.2.1" not in prefix


def test_an_address_is_a_prefix_that_is_matched_exactly() -> None:
    assert parse_prefix("10.0.0.7") == parse_prefix("10.0.0.7/32") == Prefix(0x0A000007, 32)
    assert parse_prefix("10.0.0.7").match == 0x0A000007


@pytest.mark.parametrize("text", ["10.0.0.1/24", "10.0.0.0/33", "ten", "", "::/8", "0.0.0.0/0"])
def test_what_is_no_prefix_is_refused(text: str) -> None:
    with pytest.raises(BadInputError, match=r"prefix|all addresses"):
        parse_prefix(text)


def test_switches_without_a_prefix_have_the_address_of_their_host() -> None:
    given = TunnelOptions(prefixes=(("s2", (parse_prefix("10.9.0.0/16"),)),))
    found = prefixes_of(figure1(), hosts_of(figure1()), given)
    assert found["s2"] == (Prefix(0x0A090000, 16),)
    assert found["s4"] == (Prefix(0x0A000004, 32),)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"priorities": "nine"}, "unknown priorities 'nine'; use one of single, four, eight"),
        ({"split": "hash"}, "unknown split 'hash'; use one of ranges, select"),
        ({"prefixes": (("s1", (Prefix(1, 32),)), ("s2", (Prefix(1, 32),)))}, "name one twice"),
    ],
)
def test_options_that_do_not_exist_are_refused(wrong: dict[str, object], words: str) -> None:
    with pytest.raises(BadInputError, match=words):
        TunnelOptions(**wrong)  # type: ignore[arg-type]
