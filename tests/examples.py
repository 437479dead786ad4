"""How often laws are tried: numbers are those of `make test`, and profiles of hypothesis scale them all."""

from __future__ import annotations

from hypothesis import settings

ORDINARY = 100  # examples of a law that says nothing, in `make test` (tests/conftest.py)
FEWEST = 3


def scaled(count: int) -> int:
    """What is tried `count` times in `make test`, is tried so often here: fewer or more times under other profiles."""
    return max(FEWEST, round(count * settings.default.max_examples / ORDINARY))


def examples(count: int) -> settings:
    """Try a law with `count` examples in `make test`."""
    return settings(max_examples=scaled(count))
