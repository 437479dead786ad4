"""A switch whose plan is written down here, for tests that look at the agent's decisions one by one.

Ports 2, 3, 4 lead to links 0, 1, 2; links 3 and 4 are elsewhere. Sets of up to two of the five links have ids:
{0} 1, {1} 2, {2} 3, {3} 4, {4} 5, {0,1} 6, {0,2} 7, {0,3} 8, {0,4} 9, {1,2} 10, {1,3} 11, ... {3,4} 15.
"""

from __future__ import annotations

from ovsdb_backup.decide.agent_types import AgentState, PacketIn, PlanLoaded, Tick
from ovsdb_backup.decide.backup_index import BackupIndex
from ryu_apps.plan.ids import Status
from ryu_apps.plan.rows import BackupRow, ExtensionRow, FlowRow
from te_solver.commodity import Commodity
from tests.ovsdb_backup.world import World, tagged

T, S, LOCAL = 0x0A000001, 0x0A000002, 0x0A000009
PRIMARY = BackupRow(T, None, 0, 2, 0, False)
AROUND_0 = BackupRow(T, None, 1, 3, Status.RECOVERED, True)
AROUND_01 = BackupRow(T, None, 6, 4, Status.CRANKBACK, True, (1,))
AROUND_3 = BackupRow(T, None, 4, 3, Status.RECOVERED, True)
AROUND_13 = BackupRow(T, None, 11, 4, Status.RECOVERED, True, (4,))
AROUND_34 = BackupRow(T, None, 15, 4, Status.RECOVERED, True, (4,))
PASSING_4 = BackupRow(T, None, 5, 2, Status.RECOVERED, False)
REVERSE, REVERSE_3 = BackupRow(S, None, 0, 2, 0, False), BackupRow(S, None, 4, 3, Status.RECOVERED, True)
REVERSE_4 = BackupRow(S, None, 5, 2, Status.RECOVERED, False)
INDEX = BackupIndex(
    backups=(
        *(PRIMARY, AROUND_0, AROUND_01, AROUND_3, AROUND_13, AROUND_34, PASSING_4),
        *(REVERSE, REVERSE_3, REVERSE_4),
    ),
    extensions=(
        ExtensionRow(0, 2, 1),
        ExtensionRow(1, 3, 6),
        ExtensionRow(4, 3, 11),
        ExtensionRow(6, 4, 3000),
    ),
    local_ipv4=frozenset({LOCAL}),
    tag_space=(5, 2),
    ports={2: "s1-s2"},
)
TO_T, TO_S = Commodity(T), Commodity(S)


def small_world() -> World:
    """The switch with all ports live and the agent beside it."""
    found = World(AgentState(), live={1: True, 2: True, 3: True, 4: True})
    found.tell(PlanLoaded(INDEX))
    found.read()
    return found


def rows_of(*rows: FlowRow) -> dict[object, FlowRow]:
    """Rows by what makes them unique."""
    return {row.key: row for row in rows}


def punt(world: World, tag_id: int, status: Status = Status.CRANKBACK, destination: int = T, source: int = S) -> None:
    """A tagged packet is sent to the agent."""
    world.tell(PacketIn(tagged(destination, source, tag_id, status), "frame"))


def pass_time(world: World, seconds: float) -> None:
    """Time passes, and the agent is woken."""
    world.now_s += seconds
    world.tell(Tick())
