"""How much of a reply in several parts is gathered before its switch is given up."""

from __future__ import annotations

from dataclasses import dataclass

MAX_REPLY_BYTES = 64 << 20
MAX_REPLY_ENTRIES = 500_000


@dataclass(frozen=True, slots=True)
class Gathered:
    """What has come so far in answer to one request: refusals, and parts of a dump."""

    n_bytes: int = 0
    n_entries: int = 0

    def with_part(self, n_bytes: int, n_entries: int) -> Gathered:
        """After one more message."""
        return Gathered(self.n_bytes + n_bytes, self.n_entries + n_entries)

    @property
    def too_long(self) -> str:
        """Why the reply is longer than is gathered; empty: it is not."""
        if self.n_bytes <= MAX_REPLY_BYTES and self.n_entries <= MAX_REPLY_ENTRIES:
            return ""
        return (
            f"the reply to one request has {self.n_bytes:,} bytes and {self.n_entries:,} entries so far, and at most "
            f"{MAX_REPLY_BYTES:,} and {MAX_REPLY_ENTRIES:,} are gathered; reduce the rows of the switch"
        )
