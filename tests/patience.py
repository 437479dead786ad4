"""How long tests wait for a condition: a limit for broken tests, not a claim about speed.

ARMOR_TEST_PATIENCE stretches it on machines that are slow by nature; the guest of `make test-kernel` sets 10.
"""

from __future__ import annotations

import os


def patient_s(seconds: float) -> float:
    """Seconds to wait here for what takes at most `seconds` on an ordinary machine that is busy."""
    return seconds * float(os.environ.get("ARMOR_TEST_PATIENCE", "1"))
