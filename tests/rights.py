"""Programs with fewer rights than root has."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence


def with_capabilities(kept: Iterable[str], argv: Sequence[str]) -> list[str]:
    """Command line that runs a program with no other capabilities; an ordinary user has none anyway."""
    if os.geteuid() != 0:
        return list(argv)
    only = ",".join(("-all", *("+" + name.removeprefix("CAP_").lower() for name in kept)))
    return ["setpriv", f"--bounding-set={only}", *argv]
