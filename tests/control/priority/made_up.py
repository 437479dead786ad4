"""A switch under PSO without sockets."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from ryu_apps.pmt.rules import PolicyMapTable

if TYPE_CHECKING:
    from ryu_apps.control.priority.link import Link
    from ryu_apps.control.priority.sender import Sender


def made_up_link(
    table: PolicyMapTable,
    sender: Sender,
    delivered: list[bytes],
    errors: list[str],
    close: Callable[[], None],
    admits: Callable[[bytes], bool] = lambda _message: True,
) -> Link:
    """A link that adds what it gives to the apps to `delivered`, and what it counts to `errors`."""
    from ryu_apps.control.priority.link import Link

    datapath: Any = SimpleNamespace(
        id=1,
        address=("10.0.0.1", 1),
        ofproto=SimpleNamespace(OFP_VERSION=4),
        close=close,
        mark=lambda _dscp: None,
        admits=admits,
    )
    receiver: Any = SimpleNamespace(take=lambda _datapath, message, _class_id: delivered.append(message))
    return Link(datapath, table, sender, receiver, errors.append)
