"""Silent failure of a link: both ends drop what they send, carriers stay, only BFD detects it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from experiments.scenario.failure import Act, LinkFailure


@dataclass(frozen=True, slots=True)
class Silent(LinkFailure):
    """`{link: [s2, s4], at_s: 5, repair_at_s: 9}`."""

    kind: ClassVar[str] = "silent"
    usual: ClassVar[bool] = True

    @property
    def fail(self) -> Act:
        """Drop what is sent at both ends."""
        return Act("emulation.failure_injection:FailureInjection.silent", (self.link,))
