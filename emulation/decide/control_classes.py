"""The control plane of an emulated network by the message classes of a PMT (PSO): connections, and queues by mark."""

from __future__ import annotations

from collections.abc import Mapping

from emulation.decide.queues import QueueSetup
from emulation.decide.wiring import CONTROLLER_IPV4, OPENFLOW_PORT
from ryu_apps.control.priority.decide.channels import connections
from ryu_apps.control.priority.decide.switch_table import CLASS_KEY, MAIN, PMT_KEY
from ryu_apps.pmt.rules import PolicyMapTable
from ryu_apps.pmt.scheduling import SchedulerKind
from ryu_apps.pmt.serial import to_json

_CONTROLLER_MAX_BACKOFF_MS = 1000  # so that a restarted controller is found within a second, not eight


def _share_of_dscp(table: PolicyMapTable) -> dict[int, float]:
    """Weight or guaranteed fraction of each mark, highest mark first: of all classes that carry it; 0: none."""
    found: dict[int, float] = {}
    for row in sorted(connections(table, OPENFLOW_PORT), key=lambda row: -row.dscp):
        found[row.dscp] = found.get(row.dscp, 0.0) + table.class_shares.get(row.class_id, 0.0)
    return found


def control_queue_setup(table: PolicyMapTable) -> QueueSetup:
    """Queues of a control link: one a mark, highest first, what has none of the marks in the last.

    The table's scheduler says how they share the link (PSO, section 4.3).

    Parameters
    ----------
    table
        With rules.
    """
    share_of = _share_of_dscp(table)
    return QueueSetup(
        "control classes",
        len(share_of),
        default_queue=len(share_of) - 1,
        control_is_queue_0=False,
        queue_of_dscp=tuple((dscp, queue_id) for queue_id, dscp in enumerate(share_of)),
        has_control=False,
        scheduler=table.scheduler.kind,
        shares=_shares(table, share_of),
    )


def shared_queue_setup(table: PolicyMapTable) -> QueueSetup:
    """Queues of links that carry control beside data: BFD first, then one a mark of control, and one of data.

    The table's scheduler says how those after BFD share the link; data has the share of the unmatched class.

    Parameters
    ----------
    table
        With rules. The unmatched class has no mark, so its messages wait with data.

    Raises
    ------
    BadInputError
        More marks than a port has queues.
    """
    share_of = _share_of_dscp(table)
    marks = [dscp for dscp in share_of if dscp]
    return QueueSetup(
        "control before data",
        len(marks) + 1,
        default_queue=len(marks),
        control_is_queue_0=False,
        queue_of_dscp=tuple((dscp, queue_id) for queue_id, dscp in enumerate(marks)),
        control_is_bfd=True,
        scheduler=table.scheduler.kind,
        shares=_shares(table, share_of),
    )


def _shares(table: PolicyMapTable, share_of: Mapping[int, float]) -> tuple[float, ...]:
    return () if table.scheduler.kind is SchedulerKind.STRICT else tuple(share_of.values())


def controller_words(bridge: str, table: PolicyMapTable | None, *, tls: bool = False) -> list[str]:
    """Words for `ovs-vsctl` that point a bridge to the controller, on a connection a class when there is a table."""
    method = "ssl" if tls else "tcp"
    columns = ("connection_mode=out-of-band", f"max_backoff={_CONTROLLER_MAX_BACKOFF_MS}")
    if table is None or not table.rules:
        return [
            *("--", "set-controller", bridge, f"{method}:{CONTROLLER_IPV4}:{OPENFLOW_PORT}"),
            *("--", "set", "Controller", bridge, *columns),
        ]
    words, names = [], []
    for row in connections(table, OPENFLOW_PORT):
        names.append(f"@{bridge}-class{row.class_id}")
        role = MAIN if row.is_main else str(row.class_id)
        words += ["--", f"--id={names[-1]}", "create", "Controller", f'target="{method}:{CONTROLLER_IPV4}:{row.port}"']
        words += [*columns, f"other_config:dscp={row.dscp}", f'external_ids:{CLASS_KEY}="{role}"']
    # A string within a string: ovs-vsctl reads columns as JSON does.
    text = to_json(table).replace("\\", "\\\\").replace('"', '\\"')
    words += ["--", "set", "Bridge", bridge, f"controller=[{','.join(names)}]", f'external_ids:{PMT_KEY}="{text}"']
    return words
