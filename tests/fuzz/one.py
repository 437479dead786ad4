"""One target under atheris, in a process of its own: `python -m tests.fuzz.one TARGET CORPUS [libFuzzer options]`."""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(
    include=["mininet_topos", "ryu_apps", "ovsdb_backup", "experiments", "te_solver", "machine"]
):
    from tests.fuzz.targets import once


def main() -> None:
    """Fuzz until libFuzzer's time is over."""
    name, arguments = sys.argv[1], [sys.argv[0], *sys.argv[2:]]
    atheris.Setup(arguments, lambda data: once(name, data))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
