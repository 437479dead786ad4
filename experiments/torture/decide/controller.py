"""What the controller says of itself that it should not, once nothing is broken any more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def controller_lacks(state: Mapping[str, Any]) -> list[str]:
    """What is not as it should be in `/armor/state`, one sentence each; empty: nothing.

    Examples
    --------
    >>> controller_lacks({"ready": False, "switches": {"s1": {"state": "away"}, "s2": {"state": "installed"}}})
    ['the controller is not ready: s1 away']
    >>> controller_lacks({"ready": True, "returning_links": ["s1-s2"]})
    ['the controller still has returning links: s1-s2']
    >>> controller_lacks({"ready": False, "switches": {}, "backups_unacknowledged": ["s3"]})
    ['the controller is not ready: backup plan of s3 not acknowledged']
    """
    links = {key.replace("_", " "): state.get(key) for key in ("failed_links", "returning_links")}
    found = [f"the controller still has {what}: {', '.join(names)}" for what, names in links.items() if names]
    if state.get("ready"):
        return found
    waiting = [
        f"{node} {one['state']}" for node, one in state.get("switches", {}).items() if one["state"] != "installed"
    ]
    waiting += [f"backup plan of {node} not acknowledged" for node in state.get("backups_unacknowledged", ())]
    return [f"the controller is not ready: {', '.join(waiting) or 'it waits for backup plans'}", *found]
