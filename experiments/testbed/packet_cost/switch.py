"""One private Open vSwitch in a network namespace of its own, whose forwarding thread can be stopped and timed.

Everything ends with this process, however it ends: the daemons and the holder of the namespace get SIGKILL from the
kernel when the thread that started them is gone, the veth pairs go with the namespace, and the folder with the guard.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from emulation.private_switch import PrivateSwitch, private_switch
from experiments.testbed.packet_cost.decide.counters import read_counters
from machine.places import private_namespace, run_batch
from mininet_topos.errors import ArmorError, MissingRequirementError
from ryu_apps.plan.row_text import flow_text, group_text
from ryu_apps.plan.rows import RulePlan

BRIDGE = "armor-cost"
_TIMEOUT_S, _POLL_S = 10.0, 0.005
# (probability of entering the exact-match cache as 1/n, most flows of the datapath): what decides who finds a packet.
_CACHE_SETTINGS = {"exact": (1, 200_000), "megaflow": (0, 200_000), "none": (0, 0)}


class CostSwitch:
    """A running private switch; made by `cost_switch`."""

    def __init__(self, switch: PrivateSwitch, holder: int) -> None:
        self.holder, self.pid, self._switch, self._control = holder, switch.pid, switch, switch.control

    def install(self, plan: RulePlan) -> None:
        """Replace all rows and groups by those of a plan."""
        self._ofctl("del-flows")
        self._ofctl("del-groups")
        if plan.groups:
            self._ofctl("add-groups", "-", text="".join(f"{group_text(row)}\n" for row in plan.groups))
        self._ofctl("--bundle", "add-flows", "-", text="".join(f"{flow_text(row)}\n" for row in plan.flows))

    def add_rows(self, lines: Sequence[str], bridge: str) -> None:
        """Add rows, each as `ovs-ofctl` writes it, to those that a bridge has."""
        self._ofctl("add-flows", "-", text="".join(f"{line}\n" for line in lines), bridge=bridge)

    def vsctl(self, *words: str) -> None:
        """Change the switch's database, and wait until the switch has followed."""
        self._switch.vsctl(*words)

    def set_controllers(self, targets: Sequence[tuple[str, int]], bridge: str = BRIDGE) -> None:
        """Connect to controllers: each a target, as tcp:10.0.0.1:6653, and the DSCP of its connection."""
        words = []
        for number, (target, dscp) in enumerate(targets):
            words += ["--", f"--id=@c{number}", "create", "Controller", f'target="{target}"']
            words += ["connection_mode=out-of-band", f"other_config:dscp={dscp}", "max_backoff=1000"]
        names = ",".join(f"@c{number}" for number in range(len(targets)))
        self.vsctl(*words, "--", "set", "Bridge", bridge, f"controller=[{names}]")

    def packet_ins(self, bridge: str = BRIDGE) -> int:
        """Packets that the bridge has sent to controllers so far: those that met a row which says so."""
        self.forget_flows()  # a row counts a cached flow's packets when it ends, and until then only now and then
        lines = self._ofctl("dump-flows", bridge=bridge).splitlines()
        return sum(int(line.split("n_packets=")[1].split(",")[0]) for line in lines if "controller" in line.lower())

    def set_lookup(self, lookup: str) -> None:
        """Let packets be found in one way only (`decide.counters.LOOKUPS`); return when it is so."""
        probability, limit = _CACHE_SETTINGS[lookup]
        settings = (f"other_config:emc-insert-inv-prob={probability}", f"other_config:flow-limit={limit}")
        self.vsctl("set", "Open_vSwitch", ".", *settings)
        # The limit reaches the forwarding code with the next round of the revalidators.
        self._wait(lambda: (self._limit() == 0) == (limit == 0), "does not take a new limit of flows")

    def _limit(self) -> int:
        self._control.run("revalidator/wait")
        shown = self._control.run("upcall/show")
        return int(shown.split("(limit ")[1].split(")")[0])

    def forget_flows(self) -> None:
        """Take all flows out of the datapath."""
        self._control.run("revalidator/purge")

    def set_link(self, port_no: int, *, live: bool) -> None:
        """Raise or fail the link behind a port (carrier); return when the switch knows."""
        state = "up" if live else "down"
        run_batch(self.holder, ["ip", "-batch", "-"], [f"link set {far_end(port_no)} {state}"])
        wanted = "LIVE" if live else "LINK_DOWN"
        self._wait(lambda: wanted in self._port_state(port_no), f"does not notice that port {port_no} is {state}")

    def _port_state(self, port_no: int) -> str:
        lines = self._ofctl("dump-ports-desc", str(port_no)).splitlines()
        return " ".join(line for line in lines if "state:" in line)

    def counters(self) -> dict[str, int]:
        """Packets received so far, and how they were found."""
        return read_counters(self._control.run("dpif-netdev/pmd-stats-show"))

    def cpu_ns(self) -> int:
        """Time that the thread which forwards packets (the main one) has spent on a CPU."""
        text = Path(f"/proc/{self.pid}/task/{self.pid}/schedstat").read_text(encoding="ascii")
        return int(text.split()[0])

    def stop(self) -> None:
        """Stop the switch where it is; packets wait in its ports' buffers. Return when it has stopped.

        Raises
        ------
        ArmorError
            It has ended.
        """
        os.kill(self.pid, signal.SIGSTOP)
        found = os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WEXITED)
        if found is None or found.si_code != os.CLD_STOPPED:
            raise ArmorError("the private ovs-vswitchd ended during the measurement; read the machine's kernel log")

    def resume(self) -> None:
        """Let the switch run again."""
        os.kill(self.pid, signal.SIGCONT)

    def _ofctl(self, *arguments: str, text: str = "", bridge: str = BRIDGE) -> str:
        options = [each for each in arguments if each.startswith("--")]
        command, *rest = (each for each in arguments if not each.startswith("--"))
        return self._switch.ofctl(command, bridge, *rest, options=options, stdin=text)

    @staticmethod
    def _wait(done: Callable[[], bool], complaint: str) -> None:
        deadline = time.monotonic() + _TIMEOUT_S
        while not done():
            if time.monotonic() > deadline:
                raise ArmorError(f"the private switch {complaint} within {_TIMEOUT_S:g} s")
            time.sleep(_POLL_S)


def near_end(port_no: int) -> str:
    """The switch's side of a port's veth pair."""
    return f"near{port_no}"


def far_end(port_no: int) -> str:
    """Our side of a port's veth pair."""
    return f"far{port_no}"


@contextmanager
def cost_switch(port_nos: Sequence[int]) -> Iterator[CostSwitch]:
    """Start a switch with these ports, all live; undo everything at the end.

    Raises
    ------
    MissingRequirementError
        Not root, or a program is missing.
    ArmorError
        A daemon did not start.
    """
    if os.geteuid() != 0:
        raise MissingRequirementError("packet costs need root (veth pairs, packet sockets); run with sudo")
    with private_namespace() as holder:
        run_batch(holder, ["ip", "-batch", "-"], _ip_lines(port_nos))
        with private_switch("packet costs", namespace_of=holder) as switch:
            switch.vsctl(*_setup_words(port_nos))
            made = CostSwitch(switch, holder)
            for port_no in port_nos:
                made.set_link(port_no, live=True)
            yield made


def _ip_lines(port_nos: Sequence[int]) -> list[str]:
    lines = []
    for port_no in port_nos:
        near, far = near_end(port_no), far_end(port_no)
        lines += [f"link add {near} type veth peer name {far}", f"link set {near} up", f"link set {far} up"]
    return lines


def _setup_words(port_nos: Sequence[int]) -> list[str]:
    words = ["set", "Open_vSwitch", "."]
    words += ["other_config:n-handler-threads=1", "other_config:n-revalidator-threads=1"]
    words += ["--", "add-br", BRIDGE, "--", "set", "Bridge", BRIDGE, "datapath_type=netdev", "fail_mode=secure"]
    words += ["protocols=OpenFlow13", "other_config:disable-in-band=true"]
    for port_no in port_nos:
        words += ["--", "add-port", BRIDGE, near_end(port_no)]
        words += ["--", "set", "Interface", near_end(port_no), f"ofport_request={port_no}"]
    return words
