"""One private Open vSwitch: an ovsdb-server and an ovs-vswitchd in a folder of their own, which end with this program.

Nothing of the machine's own Open vSwitch is used. With dummy devices it needs neither root nor the kernel.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from emulation.scratch import Scratch, scratch
from machine.json_rpc import listens
from machine.places import ENDS_WITH_ITS_PARENT, inside, run_program
from machine.unixctl import UnixCtl
from mininet_topos.errors import ArmorError, MissingRequirementError

DUMMY = ("--enable-dummy=override", "--disable-system", "--disable-system-route")
_SCHEMA = "vswitch.ovsschema"
_SHARE_DIRS = ("/usr/share/openvswitch", "/usr/local/share/openvswitch")
_START_TIMEOUT_S, _POLL_S = 20.0, 0.005
_ANSWER_TIMEOUT_S = 30.0  # of a tool that waits for a switch


@dataclass(frozen=True)
class PrivateSwitch:
    """A running one, made by `private_switch`.

    Attributes
    ----------
    folder
        Of its database, sockets and logs.
    pid
        Of its ovs-vswitchd.
    control
        To its ovs-vswitchd.
    """

    folder: Path
    pid: int
    control: UnixCtl

    def vsctl(self, *words: str) -> None:
        """Change the database, and wait until the switch has followed (raises as `run_program`)."""
        database = f"--db=unix:{self.folder / 'db.sock'}"
        timeout = f"--timeout={_ANSWER_TIMEOUT_S:.0f}"
        run_program([find_program("ovs-vsctl"), database, timeout, *words], timeout_s=2 * _ANSWER_TIMEOUT_S)

    def ofctl(self, command: str, bridge: str, *arguments: str, options: Sequence[str] = (), stdin: str = "") -> str:
        """What `ovs-ofctl` prints, in OpenFlow 1.3 (raises as `run_program`)."""
        # Without --no-names ovs-ofctl first fetches the names of all tables, which takes longer than the rest.
        always = [find_program("ovs-ofctl"), "-O", "OpenFlow13", "--no-names", *options]
        target = f"unix:{self.folder / f'{bridge}.mgmt'}"
        return run_program([*always, command, target, *arguments], stdin=stdin, timeout_s=_ANSWER_TIMEOUT_S)


@contextmanager
def private_switch(
    what: str, *, options: Sequence[str] = (), namespace_of: int | None = None
) -> Iterator[PrivateSwitch]:
    """Start one; stop it and remove its files at the end, whatever happens.

    Parameters
    ----------
    what
        What it is for, as `armor clean` shows it.
    options
        Of ovs-vswitchd, for example `DUMMY`.
    namespace_of
        A process in whose namespaces the daemons run.

    Raises
    ------
    MissingRequirementError
        A program or the schema of Open vSwitch is not installed.
    ArmorError
        A daemon did not start.
    """
    server, switch, tool = (find_program(name) for name in ("ovsdb-server", "ovs-vswitchd", "ovsdb-tool"))
    schema = _find_schema()
    with ExitStack() as stack:
        place = stack.enter_context(scratch(what))
        folder = place.folder
        database, remote, control = folder / "conf.db", folder / "db.sock", folder / "vs.ctl"
        run_program([tool, "create", str(database), schema])

        def start(program: str, *words: str, ready: Path) -> int:
            argv = [program, *words, f"--log-file={folder / 'daemons.log'}", "--no-chdir", "-vconsole:off"]
            argv.append("-vsyslog:off")
            return start_daemon(
                stack, place, argv if namespace_of is None else inside(namespace_of, argv), program, ready
            )

        start(server, str(database), f"--remote=punix:{remote}", f"--unixctl={folder / 'db.ctl'}", ready=remote)
        pid = start(switch, f"unix:{remote}", f"--unixctl={control}", *options, ready=control)
        yield PrivateSwitch(folder, pid, stack.enter_context(UnixCtl(control)))


def find_program(name: str) -> str:
    """Full path of an Open vSwitch program; the daemons may stand outside an ordinary user's PATH.

    Raises
    ------
    MissingRequirementError
        It is not installed.
    """
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin", "/usr/local/sbin"])
    found = shutil.which(name, path=path)
    if found is None:
        raise MissingRequirementError(f"{name} is not installed; install Open vSwitch (make setup does)")
    return found


def _find_schema() -> str:
    candidates = [Path(directory, _SCHEMA) for directory in _SHARE_DIRS]
    found = next((path for path in candidates if path.is_file()), None)
    if found is None:
        raise MissingRequirementError(f"{_SCHEMA} is in none of {', '.join(_SHARE_DIRS)}; install Open vSwitch")
    return str(found)


def start_daemon(stack: ExitStack, place: Scratch, argv: Sequence[str], program: str, ready: Path) -> int:
    """Start a daemon that is killed when the stack unwinds, and when this process ends; its id once it listens."""
    folders = dict.fromkeys(("OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR"), str(place.folder))
    complaints = place.folder / f"{Path(program).name}.out"
    with complaints.open("wb") as out:
        daemon = subprocess.Popen(
            [*ENDS_WITH_ITS_PARENT, *argv],
            env={**os.environ, **folders, **place.environment},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,  # Ctrl-C must reach this program only, which then ends the others
        )
    stack.callback(_kill, daemon)
    _await(daemon, lambda: listens(ready), complaints, Path(program).name)
    return daemon.pid


def _await(daemon: subprocess.Popen[bytes], ready: Callable[[], bool], complaints: Path, name: str) -> None:
    deadline = time.monotonic() + _START_TIMEOUT_S
    while not ready():
        if daemon.poll() is not None or time.monotonic() > deadline:
            reason = complaints.read_text(encoding="utf-8", errors="replace").strip()
            reason = reason or "it does not listen, and does not say why"
            raise ArmorError(f"{name} did not start: {reason.splitlines()[0]}")
        time.sleep(_POLL_S)


def _kill(daemon: subprocess.Popen[bytes]) -> None:
    daemon.kill()  # nothing of it is kept, and a stopped process hears only this signal
    daemon.wait()
