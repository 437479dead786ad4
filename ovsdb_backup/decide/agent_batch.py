"""Answers to packets that came together, put together: pure."""

from __future__ import annotations

from collections.abc import Sequence

from ovsdb_backup.decide.agent_types import AgentAction, ChangeRows, ReleasePacket


def in_one_go(actions: Sequence[AgentAction]) -> tuple[AgentAction, ...]:
    """The same actions with packets first, in their order, and all rows in one bundle.

    Packets come first because every switch on their way has to learn from them, one after another, while rows are
    for the packets behind them. A bundle costs a round of revalidation, however many rows it has. Changes that
    delete rows stay as they are: in which order a row goes and comes back matters.

    Parameters
    ----------
    actions
        What a run of punted packets calls for, in order.
    """
    released = [action for action in actions if isinstance(action, ReleasePacket)]
    changes = [action for action in actions if isinstance(action, ChangeRows)]
    others = [action for action in actions if not isinstance(action, ReleasePacket | ChangeRows)]
    if len(changes) > 1 and not any(change.delete for change in changes):
        changes = [ChangeRows(tuple({row.key: row for change in changes for row in change.install}.values()))]
    return (*released, *changes, *others)
