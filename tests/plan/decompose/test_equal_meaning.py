"""Whatever shape a table has, a packet meets the same: the law of decomposition, on random tables."""

from __future__ import annotations

import pytest
from hypothesis import given

from ryu_apps.plan.check import violations
from ryu_apps.plan.choices import DECOMPOSED, SHAPES, TWO_TABLE
from ryu_apps.plan.decompose.count import count_fields
from ryu_apps.plan.decompose.shapes import decompose
from ryu_apps.plan.ids import SPARE_TABLES
from ryu_apps.plan.interpret import Packet, SwitchModel, interpret_switch
from ryu_apps.plan.rows import FlowRow, RulePlan
from tests.examples import examples
from tests.plan.decompose.tables import (
    LIVE,
    UNLABELLED,
    Planted,
    hash_tables,
    label_tables,
    labelled,
    meanings,
    registers,
    taken,
)

FIRST_ROWS = registers()
CROSSINGS = [(in_port, Packet(ipv4_dst=10)) for in_port, _ in FIRST_ROWS]


@examples(40)
@given(label_tables())
@pytest.mark.parametrize("shape", SHAPES)
def test_every_packet_meets_the_same_in_every_shape(shape: str, table: Planted) -> None:
    packets = [*labelled(), *UNLABELLED]
    made = decompose(table.flows, shape, SPARE_TABLES)
    assert meanings(made, packets) == meanings(table.flows, packets)


@examples(40)
@given(label_tables())
@pytest.mark.parametrize("shape", SHAPES)
def test_packets_of_the_match_space_meet_the_same_when_only_they_count(shape: str, table: Planted) -> None:
    packets = taken(table.flows, labelled())
    made = decompose(table.flows, shape, SPARE_TABLES, strict=False)
    assert meanings(made, packets) == meanings(table.flows, packets)


@examples(40)
@given(hash_tables())
@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
def test_layers_of_priorities_and_masks_keep_their_meaning(shape: str, strict: bool, rows: tuple[FlowRow, ...]) -> None:
    first = [row for _, row in FIRST_ROWS]
    crossings = CROSSINGS if strict else _takers(first, rows)
    if not rows:
        return
    made = decompose(rows, shape, SPARE_TABLES, strict=strict, parts={"reg1": 2})
    assert meanings([*first, *made], crossings) == meanings([*first, *rows], crossings)


def _takers(first: list[FlowRow], rows: tuple[FlowRow, ...]) -> list[tuple[int, Packet]]:
    """Crossings that some row of the table takes: two rules of the pair then match."""
    model = SwitchModel(RulePlan(1, "s1", (*first, *rows)))
    return [each for each in CROSSINGS if len(interpret_switch(model, each[1], each[0], LIVE).rules) == 2]


@examples(40)
@given(label_tables())
def test_no_shape_costs_more_than_the_one_before(table: Planted) -> None:
    costs = [count_fields(decompose(table.flows, shape, SPARE_TABLES)) for shape in SHAPES]
    assert costs == sorted(costs, reverse=True)
    loose = count_fields(decompose(table.flows, DECOMPOSED, SPARE_TABLES, strict=False))
    assert loose <= costs[-1]


@examples(40)
@given(label_tables())
def test_decomposed_tables_are_sound_wherever_the_logical_table_is(table: Planted) -> None:
    for shape in (TWO_TABLE, DECOMPOSED):
        for strict in (True, False):
            made = decompose(table.flows, shape, SPARE_TABLES, strict=strict)
            assert violations(RulePlan(1, "s1", made)) == ()
