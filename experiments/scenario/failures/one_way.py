"""Silent failure of one direction of a link: what one end sends is lost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from experiments.scenario.failure import Act, LinkFailure
from experiments.scenario.fields import word
from experiments.scenario.keys import Key, NetworkContext
from experiments.scenario.targets import read_link
from mininet_topos.lines import Line
from mininet_topos.topology import Direction


@dataclass(frozen=True, slots=True)
class OneWay(LinkFailure):
    """`{link: [s2, s4], kind: one-way, from: s2, at_s: 5}`.

    Attributes
    ----------
    sender
        The end whose packets are lost; None: the link's first.
    """

    sender: str | None = None

    kind: ClassVar[str] = "one-way"
    keys: ClassVar[tuple[Key, ...]] = (*LinkFailure.keys, Key("from", word, "sender"))

    @classmethod
    def check(cls, context: NetworkContext, _entry: Line, fields: Mapping[str, Line]) -> None:
        """Refuse a sender that is no end of the link."""
        line = fields.get("from")
        if line is None:
            return
        link, name = read_link(context, fields["link"], context.topology), word(context, line, "from")
        if name not in (link.a, link.b):
            raise context.error(line, f"from {name!r} is no end of {link}; write {link.a} or {link.b}")

    @property
    def drawn(self) -> Direction:
        """The direction in which packets are lost."""
        link = self.link
        return Direction(link.b, link.a, link.key) if self.sender == link.b else Direction(*link)

    @property
    def what(self) -> str:
        """ "s2-s4 from s2"."""
        return f"{self.link} from {self.drawn.src}"

    @property
    def fail(self) -> Act:
        """Drop what is sent by the sender."""
        return Act("emulation.failure_injection:FailureInjection.one_way", (self.drawn,))

    @property
    def repair(self) -> Act:
        """Open it again."""
        return Act("emulation.failure_injection:FailureInjection.restore", (self.drawn,))
