"""A private Open vSwitch in dummy mode: no root, no kernel, own folder, ended by process id.

Bridges hold dummy ports; two dummy ports may be joined by a wire (a Unix socket), so that real frames cross.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from tests.daemons import Daemon, environment
from tests.patience import patient_s

_PATH = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin", "/usr/share/openvswitch/scripts"])
_SCHEMA = Path("/usr/share/openvswitch/vswitch.ovsschema")
# As ovs-ctl starts it: `ovs-vsctl set-manager` says where else it listens, `set-ssl` with what.
_REMOTES = ("--remote=punix:db.sock", "--remote=db:Open_vSwitch,Open_vSwitch,manager_options")
_TLS = tuple(
    f"--{option}=db:Open_vSwitch,SSL,{column}"
    for option, column in (("private-key", "private_key"), ("certificate", "certificate"), ("ca-cert", "ca_cert"))
)


class DummyOvs:
    """One ovsdb-server and one ovs-vswitchd with dummy datapaths."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="armor-ovs-", dir="/tmp"))
        self._environment = {**environment(self.folder), "PATH": _PATH}
        self._daemons: dict[str, Daemon] = {}

    def __enter__(self) -> DummyOvs:
        try:
            self.run("ovsdb-tool", "create", "conf.db", str(_SCHEMA))
            self._start("ovsdb-server", *_REMOTES, *_TLS, "conf.db", ready=self.folder / "db.sock")
            self.run("ovs-vsctl", "--no-wait", "init")
            self.start_vswitchd()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_exception: object) -> None:
        for daemon in self._daemons.values():
            daemon.end()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def database(self) -> str:
        """Where ovsdb-server listens."""
        return f"unix:{self.folder}/db.sock"

    def management(self, bridge: str) -> str:
        """OpenFlow management socket of a bridge."""
        return f"unix:{self.folder}/{bridge}.mgmt"

    def start_vswitchd(self) -> None:
        """Start ovs-vswitchd (again, after `kill_vswitchd`); return when the bridges and ports are there."""
        control = self.folder / "vswitchd.ctl"
        arguments = ("--enable-dummy=override", "--disable-system", f"--unixctl={control}", self.database)
        self._start("ovs-vswitchd", *arguments, ready=control)
        self.vsctl("init")  # like every command of ovs-vsctl without --no-wait, returns when all has been configured

    def kill_vswitchd(self) -> None:
        """End ovs-vswitchd as kill -9 does: flows are gone."""
        self._daemons.pop("ovs-vswitchd").end()

    def signal_vswitchd(self, number: int) -> None:
        """Send ovs-vswitchd a signal, such as SIGSTOP."""
        self._daemons["ovs-vswitchd"].send_signal(number)

    def run(self, *arguments: str, text: str | None = None) -> str:
        """Output of an Open vSwitch tool."""
        done = subprocess.run(
            arguments,
            cwd=self.folder,
            env=self._environment,
            input=text,
            capture_output=True,
            text=True,
            timeout=patient_s(60),
            check=False,
        )
        assert done.returncode == 0, f"{' '.join(arguments)}: {done.stderr}"
        return done.stdout

    def vsctl(self, *arguments: str) -> str:
        """Output of ovs-vsctl."""
        return self.run("ovs-vsctl", f"--db={self.database}", *arguments)

    def ofctl(self, command: str, bridge: str, *arguments: str, options: tuple[str, ...] = ()) -> str:
        """Output of ovs-ofctl, in OpenFlow 1.3."""
        return self.run("ovs-ofctl", "-OOpenFlow13", *options, command, self.management(bridge), *arguments)

    def appctl(self, *arguments: str) -> str:
        """Output of ovs-appctl of ovs-vswitchd."""
        return self.run("ovs-appctl", "-t", f"{self.folder}/vswitchd.ctl", *arguments)

    def add_bridge(self, bridge: str, dpid: int, ports: Iterable[int], controller: str | None = None) -> None:
        """Add a bridge with dummy ports `<bridge>-p<number>` of fixed numbers."""
        self.add_bridges({bridge: (dpid, ports)})
        if controller is not None:
            self.set_controller(controller, bridge)

    def add_bridges(self, bridges: Mapping[str, tuple[int, Iterable[int]]]) -> None:
        """Add bridges at once, each with a datapath id and dummy ports `<bridge>-p<number>` of fixed numbers."""
        arguments: list[str] = []
        for bridge, (dpid, ports) in bridges.items():
            arguments += ["--", "add-br", bridge, "--", "set", "bridge", bridge, "datapath_type=dummy"]
            arguments += ["fail_mode=secure", "protocols=OpenFlow10,OpenFlow13"]
            arguments += [f"other_config:datapath-id={dpid:016x}"]
            for port_no in ports:
                name = f"{bridge}-p{port_no}"
                arguments += ["--", "add-port", bridge, name, "--", "set", "interface", name]
                arguments += ["type=dummy", f"ofport_request={port_no}"]
        self.vsctl(*arguments)

    def set_controller(self, target: str, *bridges: str) -> None:
        """Point bridges to a controller, with quick reconnects."""
        arguments: list[str] = []
        for bridge in bridges:
            arguments += ["--", "set-controller", bridge, target]
            arguments += ["--", "set", "controller", bridge, "max_backoff=1000"]
        self.vsctl(*arguments)

    def disconnect(self, bridges: Iterable[str]) -> None:
        """Take the controllers from bridges. Open vSwitch empties a bridge that gets its first one."""
        self.vsctl(*(word for bridge in bridges for word in ("--", "del-controller", bridge)))

    def wire(self, *pairs: tuple[str, str]) -> None:
        """Join dummy ports two by two: what one sends the other receives; older wires of theirs are gone."""
        cleared: list[str] = []
        listening: list[str] = []
        connecting: list[str] = []
        for one, other in pairs:
            socket = f"{self.folder}/{one}-{other}.wire"
            cleared += ["--", "clear", "interface", one, "options", "--", "clear", "interface", other, "options"]
            listening += ["--", "set", "interface", one, f"options:pstream=punix:{socket}"]
            connecting += ["--", "set", "interface", other, f"options:stream=unix:{socket}"]
        for arguments in (cleared, listening, connecting):  # one after another: who connects finds who listens
            self.vsctl(*arguments)

    def record(self, port: str) -> Path:
        """Record what a dummy port sends from now on, as a pcap file."""
        path = self.folder / f"{port}.pcap"
        self.vsctl("set", "interface", port, f"options:tx_pcap={path}")
        return path

    def set_port(self, port: str, up: bool) -> None:
        """Take carrier from a dummy port, or give it back."""
        self.appctl("netdev-dummy/set-admin-state", port, "up" if up else "down")

    def revalidate(self) -> None:
        """Return when no flow is cached that came of earlier entries or ports.

        Until then packets may take one, and are counted for the entries of today.
        """
        self.appctl("revalidator/wait")

    def receive(self, port: str, *frames: bytes) -> None:
        """Let frames arrive at a dummy port."""
        self.appctl("netdev-dummy/receive", port, *(frame.hex() for frame in frames))

    def _start(self, program: str, *options: str, ready: Path) -> None:
        self._daemons[program] = Daemon(self.folder, program, options, ready)


def pcap_frames(path: Path) -> list[bytes]:
    """Frames of a pcap file that may still be written to (global header 24 bytes, record header 16)."""
    data, frames, at = path.read_bytes(), [], 24
    order = "little" if data[:4] == bytes.fromhex("d4c3b2a1") else "big"
    while at + 16 <= len(data):
        length = int.from_bytes(data[at + 8 : at + 12], order)
        frames.append(data[at + 16 : at + 16 + length])
        at += 16 + length
    return frames
