"""The control plane of an emulated network by the message classes of a PMT (PSO): connections, and queues by mark."""

from __future__ import annotations

from emulation.decide.queues import QueueSetup
from emulation.decide.wiring import CONTROLLER_IPV4, OPENFLOW_PORT
from ryu_apps.control.priority.decide.channels import connections
from ryu_apps.control.priority.decide.switch_table import CLASS_KEY, MAIN, PMT_KEY
from ryu_apps.pmt.rules import PolicyMapTable
from ryu_apps.pmt.serial import to_json

_CONTROLLER_MAX_BACKOFF_MS = 1000  # so that a restarted controller is found within a second, not eight


def control_queue_setup(table: PolicyMapTable) -> QueueSetup:
    """Strict priority on a control link: a queue a mark, highest first; what has none of the marks waits with the last.

    Parameters
    ----------
    table
        With rules.
    """
    dscps = sorted({row.dscp for row in connections(table, OPENFLOW_PORT)}, reverse=True)
    queue_of_dscp = tuple((dscp, queue_id) for queue_id, dscp in enumerate(dscps))
    return QueueSetup(
        "control classes",
        len(dscps),
        default_queue=len(dscps) - 1,
        control_is_queue_0=False,
        queue_of_dscp=queue_of_dscp,
        has_control=False,
    )


def shared_queue_setup(table: PolicyMapTable) -> QueueSetup:
    """Strict priority on links that carry control beside data: BFD, a queue a mark of control, data last.

    Parameters
    ----------
    table
        With rules. The unmatched class has no mark, so its messages wait with data.

    Raises
    ------
    BadInputError
        More marks than a port has queues.
    """
    dscps = sorted({row.dscp for row in connections(table, OPENFLOW_PORT) if row.dscp}, reverse=True)
    return QueueSetup(
        "control before data",
        len(dscps) + 1,
        default_queue=len(dscps),
        control_is_queue_0=False,
        queue_of_dscp=tuple((dscp, queue_id) for queue_id, dscp in enumerate(dscps)),
        control_is_bfd=True,
    )


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
