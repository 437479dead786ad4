"""The other end of `experiments.live.web`: starts it, sends it what changes, and hears what pages ask."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any, NamedTuple

from mininet_topos.errors import ArmorError, BadInputError

Json = dict[str, Any]
_END_S = 5.0


class Asked(NamedTuple):
    """What a page asks for, and the number under which it is answered."""

    number: int
    wanted: Json


class WebProcess:
    """The web server while the context lasts.

    Parameters
    ----------
    document
        JSON of the page at first.
    port
        0: any that is free.

    Raises
    ------
    BadInputError
        It does not start: the port is taken, or a package is missing.
    """

    def __init__(self, document: Json, port: int) -> None:
        self._document, self._port = document, port
        self._asked: SimpleQueue[Asked] = SimpleQueue()
        self.url = ""

    def __enter__(self) -> WebProcess:
        """Start it; `url` is known from then on."""
        # A session of its own: Ctrl-C ends the network first, and then the pages.
        self._process = subprocess.Popen(
            [sys.executable, "-m", "experiments.live.web", str(self._port)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            self._send({"document": self._document})
            said = json.loads(self._output().readline() or "{}")
            if "url" not in said:
                raise BadInputError(said.get("error", "the web server did not start; see what it said above"))
            self.url = str(said["url"])
        except BaseException:
            self._end()
            raise
        threading.Thread(target=self._listen, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it."""
        self._end()

    def publish(self, run: int, changed: Json) -> None:
        """Let all pages know what has changed."""
        if changed:
            self._send({"run": run, "changed": changed})

    def asked(self) -> Asked | None:
        """The next thing that a page asks for, if any."""
        try:
            return self._asked.get_nowait()
        except Empty:
            return None

    def answer(self, number: int, error: str) -> None:
        """Say that it is done, or why not."""
        self._send({"answer": number, "error": error})

    def _listen(self) -> None:
        with self._output() as lines:
            for text in lines:
                value = json.loads(text)
                self._asked.put(Asked(int(value["ask"]), value["wanted"]))

    def _send(self, value: Json) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(value, ensure_ascii=False) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise ArmorError("the web server has ended; see what it said above") from None

    def _output(self) -> Any:
        return self._process.stdout

    def _end(self) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it has ended before
            self._process.stdin.close()
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
