"""Namespaces of processes."""

from __future__ import annotations

import pytest

from mininet_topos.emulation import places
from mininet_topos.emulation.places import CommandError, private_namespace


def test_a_namespace_that_the_system_refuses_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "_DIES_WITH_ITS_PARENT", ("false",))  # ends as unshare does for an ordinary user
    for _ in range(20):  # whether it has ended at the first look or later
        with pytest.raises(CommandError, match="namespaces need root"), private_namespace():
            pass
