"""Addresses of services, written HOST:PORT."""

from __future__ import annotations

import re
from ipaddress import ip_address

from mininet_topos.errors import BadInputError


def host_and_port(text: str, what: str, least_port: int = 1) -> tuple[str, int]:
    """Host and port of an address; an IPv6 host may stand in brackets.

    Parameters
    ----------
    what
        What the address is given as, for the message: "--controller".
    least_port
        0 where the system may choose one.

    Raises
    ------
    BadInputError
        No host, or no port from `least_port` to 65535.

    Examples
    --------
    >>> host_and_port("[::1]:6653", "--controller")
    ('::1', 6653)
    """
    found = re.fullmatch(r"(?:\[([^\[\]]+)\]|([^\[\]]+)):([0-9]{1,5})", text)
    if found is None or not least_port <= int(found[3]) < 1 << 16:
        raise BadInputError(f"{what} is {text!r}; write HOST:PORT, as 127.0.0.1:6653")
    return found[1] or found[2], int(found[3])


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address (an unknown name is taken for one that others reach)."""
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
