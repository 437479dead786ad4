"""An event log that is read while processes write it."""

from __future__ import annotations

from pathlib import Path

from experiments.analysis.events import Event, read_events


class LogTail:
    """Events since the last look; the log stays open, so that it can be read to its end after its folder has gone.

    Raises
    ------
    OSError
        The log cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        self._read_bytes = 0

    def close(self) -> None:
        """Close the log."""
        self._file.close()

    def new_events(self) -> list[Event]:
        """What processes have logged since the last call; a line that is still being written waits."""
        self._file.seek(self._read_bytes)
        data = self._file.read()
        whole = data[: data.rfind(b"\n") + 1]
        self._read_bytes += len(whole)
        return read_events(whole.decode("utf-8"))
