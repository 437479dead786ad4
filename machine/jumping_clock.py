"""Wall clocks of single processes, set ahead or back: what an operator, or NTP, may do to a machine."""

from __future__ import annotations

import os
import struct
import sys
from contextlib import ExitStack
from pathlib import Path

from mininet_topos.errors import MissingRequirementError

LIBRARY = Path(sys.prefix) / "lib" / "armor" / "jumping-clock.so"
_OFFSETS, _PRELOAD = "ARMOR_CLOCKS", "LD_PRELOAD"
_OFFSET = struct.Struct("=q")  # nanoseconds


class JumpingClocks:
    """While this is entered, programs that this process starts have wall clocks (CLOCK_REALTIME) that can be set.

    Parameters
    ----------
    file
        Gets the offset of each process by its id; it has holes, and takes no room.
    """

    def __init__(self, file: Path) -> None:
        self._file, self._stack = file.resolve(), ExitStack()

    def __enter__(self) -> JumpingClocks:
        """Begin.

        Raises
        ------
        MissingRequirementError
            The library has not been built.
        """
        if not LIBRARY.exists():
            raise MissingRequirementError(f"{LIBRARY} is missing; run 'make setup'")
        most_pids = int(Path("/proc/sys/kernel/pid_max").read_text(encoding="ascii"))
        with self._file.open("wb") as file:
            file.truncate(_OFFSET.size * (most_pids + 1))
        others = os.environ.get(_PRELOAD)
        self._set(_OFFSETS, str(self._file))
        self._set(_PRELOAD, f"{LIBRARY}:{others}" if others else str(LIBRARY))
        return self

    def __exit__(self, *_exception: object) -> None:
        self._stack.close()
        self._file.unlink(missing_ok=True)

    def set(self, pid: int, offset_s: float) -> None:
        """Set the clock of a process so many seconds ahead of the machine's; 0: as the machine's."""
        with self._file.open("r+b", buffering=0) as file:
            file.seek(_OFFSET.size * pid)
            file.write(_OFFSET.pack(round(offset_s * 1e9)))

    def _set(self, variable: str, value: str) -> None:
        before = os.environ.get(variable)
        os.environ[variable] = value
        if before is None:
            self._stack.callback(os.environ.pop, variable, None)
        else:
            self._stack.callback(os.environ.__setitem__, variable, before)
