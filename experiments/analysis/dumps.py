"""What a switch holds against what it should hold: no planned row missing, no rule of a past failure left.

Rows that a failure put there (learned, or by the agent) belong while one of the links that they name is still
down; afterwards they are stale.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ryu_apps.plan.ids import Kind, Owner, is_in_band_group, split_cookie
from ryu_apps.plan.row_text import flow_text, group_text
from ryu_apps.plan.rows import FlowRow, GroupRow, RulePlan

_TEMPORARY = (Kind.LEARNED, Kind.AGENT)
# Rows beside every plan: an app's own for ARP and foreign hosts come and go with the hosts, PSO's with its connections;
# those of in-band control were there before any controller.
_NOBODYS = (0, Owner.EDGE, Owner.PSO, Owner.IN_BAND)


@dataclass(frozen=True)
class DumpReport:
    """How the rows of one switch differ from its plan; all empty but `temporary` when they do not.

    Attributes
    ----------
    missing
        Planned, not there, or there with other actions.
    stale
        There, of ours, and with no reason to be.
    temporary
        Put there by a failure that still lasts.
    compared
        Rows that the switch holds.
    """

    node: str
    missing: tuple[FlowRow | GroupRow, ...]
    stale: tuple[FlowRow | GroupRow, ...]
    temporary: tuple[FlowRow, ...]
    compared: int = 0

    @property
    def is_clean(self) -> bool:
        """Whether the switch holds its plan and nothing stale."""
        return not self.missing and not self.stale

    @property
    def difference(self) -> str:
        """How the switch differs from its plan, with one of the rows; empty when it is clean."""
        if self.is_clean:
            return ""
        counts = f"{len(self.missing)} planned rows are missing, {len(self.stale)} are not planned"
        first = (*self.missing, *self.stale)[0]
        shown = flow_text(first) if isinstance(first, FlowRow) else group_text(first)
        return f"{self.node} ({counts}, such as {shown})"


def compare_dump(
    plan: RulePlan, flows: Iterable[FlowRow], groups: Iterable[GroupRow], is_down: Callable[[int], bool]
) -> DumpReport:
    """Compare a switch's rows with its plan.

    Parameters
    ----------
    plan
        What it should hold.
    flows, groups : iterable of FlowRow, GroupRow
        What it holds; rows in words that we do not speak are left out by the reader.
    is_down
        Tag id to whether one of the links of that set is down now.
    """
    planned = {row.key: row for row in plan.flows}
    held = list(flows)
    held_groups = {group for group in groups if not is_in_band_group(group.group_id)}
    same = {row.key for row in held if planned.get(row.key) == row}
    missing: list[FlowRow | GroupRow] = [row for row in plan.flows if row.key not in same]
    missing += [group for group in plan.groups if group not in held_groups]
    stale: list[FlowRow | GroupRow] = [group for group in held_groups if group not in set(plan.groups)]
    temporary = []
    for row in held:
        if row.key in same or split_cookie(row.cookie).scheme in _NOBODYS:
            continue
        fields = split_cookie(row.cookie)
        if fields.kind in _TEMPORARY and is_down(fields.tag_id):
            temporary.append(row)
        else:
            stale.append(row)
    return DumpReport(plan.node, tuple(missing), tuple(stale), tuple(temporary), len(held) + len(held_groups))
