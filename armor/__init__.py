"""Armor from Python: topologies, plans, verification, comparison, runs and campaigns.

    >>> import armor
    >>> armor.verify("ring:5", "sdfast").holds
    True

The names of `__all__` are the public ones; docs/python.md shows them. They are loaded when they are first used, because
the command `armor` imports this module too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from armor._api import *  # noqa: F403
    from armor._api import __all__ as __all__
else:  # so that a checker of types knows the names above only

    def __getattr__(name: str) -> object:
        """Public name of `armor._api`, or `__all__` itself."""
        if name.startswith("_") and name != "__all__":
            raise AttributeError(f"module 'armor' has no attribute {name!r}")
        from armor import _api

        if name == "__all__":
            return _api.__all__
        if name not in _api.__all__:
            raise AttributeError(f"module 'armor' has no attribute {name!r}; it has {', '.join(_api.__all__)}")
        return getattr(_api, name)


def __dir__() -> list[str]:
    """Public names, for completion."""
    from armor import _api

    return list(_api.__all__)
