"""The event log that every process of a run writes: one JSON line an event, stamped with CLOCK_MONOTONIC.

CLOCK_MONOTONIC is one clock for all processes and namespaces of a machine, so stamps from the agent, the
controller and the injector compare directly. This module is a shell: it reads the clock and writes a file.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

EVENTS_VARIABLE: Final = "ARMOR_EVENTS"

EventField = str | int | float | bool | None | list[int] | list[str]
Observer = Callable[[str, Mapping[str, EventField]], None]


class EventLog:
    """Appends the events of one process to a file that other processes append to as well.

    Each event is one `write` on a descriptor opened with O_APPEND, so lines of different processes never mix
    and none is lost when a process is killed.

    Parameters
    ----------
    source
        Who speaks, for example "agent:s3" or "controller".
    path
        File to append to. None: the file that the environment variable ARMOR_EVENTS names; when that is not
        set either, `write` appends nothing, since nobody asked for events.

    Attributes
    ----------
    observers
        Called with the name and the fields of every event, also where there is no file.

    Raises
    ------
    OSError
        The file cannot be opened.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     log = EventLog("agent:s3", f"{folder}/events.jsonl")
    ...     log.write("port_status", t_monotonic_s=1.5, node="s3", live=False)
    ...     log.close()
    ...     print(Path(f"{folder}/events.jsonl").read_text(encoding="utf-8"), end="")
    {"t_monotonic_s": 1.5, "source": "agent:s3", "event": "port_status", "node": "s3", "live": false}
    """

    def __init__(self, source: str, path: str | Path | None = None) -> None:
        self.source = source
        self.observers: list[Observer] = []
        wanted = path if path is not None else os.environ.get(EVENTS_VARIABLE)
        self._descriptor: int | None = None
        if wanted:
            self._descriptor = os.open(wanted, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)

    def write(self, event: str, t_monotonic_s: float | None = None, **fields: EventField) -> None:
        """Append one event.

        Parameters
        ----------
        event
            What happened, for example "inject".
        t_monotonic_s
            When it happened (CLOCK_MONOTONIC, seconds); now when left out.
        **fields
            Whatever belongs to the event; values that JSON can carry.
        """
        self.observe(event, **fields)
        if self._descriptor is None:
            return
        stamp = time.monotonic() if t_monotonic_s is None else t_monotonic_s
        line = json.dumps({"t_monotonic_s": stamp, "source": self.source, "event": event, **fields})
        os.write(self._descriptor, line.encode() + b"\n")

    def observe(self, event: str, **fields: EventField) -> None:
        """Have an event counted that is not to be written (one of very many)."""
        for observe in self.observers:
            observe(event, fields)

    def close(self) -> None:
        """Close the file; later events are dropped."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
