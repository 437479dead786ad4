"""The agents' tables: total, every state reached, and printed in docs/agent.md as they are in the code."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given

from ovsdb_backup.decide import agent_ports, tunnel_agent
from ovsdb_backup.decide.agent_ports import PORTS
from ovsdb_backup.decide.agent_types import PortEvent
from ovsdb_backup.decide.liveness import Liveness
from ovsdb_backup.decide.tunnel_agent import TUNNELS, TunnelEvent
from tests.examples import examples
from tests.ovsdb_backup.test_agent_laws import MoveSequence, play, sequences

PAGE = Path(__file__).parents[2] / "docs" / "agent.md"
TUNNEL_STATES = set(Liveness) - {Liveness.NEW}
NEXT_OF_PORTS = {pair: following for pair, (following, _actions) in PORTS.items()}


def printed_ports() -> list[str]:
    """Rows of `PORTS` as Markdown; pairs that cannot happen are named too."""
    lines = []
    for state, event in product(Liveness, PortEvent):
        following, actions = PORTS.get((state, event), (None, ()))
        shown = "impossible" if following is None else f"`{following.name}`"
        names = ", ".join(f"`{action.__name__}`" for action in actions)
        lines.append(f"| `{state.name}` | `{event.name}` | {shown} | {names or 'none'} |")
    return lines


def printed_tunnels() -> list[str]:
    """Rows of `TUNNELS` as Markdown."""
    lines = []
    for state, event in product(Liveness, TunnelEvent):
        if state in TUNNEL_STATES:
            following = TUNNELS.get((state, event))
            shown = "impossible" if following is None else f"`{following.name}`"
            lines.append(f"| `{state.name}` | `{event.name}` | {shown} |")
    return lines


@pytest.mark.parametrize(
    ("table", "impossible", "pairs"),
    [
        (PORTS.keys(), agent_ports.IMPOSSIBLE, set(product(Liveness, PortEvent))),
        (TUNNELS.keys(), tunnel_agent.IMPOSSIBLE, set(product(TUNNEL_STATES, TunnelEvent))),
    ],
)
def test_every_pair_is_either_in_the_table_or_impossible(
    table: AbstractSet[object], impossible: AbstractSet[object], pairs: AbstractSet[object]
) -> None:
    assert table | impossible == pairs
    assert not table & impossible


@pytest.mark.parametrize(
    ("following", "first", "states"),
    [(NEXT_OF_PORTS, Liveness.NEW, set(Liveness)), (TUNNELS, Liveness.UP, TUNNEL_STATES)],
)
def test_every_state_is_reached(
    following: dict[tuple[Liveness, object], Liveness], first: Liveness, states: set[Liveness]
) -> None:
    reached: set[Liveness] = set()
    waiting = {first}
    while waiting:
        reached |= waiting
        waiting = {after for (before, _event), after in following.items() if before in reached} - reached
    assert reached == states


@pytest.mark.parametrize("rows", [printed_ports(), printed_tunnels()])
def test_the_page_shows_the_table(rows: list[str]) -> None:
    assert "\n".join(["", *rows, ""]) in PAGE.read_text()


@examples(30)
@given(sequences())
def test_the_state_of_a_port_is_what_its_sources_and_its_wait_say(sequence: MoveSequence) -> None:
    for health in play(sequence).state.ports.values():
        assert health.is_up == (health.state in (Liveness.UP, Liveness.HELD))
        assert (health.held_until_s is not None) == (health.state is Liveness.HELD)
