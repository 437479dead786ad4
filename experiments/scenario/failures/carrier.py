"""Failure of a link that both ends see at once: they lose the carrier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from experiments.scenario.failure import Act, LinkFailure


@dataclass(frozen=True, slots=True)
class Carrier(LinkFailure):
    """`{link: [s2, s4], kind: carrier, at_s: 5}`."""

    kind: ClassVar[str] = "carrier"

    @property
    def fail(self) -> Act:
        """Take the link down."""
        return Act("emulation.failure_injection:FailureInjection.carrier", (self.link,))
