"""Load packet programs into the kernel, read and write their maps, attach them to interfaces: libbpf, through ctypes.

Nothing is pinned: a program and its maps live as long as something holds them, an open descriptor of this process or
the interface that the program is attached to. Needs root. Sources of the calls: libbpf's own header files, version 1.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from dataplane.libbpf import (
    NAME_BYTES,
    POINTER,
    Hook,
    Library,
    ProgramInfo,
    TcOptions,
    TestOptions,
    library,
    reason,
)
from mininet_topos.errors import ArmorError, MissingRequirementError

_TC_INGRESS = 1
_REPLACE = 1
_HANDLE = _PRIORITY = 1
_LOCK = 4  # BPF_F_LOCK: the value is written under its spin lock
_LONGEST_RESULT = 1 << 16


class PacketProgramError(ArmorError):
    """The kernel refuses a program, a map or an attachment; the message holds its own words."""


def find_program_object(name: str) -> Path:
    """Return the compiled program `name`.bpf.o, which `make setup` puts beside the environment's libraries.

    Raises
    ------
    MissingRequirementError
        It was not built.
    """
    path = Path(sys.prefix) / "lib" / "armor" / f"{name}.bpf.o"
    if not path.exists():
        raise MissingRequirementError(
            f"the packet program {name} was not built ({path} is missing); "
            "install its compiler and build it with: apt-get install clang libbpf-dev && make setup"
        )
    return path


class BpfMap:
    """A map of a loaded object; keys and values are bytes as in memory."""

    def __init__(self, library: Library, handle: int, name: str) -> None:
        functions = library.functions
        self._functions, self.name = functions, name
        self.fd: int = functions.bpf_map__fd(handle)
        self.key_bytes: int = functions.bpf_map__key_size(handle)
        self.value_bytes: int = functions.bpf_map__value_size(handle)
        self.entries: int = functions.bpf_map__max_entries(handle)

    def get(self, key: bytes, *, locked: bool = False) -> bytes | None:
        """Value of a key; None if there is none. `locked` reads it under its spin lock.

        Raises
        ------
        PacketProgramError
            The kernel refuses.
        """
        value = ctypes.create_string_buffer(self.value_bytes)
        code = self._functions.bpf_map_lookup_elem_flags(
            self.fd, self._key(key), ctypes.cast(value, POINTER), _LOCK if locked else 0
        )
        if code and ctypes.get_errno() != errno.ENOENT:
            raise PacketProgramError(f"cannot read map {self.name}: {reason(code)}")
        return None if code else value.raw

    def set(self, key: bytes, value: bytes, *, locked: bool = False) -> None:
        """Write a value; `locked` writes it under its spin lock.

        Raises
        ------
        PacketProgramError
            The value has another length than the map's, or the map is full.
        """
        if len(value) != self.value_bytes:
            raise PacketProgramError(f"a value of map {self.name} has {self.value_bytes} bytes, not {len(value)}")
        place = ctypes.create_string_buffer(value, len(value))
        code = self._functions.bpf_map_update_elem(
            self.fd, self._key(key), ctypes.cast(place, POINTER), _LOCK if locked else 0
        )
        if code:
            raise PacketProgramError(f"cannot write map {self.name}: {reason(code)}")

    def delete(self, key: bytes) -> None:
        """Take a key out; one that is not there is no error.

        Raises
        ------
        PacketProgramError
            The kernel refuses.
        """
        code = self._functions.bpf_map_delete_elem(self.fd, self._key(key))
        if code and ctypes.get_errno() != errno.ENOENT:
            raise PacketProgramError(f"cannot delete from map {self.name}: {reason(code)}")

    def keys(self) -> list[bytes]:
        """All keys that are in the map now."""
        found: list[bytes] = []
        following, before = ctypes.create_string_buffer(self.key_bytes), None
        while self._functions.bpf_map_get_next_key(self.fd, before, ctypes.cast(following, POINTER)) == 0:
            found.append(following.raw)
            before = ctypes.cast(ctypes.create_string_buffer(following.raw, self.key_bytes), POINTER)
        return found

    def memory(self) -> mmap.mmap:
        """Map a BPF_F_MMAPABLE array into this process; its elements stand one after another."""
        size = -(-self.entries * self.value_bytes // mmap.PAGESIZE) * mmap.PAGESIZE
        return mmap.mmap(self.fd, size, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)

    def id(self) -> int:
        """Number by which another program can open the map (struct bpf_map_info: type, then id).

        Raises
        ------
        PacketProgramError
            The kernel refuses.
        """
        info = (ctypes.c_uint32 * 2)()
        size = ctypes.c_uint32(ctypes.sizeof(info))
        code = self._functions.bpf_obj_get_info_by_fd(self.fd, ctypes.byref(info), ctypes.byref(size))
        if code:
            raise PacketProgramError(f"cannot ask for the id of map {self.name}: {reason(code)}")
        return info[1]

    def _key(self, key: bytes) -> ctypes.c_void_p:
        if len(key) != self.key_bytes:
            raise PacketProgramError(f"a key of map {self.name} has {self.key_bytes} bytes, not {len(key)}")
        return ctypes.cast(ctypes.create_string_buffer(key, len(key)), POINTER)


@dataclass(frozen=True)
class TestResult:
    """What a program did with a frame in a test run: its code, the frame after it, mean nanoseconds of a run."""

    __test__ = False  # its name is the kernel's (BPF_PROG_TEST_RUN), not pytest's

    code: int
    data: bytes
    duration_ns: int


@dataclass(frozen=True)
class RunTime:
    """Nanoseconds that a program has run in all, and how often; counted while `run_time_statistics` is open."""

    total_ns: int
    count: int


class Program:
    """A program of a loaded object."""

    def __init__(self, library: Library, handle: int, name: str) -> None:
        self._library, self.name = library, name
        self.fd: int = library.functions.bpf_program__fd(handle)

    def test(self, frame: bytes, repeat: int = 1) -> TestResult:
        """Run the program on a frame without an interface (BPF_PROG_TEST_RUN); it comes in by `lo`.

        Parameters
        ----------
        frame
            At least an Ethernet header of 14 bytes.
        repeat
            How often; each run sees what the one before made of the frame.

        Raises
        ------
        PacketProgramError
            The kernel refuses the frame.
        """
        frame_in, out = ctypes.create_string_buffer(frame, len(frame)), ctypes.create_string_buffer(_LONGEST_RESULT)
        options = TestOptions(
            sz=ctypes.sizeof(TestOptions),
            data_in=ctypes.addressof(frame_in),
            data_out=ctypes.addressof(out),
            data_size_in=len(frame),
            data_size_out=_LONGEST_RESULT,
            repeat=repeat,
        )
        code = self._library.functions.bpf_prog_test_run_opts(self.fd, ctypes.byref(options))
        if code:
            raise PacketProgramError(f"cannot test {self.name} with {len(frame)} bytes: {reason(code)}")
        return TestResult(options.retval, out.raw[: options.data_size_out], options.duration)

    def run_time(self) -> RunTime:
        """What the kernel has counted of the program's runs.

        Raises
        ------
        PacketProgramError
            The kernel refuses, or the number is another program's.
        """
        info = ProgramInfo()
        size = ctypes.c_uint32(ctypes.sizeof(info))
        code = self._library.functions.bpf_obj_get_info_by_fd(self.fd, ctypes.byref(info), ctypes.byref(size))
        if code or info.name != self.name.encode()[: NAME_BYTES - 1]:
            raise PacketProgramError(f"cannot ask for the run time of {self.name}: {reason(code)}")
        return RunTime(info.run_time_ns, info.run_count)


class LoadedObject:
    """A compiled file of programs and maps, loaded into the kernel; closing it leaves what is attached.

    Parameters
    ----------
    path
        The compiled file.
    entries
        Sizes of maps, other than the file says.

    Raises
    ------
    PacketProgramError
        It cannot be opened, or the kernel refuses it; the message ends with the last lines of the verifier.
    MissingRequirementError
        libbpf is not installed.
    """

    def __init__(self, path: Path, entries: Mapping[str, int] | None = None) -> None:
        self._library, self.path = library(), path
        functions = self._library.functions
        self._library.begin()
        self._handle: int | None = functions.bpf_object__open_file(os.fsencode(path), None)
        if not self._handle:
            raise PacketProgramError(f"cannot open {path}: {reason(-1)}; {self._library.last_lines()}")
        try:
            for name, count in (entries or {}).items():
                code = functions.bpf_map__set_max_entries(self._find("map", name), count)
                if code:
                    raise PacketProgramError(f"map {name} of {path.name} cannot have {count} entries: {reason(code)}")
            code = functions.bpf_object__load(self._handle)
            if code:
                said = self._library.last_lines()
                raise PacketProgramError(f"the kernel refuses {path.name}: {reason(code)}; {said}")
        except BaseException:
            self.close()
            raise

    def _find(self, kind: str, name: str) -> int:
        find = getattr(self._library.functions, f"bpf_object__find_{kind}_by_name")
        handle: int | None = find(self._handle, name.encode())
        if not handle:
            raise PacketProgramError(f"{self.path.name} has no {kind} {name}")
        return handle

    def program(self, name: str) -> Program:
        """A program by the name of its function."""
        return Program(self._library, self._find("program", name), name)

    def map(self, name: str) -> BpfMap:
        """A map by its name."""
        return BpfMap(self._library, self._find("map", name), name)

    def close(self) -> None:
        """Let go of programs and maps; what is attached goes on with its maps."""
        if self._handle:
            self._library.functions.bpf_object__close(self._handle)
            self._handle = None

    def __enter__(self) -> LoadedObject:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def attach_ingress(program: Program, ifindex: int) -> None:
    """Put a program on the ingress (clsact) of an interface of this thread's namespace, in place of one of ours.

    Raises
    ------
    PacketProgramError
        There is no such interface, or the kernel refuses.
    """
    functions = library().functions
    hook = Hook(ctypes.sizeof(Hook), ifindex, _TC_INGRESS, 0)
    # A clsact that is there already is fine, and is left there when the program goes.
    code = functions.bpf_tc_hook_create(ctypes.byref(hook))
    if code not in (0, -errno.EEXIST):
        raise PacketProgramError(f"cannot make a hook on interface {ifindex}: {reason(code)}")
    options = TcOptions(ctypes.sizeof(TcOptions), program.fd, _REPLACE, 0, _HANDLE, _PRIORITY)
    code = functions.bpf_tc_attach(ctypes.byref(hook), ctypes.byref(options))
    if code:
        raise PacketProgramError(f"cannot attach {program.name} to interface {ifindex}: {reason(code)}")


def detach_ingress(interfaces: Iterable[int]) -> None:
    """Take our program from interfaces (their indices); an interface or a program that is gone is no error.

    Raises
    ------
    PacketProgramError
        The kernel refuses.
    """
    for index in interfaces:
        hook = Hook(ctypes.sizeof(Hook), index, _TC_INGRESS, 0)
        options = TcOptions(sz=ctypes.sizeof(TcOptions), handle=_HANDLE, priority=_PRIORITY)
        code = library().functions.bpf_tc_detach(ctypes.byref(hook), ctypes.byref(options))
        if code not in (0, -errno.ENOENT, -errno.ENODEV, -errno.EINVAL):
            raise PacketProgramError(f"cannot take the program from interface {index}: {reason(code)}")


@contextmanager
def run_time_statistics() -> Iterator[None]:
    """Let the kernel count the run time of all programs while the block runs; costs some 20 ns a run.

    Raises
    ------
    PacketProgramError
        The kernel cannot (before Linux 5.8).
    """
    descriptor: int = library().functions.bpf_enable_stats(0)
    if descriptor < 0:
        raise PacketProgramError(f"the kernel counts no run times: {reason(descriptor)}")
    try:
        yield
    finally:
        os.close(descriptor)
