"""Let the installed Ryu 4.34 import with a current eventlet.

``ryu/app/wsgi.py`` imports ``eventlet.wsgi.ALREADY_HANDLED``, a name that eventlet dropped in 0.31. The value was
returned after a websocket had answered a request by itself. Newer eventlet learns that from a flag which its
``WebSocketWSGI`` sets, and then only iterates over the returned value, so an empty tuple takes its place.
See docs/decisions/0001-ryu-with-current-eventlet.md.

Usage: ``.venv/bin/python scripts/patch_ryu.py`` (does nothing when Ryu is patched already).
"""

from __future__ import annotations

import os
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

BEFORE = "    from eventlet.wsgi import ALREADY_HANDLED\n"
AFTER = "    ALREADY_HANDLED = ()  # patched by Armor: eventlet 0.31 dropped the name\n"


def patched(source: str) -> str:
    """Return the source of ``ryu/app/wsgi.py`` without its import of the dropped name.

    Raises
    ------
    ValueError
        If the source has neither the known import nor the known replacement, so that it is another Ryu.
    """
    if AFTER in source:
        return source
    if source.count(BEFORE) != 1:
        raise ValueError("ryu/app/wsgi.py is not that of Ryu 4.34; reinstall it with `make setup`")
    return source.replace(BEFORE, AFTER)


def patch(path: Path) -> None:
    """Replace the file by its patched form in one step, so that a reader never sees half a file."""
    source = path.read_text(encoding="utf-8")
    wanted = patched(source)
    if wanted == source:
        return
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_text(wanted, encoding="utf-8")
    draft.replace(path)


def main() -> int:
    """Patch the Ryu of the running interpreter; 0 when done, 2 with one sentence when that cannot be."""
    try:
        patch(Path(str(distribution("ryu").locate_file("ryu/app/wsgi.py"))))
    except PackageNotFoundError:
        print("patch_ryu: Ryu is not installed in this environment; run `make setup`", file=sys.stderr)
        return 2
    except (OSError, ValueError) as error:
        print(f"patch_ryu: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
