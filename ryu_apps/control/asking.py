"""Asks all switches the same thing, time after time; one that does not answer delays no other."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ryu.lib import hub

from ryu_apps.control.switch import Switch


class Asking:
    """Something that every switch is asked.

    Parameters
    ----------
    switches
        Whom to ask, each time.
    ask
        Asks one, and returns when that is done. It reports errors itself.
    """

    def __init__(self, switches: Callable[[], Iterable[Switch]], ask: Callable[[Switch], None]) -> None:
        self._switches, self._ask = switches, ask
        self._asked: set[Switch] = set()

    def everyone(self) -> None:
        """Ask all at once, except who is still being asked since an earlier time, and wait for nobody."""
        for switch in self._switches():
            if switch not in self._asked:
                self._asked.add(switch)
                hub.spawn(self._one, switch)

    def _one(self, switch: Switch) -> None:
        try:
            self._ask(switch)
        finally:
            self._asked.discard(switch)
