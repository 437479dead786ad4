"""The targets of the fuzzer take their seeds, seeds with a few bytes changed, and whatever was found before."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mininet_topos.errors import ArmorError
from ovsdb_backup.decide import agent_types
from ryu_apps.openflow.messages import DumpPart, ErrorMessage, PacketIn, PortStatus
from ryu_apps.openflow.wire import MsgType, Multipart
from tests.fuzz import targets
from tests.fuzz.targets import TARGETS, once, seeds

FOUND = Path(__file__).parent / "found"
SEEDS = {name: list(seeds(name)) for name in TARGETS}


@pytest.mark.parametrize("name", [name for name in TARGETS if name != "capture"])
def test_a_target_accepts_half_of_its_seeds(name):
    def is_accepted(data):
        try:
            TARGETS[name](data)
        except ArmorError:
            return False
        return True

    assert 2 * sum(map(is_accepted, SEEDS[name])) >= len(SEEDS[name]) > 0


def reached(name):
    """What a target makes of the messages of its seeds."""
    return [value for seed in SEEDS[name] for value in TARGETS[name](seed)]


def test_seeds_reach_what_decodes_each_message_of_a_switch():
    parts = [each.value for each in reached("openflow") if isinstance(each.value, DumpPart)]
    assert {type(each.value) for each in reached("openflow")} >= {PacketIn, PortStatus, ErrorMessage, DumpPart}
    assert {part.kind for part in parts if part.entries} == set(Multipart)
    assert all(entry.row is not None for part in parts if part.kind == Multipart.FLOW for entry in part.entries)


def test_seeds_reach_every_event_of_an_agent():
    kinds = {type(event) for event in reached("openflow-agent")}
    assert kinds >= {agent_types.PacketIn, agent_types.PortStatus, agent_types.FlowsRemoved}


def test_seeds_reach_what_pso_rewrites_in_both_directions():
    changed = reached("pso")
    assert {message[1] for message in changed} == {
        MsgType.FLOW_MOD,
        MsgType.EXPERIMENTER,
        MsgType.MULTIPART_REPLY,
        MsgType.PACKET_IN,
    }


@pytest.mark.parametrize(("name", "writer"), [("topology-json", "to_json"), ("pmt", "pmt_to_json")])
def test_a_reader_that_refuses_what_we_have_written_is_a_finding(name, writer, monkeypatch):
    good = next(seed for seed in SEEDS[name] if b"rules" in seed or b"nodes" in seed)
    once(name, good)
    monkeypatch.setattr(targets, writer, lambda _value: "[1")
    with pytest.raises(AssertionError, match="what we have written ourselves is refused"):
        once(name, good)


@pytest.mark.parametrize("name", TARGETS)
@given(data=st.data())
def test_a_target_refuses_in_its_own_words_or_takes(name, data):
    seed = bytearray(data.draw(st.sampled_from([b"", *SEEDS[name]])))
    for _change in range(data.draw(st.integers(0, 4))):
        at = data.draw(st.integers(0, len(seed)))
        seed[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=6))
    once(name, bytes(seed))


def test_what_was_found_once_is_mended():
    for file in sorted(FOUND.glob("*-*")):
        # libFuzzer's names begin with the target's: openflow-crash-<digest>
        once(max((name for name in TARGETS if file.name.startswith(f"{name}-")), key=len), file.read_bytes())
