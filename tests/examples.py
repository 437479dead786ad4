"""How often laws are tried: a law names a number, and the profile of hypothesis (tests/conftest.py) takes its share."""

from __future__ import annotations

from hypothesis import settings

ORDINARY = 100  # examples of a law that names no number
FEWEST = 3


def scaled(count: int) -> int:
    """How often something runs under this profile: half of `count` in `make test` (tests/conftest.py)."""
    return max(FEWEST, round(count * settings.default.max_examples / ORDINARY))


def examples(count: int) -> settings:
    """Try a law with the profile's share of `count` examples."""
    return settings(max_examples=scaled(count))
