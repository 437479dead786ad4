"""What goes around an emulated network finds the logs of its processes, also when the network is not built."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from emulation.decide.options import EmulationOptions
from emulation.network import EmulatedNetwork
from emulation.running import RunningNetwork
from mininet_topos import toy
from mininet_topos.errors import ArmorError

pytestmark = pytest.mark.emulation


class UnfitError(ArmorError):
    """A part of the network does not begin."""


@contextmanager
def unfit(_network: RunningNetwork) -> Iterator[None]:
    raise UnfitError("no such program")
    yield


def test_logs_of_a_network_that_is_not_built_can_be_kept() -> None:
    found: set[str] = set()

    @contextmanager
    def around(network: RunningNetwork) -> Iterator[None]:
        try:
            yield
        finally:
            found.update(path.name for path in network.run_dir.rglob("*.log"))

    options = EmulationOptions(bfd_interval_ms=100)
    with pytest.raises(UnfitError), EmulatedNetwork(toy.pair(), options, around=around, parts=(unfit,)):
        pytest.fail("entered")
    assert {"ovs-vswitchd.log", "ovsdb-server.log"} <= found
