"""How long a link must have been up again before traffic returns to it: wait-to-restore, flap-damped.

The controller (return of learned and remote rows: setting `wait_to_restore_s`) and the agents (return of their own
rows: option `--wait-to-restore-s`) use the same rule, so that neither runs ahead of the other for long. Give both one
value, as `armor run` does with the scenario's `wait_to_restore_s`.
"""

from __future__ import annotations

from dataclasses import dataclass

_MOST_DOUBLINGS = 32  # a port that flaps for ever must not overflow a float
_LONGEST_TIMES = 12
DEFAULT_WAIT_S = 5.0  # of the controller, of the agents and of a scenario


@dataclass(frozen=True, slots=True)
class Damping:
    """Wait `wait_s`, doubled for each further failure inside `window_s`, at most `max_wait_s`.

    Examples
    --------
    >>> damping = Damping(wait_s=5.0, window_s=60.0, max_wait_s=60.0)
    >>> damping.required_s((100.0,), 101.0), damping.required_s((90.0, 95.0, 100.0), 101.0)
    (5.0, 20.0)
    """

    wait_s: float = DEFAULT_WAIT_S
    window_s: float = 60.0
    max_wait_s: float = 60.0

    @classmethod
    def of_wait(cls, wait_s: float) -> Damping:
        """What controller and agents keep to when the setting is to wait `wait_s`: at most twelve times that."""
        return cls(wait_s, max_wait_s=_LONGEST_TIMES * wait_s)

    def required_s(self, downs: tuple[float, ...], now_s: float) -> float:
        """Wait after failures at the times `downs` (seconds, one clock)."""
        recent = sum(1 for down in downs if now_s - down <= self.window_s)
        doublings = min(max(0, recent - 1), _MOST_DOUBLINGS)
        return min(self.wait_s * 2.0**doublings, max(self.max_wait_s, self.wait_s))

    def remembered(self, downs: tuple[float, ...], now_s: float) -> tuple[float, ...]:
        """The failures that still count."""
        return tuple(down for down in downs if now_s - down <= self.window_s)
