"""What this machine's kernel does with priority queues, tried on one veth pair in a namespace of its own."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import lru_cache

from emulation.decide.queue_trial import QueueVerdict, TrialPort, make_frame
from emulation.decide.queues import (
    LOW_QUEUE,
    VLAN_NEW,
    VLAN_OLD,
    QueueFacts,
    QueueSetup,
    QueueTree,
    class_of,
    queue_setup,
)
from emulation.decide.traffic import (
    PRIORITY_QUEUE_PKTS,
    PortShape,
    parse_class_counters,
    port_tc_plan,
)
from emulation.queue_trial import TrialWire, open_receiver, open_sender, run_trial
from emulation.send_buffers import can_widen_send_buffers
from machine.places import CommandError, inside, private_namespace, run_batch, run_program
from ryu_apps.plan.kuijia.priorities import EIGHT

_NEAR, _FAR = "near0", "far0"
_PAIR = (f"link add {_NEAR} type veth peer name {_FAR}", f"link set {_NEAR} up", f"link set {_FAR} up")
_PORT = TrialPort("testbed", 0, capacity_mbps=10.0)
_FRAMES, _LEAVE_S, _POLL_S = 5, 5.0, 0.01


def try_queue_testbed(tree: QueueTree | None = None, lines: Sequence[str] | None = None) -> QueueVerdict:
    """Try queues on a link of 10 Mbit/s.

    Parameters
    ----------
    tree
        Default: eight queues of the length that networks use, found by filters.
    lines
        Lines for `tc -batch` to build instead of the tree's own.

    Raises
    ------
    CommandError
        No namespace, or the kernel refuses the tree.
    """
    chosen = tree or QueueTree(queue_setup(EIGHT), by_filter=True, queue_pkts=PRIORITY_QUEUE_PKTS)
    with private_namespace() as pid:
        _build(pid, list(lines) if lines is not None else _tree_lines(chosen))
        with open_sender(pid, _NEAR) as sender, open_receiver(pid, _FAR) as receiver:
            return run_trial([TrialWire(_PORT, sender, receiver)], chosen.setup, chosen.queue_pkts)


def _build(pid: int, lines: list[str]) -> None:
    run_batch(pid, ["ip", "-batch", "-"], _PAIR)
    run_batch(pid, ["tc", "-batch", "-"], lines)


def _tree_lines(tree: QueueTree) -> list[str]:
    return port_tc_plan(PortShape(_NEAR, _PORT.capacity_mbps, None, tree.queue_pkts, tree))


@lru_cache(maxsize=1)
def find_vlan_offset() -> int:
    """Where u32 finds the tag of an 802.1Q frame from a packet socket: kernels differ, so it is tried.

    Raises
    ------
    CommandError
        At neither place.
    """
    for offset in (VLAN_NEW, VLAN_OLD):
        tree = QueueTree(LOW_QUEUE, by_filter=True, queue_pkts=PRIORITY_QUEUE_PKTS, vlan_at=offset)
        if _sorts_tags(tree):
            return offset
    raise CommandError("u32 finds the 802.1Q tag of frames at neither offset; queues by PCP need the kernel datapath")


def _sorts_tags(tree: QueueTree) -> bool:
    """Whether frames of both queues, one of them for tagged frames, land where they belong."""
    with private_namespace() as pid:
        _build(pid, _tree_lines(tree))
        with open_sender(pid, _NEAR) as sender:
            for queue_id in tree.setup.traffic_queues:
                frame, _ = make_frame(_PORT, queue_id, tree.setup)
                for _ in range(_FRAMES):
                    sender.send(frame)
        sent = _sent_pkts(pid, tree.setup)
        deadline = time.monotonic() + _LEAVE_S
        while sum(sent) < _FRAMES * len(sent) and time.monotonic() < deadline:
            time.sleep(_POLL_S)
            sent = _sent_pkts(pid, tree.setup)
    return all(pkts == _FRAMES for pkts in sent)


def _sent_pkts(pid: int, setup: QueueSetup) -> list[int]:
    """Packets that have left each queue of traffic."""
    counters = parse_class_counters(run_program(inside(pid, ["tc", "-s", "class", "show", "dev", _NEAR])))
    return [counters[class_of(queue_id)].sent_pkts for queue_id in setup.traffic_queues]


def machine_queue_facts(setup: QueueSetup, kernel_datapath: bool) -> QueueFacts:
    """What this machine can do for these queues; nothing is tried that they do not need.

    Raises
    ------
    CommandError
        It cannot tell tagged packets apart.
    """
    if kernel_datapath:
        return QueueFacts()
    return QueueFacts(can_widen_send_buffers(), find_vlan_offset() if setup.queue_of_pcp else VLAN_NEW)
