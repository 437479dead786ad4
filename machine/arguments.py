"""Command-line arguments of every program of Armor."""

from __future__ import annotations

import argparse
from typing import NoReturn

from mininet_topos.errors import BadInputError


class OneLineParser(argparse.ArgumentParser):
    """A parser that raises `BadInputError` instead of printing usage and leaving; options are written in full."""

    def __init__(self, *, prog: str, description: str | None) -> None:
        super().__init__(
            prog=prog,
            description=description,
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )

    def error(self, message: str) -> NoReturn:
        """Complain (called by argparse)."""
        raise BadInputError(f"{message}; see '{self.prog} --help'")
