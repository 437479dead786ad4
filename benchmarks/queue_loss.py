"""What a packet of the first queue loses while links are full of the last queue's, by tree and send buffer.

A private switch (userspace datapath) with four links of 10 Mbit/s, root only. `one` fills one link and sends first
packets into it; `others` fills three links and sends first packets into the fourth, which nothing else uses.
Run it as: python -m benchmarks.queue_loss [SECONDS]
"""

from __future__ import annotations

import argparse
import socket
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack

from emulation.decide.queue_trial import TrialPort, destination, make_frame, read_stamp, stamp
from emulation.decide.queues import QueueTree, queue_setup
from emulation.decide.traffic import PRIORITY_QUEUE_PKTS, PortShape, port_tc_plan
from emulation.queue_trial import open_receiver, open_sender
from emulation.send_buffers import widen_send_buffer
from experiments.testbed.packet_cost.switch import CostSwitch, cost_switch, far_end, near_end
from machine.places import run_batch
from ryu_apps.plan.kuijia.priorities import SINGLE
from ryu_apps.plan.rows import FlowRow, Output, RulePlan, SetQueue, match

SOURCE, LINKS = 1, (2, 3, 4, 5)
MBPS, HIGH, LOW = 10.0, 1, 2
HIGH_OF_LINK, LOW_OF_LINK = 0.6, 1.5
SETUP = queue_setup(SINGLE)
WIDE_BYTES = 4_000_000
# name -> (what a full queue drops, its length, whether the send buffer is widened)
TREES = {
    "newest dropped, 500 long": ("pfifo", 500, False),
    "newest dropped, 50 long": ("pfifo", PRIORITY_QUEUE_PKTS, False),
    "newest dropped, 50 long, wide buffer": ("pfifo", PRIORITY_QUEUE_PKTS, True),
    "oldest dropped, 50 long": ("pfifo_head_drop", PRIORITY_QUEUE_PKTS, False),
    "oldest dropped, 50 long, wide buffer": ("pfifo_head_drop", PRIORITY_QUEUE_PKTS, True),
}
# name -> port, queue and share of the link; what is due at one moment leaves in this order, last queue first: the worst
LOADS: Mapping[str, tuple[tuple[int, int, float], ...]] = {
    "one": ((2, LOW, LOW_OF_LINK), (2, HIGH, HIGH_OF_LINK)),
    "others": (*((port, LOW, LOW_OF_LINK) for port in LINKS[1:]), (2, HIGH, HIGH_OF_LINK)),
}


def main(seconds: float) -> None:
    """Measure every tree under both loads and print a row each."""
    print("tree | load | first sent | lost | % | last queue reached, Mbit/s a full link")
    for name, (leaf, length, wide) in TREES.items():
        with cost_switch((SOURCE, *LINKS)) as switch:
            _set_up(switch, leaf, length, wide=wide)
            for load, streams in LOADS.items():
                _run(switch, streams, 0.3)  # the first packet of each flow goes another way
                sent, received = _run(switch, streams, seconds)
                lost = sent[HIGH] - received[HIGH]
                full = sum(queue == LOW for _, queue, _ in streams)
                low_mbps = received[LOW] * TrialPort("", 0, MBPS).frame_bytes * 8 / seconds / full / 1e6
                print(f"{name} | {load} | {sent[HIGH]} | {lost} | {100 * lost / sent[HIGH]:.1f} | {low_mbps:.2f}")


def _set_up(switch: CostSwitch, leaf: str, length: int, *, wide: bool) -> None:
    tree = QueueTree(SETUP, by_filter=True, queue_pkts=length)
    lines = [line for port in LINKS for line in port_tc_plan(PortShape(near_end(port), MBPS, None, length, tree))]
    run_batch(switch.holder, ["tc", "-batch", "-"], [line.replace("pfifo_head_drop", leaf) for line in lines])
    rows = tuple(
        FlowRow(
            0,
            100,
            match(in_port=SOURCE, eth_dst=int.from_bytes(destination(port, queue), "big")),
            (SetQueue(queue), Output(port)),
        )
        for port in LINKS
        for queue in (HIGH, LOW)
    )
    switch.install(RulePlan(1, "s1", flows=rows))
    _run(switch, LOADS["others"], 0.1)
    if wide:
        widen_send_buffer(switch.pid, WIDE_BYTES)


def _run(
    switch: CostSwitch, streams: tuple[tuple[int, int, float], ...], seconds: float
) -> tuple[Counter[int], Counter[int]]:
    """Frames sent and received by queue."""
    sent: Counter[int] = Counter()
    with ExitStack() as stack:
        sender = stack.enter_context(open_sender(switch.holder, far_end(SOURCE)))
        receivers = [stack.enter_context(open_receiver(switch.holder, far_end(port))) for port in LINKS]
        due = [(*make_frame(TrialPort("", port, MBPS), queue, SETUP), queue, share) for port, queue, share in streams]
        counts = [0] * len(due)
        began_s = time.monotonic()
        while (elapsed_s := time.monotonic() - began_s) < seconds:
            for number, (frame, start, queue, share) in enumerate(due):
                while counts[number] < elapsed_s * share * TrialPort("", 0, MBPS).link_pps:
                    stamp(frame, start, 0, queue, 0)
                    sender.send(frame)
                    counts[number] += 1
                    sent[queue] += 1
            time.sleep(0.001)
        time.sleep(1.0)
        return sent, sum((_received(receiver) for receiver in receivers), Counter())


def _received(receiver: socket.socket) -> Counter[int]:
    counts: Counter[int] = Counter()
    while True:
        try:
            found = read_stamp(receiver.recv(64))
        except BlockingIOError:
            return counts
        if found is not None:
            counts[found[1]] += 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seconds", type=float, nargs="?", default=3.0, metavar="SECONDS")
    main(parser.parse_args().seconds)
