"""`ryu-manager` as Armor installs it: Ryu's own, and one sentence for what it cannot read, none for Ctrl-C.

Ryu parses its configuration before it loads any app, and imports for a second before it waits for signals, so no app
can do this.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
import warnings
from pathlib import Path

BAD_INPUT, INTERRUPTED = 2, 130


def main() -> int:
    """Run Ryu with the arguments of the process; its exit code, 2 for bad input, 130 for Ctrl-C while it starts."""
    interrupts: list[int] = []

    def interrupt(number: int, _frame: object) -> None:
        interrupts.append(number)
        raise KeyboardInterrupt

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, interrupt)
    # Eventlet would import dnspython to look up names by itself: half of the time until Ryu listens.
    os.environ.setdefault("EVENTLET_NO_GREENDNS", "yes")
    # Eventlet prints nine lines about its own future.
    warnings.filterwarnings("ignore", message=r"\s*Eventlet is deprecated")
    try:
        from ryu.cmd import manager

        flags = _option("--user-flags")
        if flags and not Path(flags).is_file():  # Ryu goes on without
            print(f"armor: there is no options file {flags!r}; correct --user-flags", file=sys.stderr)
            return BAD_INPUT
        return int(manager.main() or 0)
    except KeyboardInterrupt:
        return INTERRUPTED
    except SystemExit as leaving:  # oslo leaves with 1 when a value is wrong, and has said so
        raise SystemExit(BAD_INPUT if leaving.code == 1 and _is_of_oslo(leaving) else leaving.code) from leaving
    except Exception as error:
        if interrupts:  # where a class was being made, Python turns an interrupt into another error
            return INTERRUPTED
        said = _sentence(error)
        if said is None:
            raise
        print(f"armor: {said}", file=sys.stderr)
        return BAD_INPUT


def _sentence(error: Exception) -> str | None:
    """What a user can mend; None for a fault of a program."""
    apps = {word.removesuffix(".py"): word for word in sys.argv[1:]}
    if isinstance(error, ModuleNotFoundError) and error.name in apps:
        return f"there is no app {apps[error.name]!r}; name a file or a module"
    if isinstance(error, OSError) and error.filename == _option("--pid-file"):
        return f"the process id cannot be written to {error.filename!r} ({error.strerror}); name another --pid-file"
    flags = _option("--user-flags")
    if flags and _is_of_file(error, flags):
        return f"the options file {flags!r} cannot be run ({type(error).__name__}: {error}); correct it"
    if _is_of_oslo(error):
        return f"the configuration cannot be read ({error}); correct the file, or see --config-file and --config-dir"
    return None


def _option(name: str) -> str | None:
    """Value of an option on the command line."""
    words = iter(sys.argv[1:])
    for word in words:
        if word == name:
            return next(words, None)
        if word.startswith(f"{name}="):
            return word.removeprefix(f"{name}=")
    return None


def _is_of_file(error: BaseException, path: str) -> bool:
    """Whether it is a file's own: its syntax, or what its lines did."""
    frames = traceback.walk_tb(error.__traceback__)
    return any(name == path for name in (getattr(error, "filename", None), *(f.f_code.co_filename for f, _ in frames)))


def _is_of_oslo(error: BaseException) -> bool:
    """Whether it comes from the reading of options and configuration files."""
    frames = traceback.walk_tb(error.__traceback__)
    return any(str(frame.f_globals.get("__name__")).startswith("oslo_config") for frame, _line in frames)


if __name__ == "__main__":
    sys.exit(main())
