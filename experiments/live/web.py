"""The web server of a live network: a process of its own, so that pages take no time from the emulation.

    python -m experiments.live.web PORT

Lines of JSON come in: {"document": ...} first, then {"run": 0, "changed": {...}} and {"answer": 3, "error": ""}.
Lines of JSON go out: {"url": ...} first, then {"ask": 3, "wanted": {...}} for what pages ask of the network. It ends
with its input.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from itertools import count
from queue import Empty, Queue
from typing import Any

from experiments.live.html import page_html
from experiments.live.hub import Hub, hub_routes
from experiments.live.server import page_app, serve
from mininet_topos.errors import ArmorError

Json = dict[str, Any]
_ANSWER_S = 30.0


class Line:
    """The two streams to the process that runs the network."""

    def __init__(self) -> None:
        self._numbers, self._lock = count(1), threading.Lock()
        self._answers: dict[int, Queue[str]] = {}

    def ask(self, wanted: Json) -> str:
        """Ask for an action and wait; returns why not, or nothing. From any thread."""
        number, answer = next(self._numbers), Queue[str](1)
        self._answers[number] = answer
        try:
            self.say({"ask": number, "wanted": wanted})
            return answer.get(timeout=_ANSWER_S)
        except Empty:
            return "the network does not answer; is it still being built?"
        finally:
            del self._answers[number]

    def say(self, value: Json) -> None:
        """Write one line."""
        with self._lock:
            print(json.dumps(value), flush=True)

    def follow(self, hub: Hub) -> None:
        """Read lines until there are none; then end this process."""
        for text in sys.stdin:
            value = json.loads(text)
            if "changed" in value:
                hub.publish(value["changed"], value["run"])
            elif value["answer"] in self._answers:
                self._answers[value["answer"]].put(value["error"])
        os.kill(os.getpid(), signal.SIGTERM)


def main() -> None:
    """Serve until the input ends."""
    hub, line = Hub(json.loads(sys.stdin.readline())["document"]), Line()
    try:
        app = page_app(lambda: page_html(hub.document), hub_routes(hub, line.ask))
        threading.Thread(target=line.follow, args=(hub,), daemon=True).start()
        serve(app, int(sys.argv[1]), lambda url: line.say({"url": url}))
    except ArmorError as error:
        line.say({"error": str(error)})


if __name__ == "__main__":
    main()
