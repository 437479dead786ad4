"""Addresses written HOST:PORT."""

from __future__ import annotations

import pytest

from mininet_topos.endpoints import host_and_port
from mininet_topos.errors import BadInputError


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("127.0.0.1:6653", ("127.0.0.1", 6653)),
        ("[::1]:1", ("::1", 1)),
        ("::1:65535", ("::1", 65535)),
        ("controller.example:80", ("controller.example", 80)),
    ],
)
def test_host_and_port(text: str, read: tuple[str, int]) -> None:
    assert host_and_port(text, "--at") == read


@pytest.mark.parametrize(
    "text", ["", ":", ":80", "a:", "a", "a:0", "a:65536", "a:-1", "a:\u0661", "[a:80", "[]:80", "a:8 "]
)
def test_what_is_none_is_named(text: str) -> None:
    with pytest.raises(BadInputError, match=r"--at is .*; write HOST:PORT"):
        host_and_port(text, "--at")


def test_port_0_is_allowed_where_the_system_may_choose() -> None:
    assert host_and_port("127.0.0.1:0", "--listen", least_port=0) == ("127.0.0.1", 0)
