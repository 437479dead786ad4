"""Malformed messages break what their name says; the classifier names each instead of falling over."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.loadgen.decide.misbehave import endless, malformed
from experiments.loadgen.misbehave import misbehaving
from mininet_topos.errors import BadInputError
from ryu_apps.openflow.lengths import check_received
from ryu_apps.openflow.wire import VERSION, MalformedMessageError, WireError, header, split_messages
from ryu_apps.pmt.classify import Classifier
from ryu_apps.pmt.rules import PolicyMapTable


@given(st.integers(0, 2**32))
def test_each_is_refused_by_the_classifier_or_only_noise(seed: int) -> None:
    name, message = malformed(np.random.default_rng(seed))
    if name == "noise in a whole message":
        assert split_messages(message) == ([message], b"")
    elif name == "length below eight":
        with pytest.raises(WireError):
            split_messages(message)
    else:
        assert header(message).length == len(message)
        with pytest.raises(MalformedMessageError):
            Classifier(PolicyMapTable()).classify(message)


@given(st.integers(0, 2**32))
def test_lists_without_end_are_refused_before_they_are_parsed(seed: int) -> None:
    with pytest.raises(MalformedMessageError, match="of length 0"):
        check_received(endless(np.random.default_rng(seed)), VERSION)


def test_a_lot_makes_every_kind() -> None:
    rng = np.random.default_rng(1)
    assert len({malformed(rng)[0] for _ in range(200)}) == 7


def test_an_unknown_behaviour_is_refused_by_name() -> None:
    with pytest.raises(BadInputError, match="'sulk' is not known"), misbehaving(None, (), "sulk", 1):
        pass
