"""Tests of packet programs need libbpf 1, which Debian 12 and Ubuntu 24.04 have, and Ubuntu 22.04 has not."""

from __future__ import annotations

import pytest

from dataplane.libbpf import library
from mininet_topos.errors import MissingRequirementError


@pytest.fixture(autouse=True)
def _needs_libbpf(request: pytest.FixtureRequest) -> None:
    if request.node.get_closest_marker("emulation"):
        try:
            library()
        except MissingRequirementError as error:
            pytest.skip(str(error))
