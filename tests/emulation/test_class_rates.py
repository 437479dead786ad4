"""Shares of a control port by a table's scheduler: laws of the computed classes, and what a full link carries."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulation.decide.class_rates import LEAST_RATE_KBIT, QUANTUM_BYTES, class_rates
from emulation.decide.control_classes import control_queue_setup, shared_queue_setup
from emulation.decide.options import EmulationOptions
from emulation.decide.queues import QueueTree
from emulation.decide.traffic import PortShape, control_tc_plan, parse_class_counters, port_tc_plan
from emulation.decide.wiring import CONTROLLER_IPV4
from emulation.network import EmulatedNetwork
from machine.places import inside, run_program
from mininet_topos.catalogue import load_topology
from mininet_topos.errors import BadInputError
from ryu_apps.pmt.parse import parse_pmt
from ryu_apps.pmt.rules import PolicyMapTable
from ryu_apps.pmt.scheduling import SchedulerKind
from tests.patience import wait_until

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "pmt"
WEIGHTED = "scheduler: weighted\nshares: {queue_id:0: 1, queue_id:1: 4, queue_id:2: 2, queue_id:3: 1, unmatched: 2}\n"
GUARANTEED = "scheduler: min-rate\nshares: {queue_id:2: 30, unmatched: 10}\n"
# Registered before the first run: how far a class's part of the bytes may be off its share, and of how many bytes.
MARGIN, MEASURED_BYTES = 0.03, 300_000
# So slow that a full queue (100 packets) outlasts a second in which a busy machine runs no sender; an empty one takes
# no share.
RATE_MBPS = 0.5

_SEND = """
import socket, sys, threading
def send(dscp):
    link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    link.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, dscp << 2)
    while True:
        try:
            link.sendto(bytes(1000), (sys.argv[1], 9))
        except OSError:
            pass
for dscp in sys.argv[2:]:
    threading.Thread(target=send, args=(int(dscp),)).start()
"""


def table_of(head: str, name: str = "out_of_band") -> PolicyMapTable:
    return parse_pmt(head + (EXAMPLES / f"{name}.yaml").read_text(encoding="utf-8"), name)


@given(st.lists(st.integers(1, 50), min_size=2, max_size=8), st.floats(500, 1e6))
def test_weights_divide_the_whole_link_and_what_one_leaves(weights: list[int], rate_kbit: float) -> None:
    found = class_rates(SchedulerKind.WEIGHTED, weights, rate_kbit)
    assert sum(each.rate_kbit for each in found) <= rate_kbit
    for weight, each in zip(weights, found, strict=True):
        assert abs(each.rate_kbit - rate_kbit * weight / sum(weights)) <= 1
        assert each.quantum_bytes == round(QUANTUM_BYTES * weight / min(weights))
    assert {each.priority for each in found} == {0}


@given(st.lists(st.integers(0, 12), min_size=2, max_size=8), st.floats(500, 1e6))
def test_guarantees_are_given_first_and_the_rest_goes_by_priority(percents: list[int], rate_kbit: float) -> None:
    found = class_rates(SchedulerKind.MIN_RATE, [each / 100 for each in percents], rate_kbit)
    assert sum(each.rate_kbit for each in found) <= rate_kbit
    for percent, each in zip(percents, found, strict=True):
        assert each.rate_kbit >= rate_kbit * percent / 100 - len(percents) * LEAST_RATE_KBIT
    assert all(first.priority < second.priority for first, second in pairwise(found))


def test_a_weight_that_tc_cannot_express_is_refused_with_the_repair() -> None:
    with pytest.raises(BadInputError, match=r"a weight of 0.1 in 1000.1 gives a class less than 1 kbit/s of 2000"):
        class_rates(SchedulerKind.WEIGHTED, [1000, 0.1], 2000)


@given(
    st.lists(st.integers(1, 9), min_size=2, max_size=5),
    st.sampled_from([SchedulerKind.WEIGHTED, SchedulerKind.MIN_RATE]),
)
def test_every_class_of_a_control_port_may_use_the_whole_link(shares: list[int], kind: SchedulerKind) -> None:
    names = [*(f"queue_id:{number}" for number in range(4)), "unmatched"]
    words = ", ".join(f"{name}: {share}" for name, share in zip(names, shares, strict=False))
    setup = control_queue_setup(table_of(f"scheduler: {kind.value}\nshares: {{{words}}}\n"))
    leaves = [line for line in control_tc_plan("c", 2.0, None, setup) if "prio" in line and line.startswith("class")]
    assert all("ceil 2000kbit" in line for line in leaves)
    own = [int(line.split("htb rate ")[1].split("kbit")[0]) for line in leaves]
    assert len(own) == 5
    assert own == [each.rate_kbit for each in class_rates(kind, setup.shares, 2000)]


def test_on_shared_links_bfd_goes_first_and_data_has_the_share_of_unmatched_messages() -> None:
    head = "scheduler: weighted\nshares: {dscp:CS7: 5, dscp:CS6: 3, dscp:CS5: 1, unmatched: 1}\n"
    setup = shared_queue_setup(table_of(head, "in_band"))
    assert setup.shares == (5, 3, 1, 1)
    shape = PortShape("p", 10.0, None, 100, QueueTree(setup, by_filter=True, queue_pkts=50))
    leaves = [line.split(" htb rate ")[1] for line in port_tc_plan(shape) if "parent 1:fffe" in line]
    assert [line.split("kbit")[0] for line in leaves] == ["1000", "4500", "2700", "900", "900"]
    assert [line.split("prio ")[1].split()[0] for line in leaves] == ["0", "1", "1", "1", "1"]


def test_shares_and_queues_are_as_many() -> None:
    setup = control_queue_setup(table_of(WEIGHTED))
    with pytest.raises(BadInputError, match="has 2 shares for 5 queues served weighted; give 5"):
        replace(setup, shares=(1.0, 2.0))


@pytest.mark.emulation
@pytest.mark.parametrize(
    ("head", "sending", "least", "most"),
    [
        (WEIGHTED, (56, 48, 40, 32, 0), (0.1, 0.4, 0.2, 0.1, 0.2), (0.1, 0.4, 0.2, 0.1, 0.2)),
        (WEIGHTED, (48, 40), (2 / 3, 1 / 3), (2 / 3, 1 / 3)),
        # A guarantee is a rate: on a machine that is too busy to keep the link full it is a larger part of less.
        (GUARANTEED, (56, 48, 40, 0), (0, 0, 0.3, 0.1), (0.6, 0, 1, 1)),
        (GUARANTEED, (40, 0), (0.3, 0.1), (0.9, 1)),
    ],
)
def test_a_full_control_link_is_shared_as_the_table_says(
    head: str, sending: Sequence[int], least: Sequence[float], most: Sequence[float]
) -> None:
    options = EmulationOptions(bfd_interval_ms=100, control_rate_mbps=RATE_MBPS, pmt=table_of(head))
    with EmulatedNetwork(load_topology("pair"), options) as net:
        node = net.topology.node_names[0]
        site, pid = net.sites[node], net.pids[net.wiring.place_of[node]]
        queue_of = dict(control_queue_setup(table_of(head)).queue_of_dscp)
        classes = [f"1:{queue_of[dscp] + 1:x}" for dscp in sending]

        def carried() -> dict[str, int]:
            shown = run_program(inside(pid, ["tc", "-s", "class", "show", "dev", site.control_interface]))
            return {name: each.sent_bytes for name, each in parse_class_counters(shown).items() if name in classes}

        with _senders(pid, sending):
            wait_until(lambda: sum(carried().values()) > MEASURED_BYTES // 4, "queues are full", 60)
            before = carried()
            wait_until(lambda: _total(before, carried()) > MEASURED_BYTES, "the link has carried enough", 60)
            after = carried()
        total = _total(before, after)
        for name, low, high in zip(classes, least, most, strict=True):
            assert low - MARGIN <= (after[name] - before[name]) / total <= high + MARGIN, name


def _total(before: Mapping[str, int], after: Mapping[str, int]) -> int:
    return sum(after.values()) - sum(before.values())


@contextmanager
def _senders(pid: int, dscps: Sequence[int]) -> Iterator[None]:
    """Programs that keep one queue each full: their sockets block while it is."""
    process = subprocess.Popen(inside(pid, ["python3", "-c", _SEND, CONTROLLER_IPV4, *map(str, dscps)]))
    try:
        yield
    finally:
        process.kill()
        process.wait()
