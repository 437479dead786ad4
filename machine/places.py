"""Do something inside the network namespace of a process: run a program there, or call a function there."""

from __future__ import annotations

import ctypes
import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from mininet_topos.errors import ArmorError, BadInputError

_CLONE_NEWNET = 0x40000000
ENDS_WITH_ITS_PARENT = ("setpriv", "--pdeathsig", "KILL")
_NAMESPACE_TIMEOUT_S = 30.0  # a limit for what cannot be, not a claim about speed
_LIBC = ctypes.CDLL(None, use_errno=True)

Result = TypeVar("Result")


class CommandError(ArmorError):
    """A program that the emulation needs failed; the message holds its own words."""


def run_program(
    argv: Sequence[str],
    *,
    stdin: str = "",
    environment: Mapping[str, str] | None = None,
    timeout_s: float = 30.0,
) -> str:
    """Run a program to its end and return what it printed.

    Parameters
    ----------
    stdin
        Text fed to it.
    environment
        Variables added to this process's.

    Raises
    ------
    CommandError
        It failed or did not end in time.
    """
    try:
        done = subprocess.run(
            list(argv),
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout_s,
            env={**os.environ, **(environment or {})},
            start_new_session=True,  # Ctrl-C must not make it fail before this program hears of it
        )
    except subprocess.TimeoutExpired as error:
        raise CommandError(f"{' '.join(argv[:6])} did not end within {timeout_s:g} s") from error
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise CommandError(f"{' '.join(argv[:6])} failed: {said[0] if said else f'exit code {done.returncode}'}")
    return done.stdout


@contextmanager
def child(argv: Sequence[str], stderr: int | None = None) -> Iterator[subprocess.Popen[str]]:
    """A process that ends with the block, and with this program; its errors go where this program's go, or `stderr`."""
    # In a session of its own: Ctrl-C on the terminal must reach this program only, which then ends the others in order.
    with subprocess.Popen(
        [*ENDS_WITH_ITS_PARENT, *argv], stdout=subprocess.PIPE, stderr=stderr, text=True, start_new_session=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def private_namespace() -> Iterator[int]:
    """Give a network namespace of its own, without IPv6, as the id of a process in it; it ends with the block.

    Raises
    ------
    CommandError
        It is not there within 30 seconds.
    """
    ours = namespace_inode(os.getpid())
    with child(("unshare", "--net", "sleep", "infinity")) as shell:
        deadline = time.monotonic() + _NAMESPACE_TIMEOUT_S
        while namespace_inode(shell.pid) in (ours, None):  # None: it has ended
            if shell.poll() is not None or time.monotonic() > deadline:
                raise CommandError("unshare makes no network namespace; namespaces need root")
            time.sleep(0.002)
        disable_ipv6(shell.pid)
        yield shell.pid


def namespace_inode(pid: int) -> int | None:
    """Identity of the network namespace of a process; None when the process is gone."""
    try:
        return os.stat(f"/proc/{pid}/ns/net").st_ino
    except (FileNotFoundError, ProcessLookupError):
        return None


def inside(pid: int, argv: Sequence[str]) -> list[str]:
    """Command line that runs `argv` in the namespaces of a process; the new process is the program itself."""
    return ["mnexec", "-a", str(pid), *argv]


def run_batch(pid: int | None, program: Sequence[str], lines: Sequence[str], timeout_s: float = 60.0) -> None:
    """Feed lines to a program that reads commands (`ip -batch -`, `tc -batch -`, `nft -f -`), in a namespace.

    Raises
    ------
    CommandError
        A line was refused.
    """
    if lines:
        argv = inside(pid, program) if pid is not None else list(program)
        run_program(argv, stdin="\n".join(lines) + "\n", timeout_s=timeout_s)


def call_inside(pid: int, function: Callable[[], Result]) -> Result:
    """Call a function in the network namespace of a process; sockets that it opens stay in that namespace.

    The call happens in a thread of its own, so no other thread ever stands in a foreign namespace.

    Raises
    ------
    CommandError
        The namespace cannot be entered (the process is gone, or not root).
    """
    result: list[Result] = []
    failure: list[BaseException] = []

    def body() -> None:
        try:
            _enter(pid)
            result.append(function())
        except BaseException as error:  # noqa: BLE001 - carried over to the calling thread
            failure.append(error)

    thread = threading.Thread(target=body, name=f"inside-{pid}")
    thread.start()
    thread.join()
    if failure:
        raise failure[0]
    return result[0]


def _enter(pid: int) -> None:
    if namespace_inode(pid) == os.stat("/proc/thread-self/ns/net").st_ino:
        return  # entering takes CAP_SYS_ADMIN, also where one stands already
    try:
        descriptor = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise CommandError(f"the namespace of process {pid} is gone ({error.strerror})") from error
    try:
        if _LIBC.setns(descriptor, _CLONE_NEWNET) != 0:
            reason = os.strerror(ctypes.get_errno())
            raise CommandError(f"cannot enter the namespace of process {pid}: {reason}")
    finally:
        os.close(descriptor)


def disable_ipv6(pid: int) -> None:
    """Switch IPv6 off for all present and future interfaces of a namespace (its own traffic would be noise)."""
    for scope in ("all", "default"):
        write_setting(pid, f"ipv6/conf/{scope}/disable_ipv6", "1")


def write_setting(pid: int, name: str, value: str) -> None:
    """Write a network setting (/proc/sys/net/NAME) of a namespace; one that the kernel does not have is left out."""

    def write() -> None:
        # The sysctl tree shows the namespace of the thread that opens it.
        knob = Path("/proc/sys/net") / name
        if knob.exists():
            knob.write_text(value, encoding="ascii")

    call_inside(pid, write)


def usable_processor(number: int) -> int:
    """One of the processors that this process may use; the numbers from 0 on name them in turns."""
    usable = sorted(os.sched_getaffinity(0))
    return usable[number % len(usable)]


def pin_receive(pid: int, processor_of: Mapping[str, int]) -> None:
    """Let one processor receive all packets of an interface, so that they keep their order.

    A veth hands a packet to the processor that sent it. Two processors send where the kernel forwards, and where a
    queue's timer sends what its sender could not; a packet that waits on one is then passed by the next on the other.

    Parameters
    ----------
    pid
        A process in the namespace.
    processor_of : mapping of interface to processor

    Raises
    ------
    BadInputError
        This process may not use a processor.
    CommandError
        There is no such interface, or the kernel mounts no tree of /sys.
    """
    usable = os.sched_getaffinity(0)
    for processor in processor_of.values():
        if processor not in usable:
            raise BadInputError(f"processor {processor} is not one of this process's: {sorted(usable)}")
    if os.cpu_count() == 1:
        return  # a kernel for one processor has no such setting
    # The tree of /sys shows the namespace that it was mounted in, so it is mounted anew for that of the thread.
    commands = ["mount -t sysfs none /sys"]
    for interface, processor in processor_of.items():
        mask = f"{1 << processor % 32:x}" + ",00000000" * (processor // 32)
        commands.append(f"echo {mask} >/sys/class/net/{interface}/queues/rx-0/rps_cpus")
    call_inside(pid, lambda: run_program(["unshare", "--mount", "sh", "-ec", "\n".join(commands)]))
