"""A token bucket as a value: how many punted packets the agent looks at."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class TokenBucket:
    """At most `burst` at once and `rate_per_s` in the long run.

    Open vSwitch limits packet-ins per Controller row only (`controller_rate_limit`), and a management
    connection has none; a meter on the controller port would hit the controller's packets too.
    """

    rate_per_s: float = 2000.0
    burst: float = 500.0
    tokens: float = 500.0
    at_s: float = 0.0

    def take(self, now_s: float) -> tuple[TokenBucket, bool]:
        """The bucket after one more wanted to pass, and whether it may."""
        tokens = min(self.burst, self.tokens + max(0.0, now_s - self.at_s) * self.rate_per_s)
        passes = tokens >= 1.0
        return replace(self, tokens=tokens - 1.0 if passes else tokens, at_s=now_s), passes
