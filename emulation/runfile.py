"""The run file: what a run has created, written down as it is created, so that exactly that can be removed.

A run file holds JSON lines. The first line names the run and its owner; the others name folders,
processes, namespaces, interfaces and qdiscs. A process is named by its id and its start time, so a
reused id is never taken for it. What was created between two lines (the owner may be killed at any
moment) is found by the variable ARMOR_RUN, which every process of a run carries.
"""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from mininet_topos.errors import ArmorError, MissingRequirementError

STATE_VARIABLE = "ARMOR_STATE_DIR"
RUN_VARIABLE = "ARMOR_RUN"
MARKER_NAME = ".armor-run"  # stands in every folder that a run may remove
VERSION = 1
_PF_EXITING = 0x4  # process flags of the kernel's sched.h
_PF_KTHREAD = 0x200000

Record = dict[str, str | int]


class RunFileError(ArmorError):
    """A run file cannot be written or does not hold what it must."""


@dataclass(frozen=True, slots=True)
class ProcessId:
    """A process that cannot be mistaken for a later one with the same number.

    `start_ticks` is the start time of /proc/PID/stat (field 22, clock ticks since boot).
    """

    pid: int
    start_ticks: int


def start_ticks(pid: int) -> int | None:
    """Start time of a process; None when there is no such process."""
    fields = _stat_fields(pid)
    return int(fields[19]) if fields else None


def is_alive(process: ProcessId) -> bool:
    """Whether a process still runs; a zombie, which holds nothing any more, does not."""
    fields = _stat_fields(process.pid)
    return bool(fields) and int(fields[19]) == process.start_ticks and fields[0] not in "ZX"


def is_within_exec(pid: int) -> bool:
    """Whether a process is just being given its program: it shows no environment yet, and will.

    The files that exec closes are closed by then, so that the parent may take it for running.
    A kernel thread, and a process that ends, show none either, and never will.
    """
    fields = _stat_fields(pid)
    if not fields or fields[0] in "ZX":
        return False
    # The kernel says where the code begins once the environment is whole (load_elf_binary in fs/binfmt_elf.c).
    flags, start_of_code = int(fields[6]), int(fields[23])
    return not flags & (_PF_KTHREAD | _PF_EXITING) and start_of_code == 0


def _stat_fields(pid: int) -> list[str]:
    """Fields of /proc/PID/stat from the state on (proc(5) counts it as 3); none when there is no such process."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return []
    # The name in parentheses may hold spaces and parentheses; fields count from the last one.
    return stat.rpartition(")")[2].split()


def boot_id() -> str:
    """Identity of this boot of the machine; process ids of another boot mean nothing."""
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def state_dir() -> Path:
    """Folder of Armor's run files: ARMOR_STATE_DIR, else /run/armor for root, else under the user's run-time folder.

    Raises
    ------
    MissingRequirementError
        Without a run-time folder: the one below /tmp belongs to somebody else.
    """
    chosen = os.environ.get(STATE_VARIABLE)
    if chosen:
        return Path(chosen)
    if os.geteuid() == 0:
        return Path("/run/armor")
    return (Path(runtime) if (runtime := os.environ.get("XDG_RUNTIME_DIR")) else _own_folder()) / "armor"


def _own_folder() -> Path:
    """A folder of this user below /tmp, where anybody may have made one of its name: then it is refused."""
    folder = Path(f"/tmp/armor-{os.getuid()}")
    try:
        found = folder.lstat()
    except FileNotFoundError:
        return folder
    if found.st_uid != os.getuid() or not stat.S_ISDIR(found.st_mode):
        raise MissingRequirementError(
            f"{folder} belongs to another user, or is no folder; set {STATE_VARIABLE} to a folder of your own"
        )
    return folder


class RunFile:
    """The open run file of a live run.

    Parameters
    ----------
    command
        What was started, for the reader of a clean-up report.
    folder
        State folder; `state_dir()` when left out.

    Raises
    ------
    MissingRequirementError
        The state folder cannot be written.
    """

    def __init__(self, command: str = "", folder: Path | None = None) -> None:
        base = folder or state_dir()
        now_s = time.time()
        started = time.localtime(now_s)
        self.run_id = f"{time.strftime('%Y%m%d-%H%M%S', started)}-{int(now_s % 1 * 1e6):06d}-{os.getpid()}"
        self.path = base / "runs" / f"{self.run_id}.jsonl"
        self.temporary_folder = base / "tmp" / self.run_id
        unfinished = self.path.with_suffix(".new")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if folder is None:
                state_dir()  # whose folder it is now that it is there
            self._descriptor = os.open(unfinished, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL, 0o644)
        except OSError as error:
            raise MissingRequirementError(
                f"cannot write a run file in {base} ({error.strerror}); set {STATE_VARIABLE} to a folder you may write"
            ) from error
        owner = os.getpid()
        self.add(
            "run",
            version=VERSION,
            run_id=self.run_id,
            pid=owner,
            start_ticks=start_ticks(owner) or 0,
            boot_id=boot_id(),
            started=time.strftime("%Y-%m-%dT%H:%M:%S%z", started),
            command=command,
        )
        unfinished.rename(self.path)  # a reader never sees a run file without its first line

    def add(self, kind: str, **fields: str | int) -> None:
        """Write one record; it is in the file when this returns."""
        self.add_all([{"kind": kind, **fields}])

    def add_all(self, records: Iterable[Mapping[str, str | int]]) -> None:
        """Write several records at once."""
        text = "".join(json.dumps(record) + "\n" for record in records)
        os.write(self._descriptor, text.encode())

    def add_process(self, pid: int, name: str, place: str) -> ProcessId:
        """Record a process just started; also right when it has ended meanwhile."""
        process = ProcessId(pid, start_ticks(pid) or 0)
        self.add("process", pid=pid, start_ticks=process.start_ticks, name=name, place=place)
        return process

    def add_folder(self, folder: Path) -> None:
        """Record a folder that the run creates (now) and owns, with everything in it."""
        self.add("folder", path=str(folder))
        folder.mkdir(parents=True)
        (folder / MARKER_NAME).write_text(self.run_id, encoding="ascii")

    @property
    def environment(self) -> dict[str, str]:
        """Variables that every process of the run must carry."""
        return {RUN_VARIABLE: self.run_id}

    def close(self) -> None:
        """Forget the run: everything it created is gone."""
        os.close(self._descriptor)
        self.path.unlink(missing_ok=True)


@dataclass(frozen=True)
class RunRecord:
    """A run file as read: who ran, and what the run created."""

    path: Path
    run_id: str
    command: str
    started: str
    owner: ProcessId
    boot_id: str
    records: tuple[Record, ...]

    def is_live(self) -> bool:
        """Whether the process that owns the run still works on it."""
        return self.boot_id == boot_id() and is_alive(self.owner)

    def of_kind(self, kind: str) -> tuple[Record, ...]:
        """Records of one kind, in order."""
        return tuple(record for record in self.records if record["kind"] == kind)


def read_run_file(path: Path) -> RunRecord:
    """Read a run file; a last line that a crash truncated is left out.

    Raises
    ------
    RunFileError
        The first line does not name a run.
    """
    # Only a last line can be half written, and then it has no line end.
    complete, _, _ = path.read_text(encoding="utf-8").rpartition("\n")
    try:
        records: list[Record] = [json.loads(line) for line in complete.splitlines()]
    except json.JSONDecodeError as error:
        raise RunFileError(f"{path} is not a run file: {error}; look into it and delete it by hand") from error
    if not records or records[0].get("kind") != "run" or records[0].get("version") != VERSION:
        raise RunFileError(f"{path} is not a run file of this version; look into it and delete it by hand")
    head = records[0]
    return RunRecord(
        path,
        str(head["run_id"]),
        str(head["command"]),
        str(head["started"]),
        ProcessId(int(head["pid"]), int(head["start_ticks"])),
        str(head["boot_id"]),
        tuple(records[1:]),
    )


def list_runs(folder: Path | None = None) -> tuple[RunRecord, ...]:
    """All runs that have a run file, oldest first."""
    runs = []
    for path in run_paths(folder):
        with suppress(FileNotFoundError):  # its run ended meanwhile
            runs.append(read_run_file(path))
    return tuple(runs)


def run_paths(folder: Path | None = None) -> tuple[Path, ...]:
    """Run files in the state folder, oldest first."""
    return tuple(sorted(((folder or state_dir()) / "runs").glob("*.jsonl")))
