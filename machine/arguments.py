"""Command-line arguments of every program of Armor."""

from __future__ import annotations

import argparse
from typing import NoReturn

from machine.tls import TlsFiles, use_identity
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


def add_identity(parser: argparse.ArgumentParser) -> None:
    """Options of a program that may use TLS, named as those of Open vSwitch's programs."""
    group = parser.add_argument_group("TLS", "of ssl: addresses; PEM files")
    group.add_argument("--private-key", metavar="FILE")
    group.add_argument("--certificate", metavar="FILE")
    group.add_argument("--ca-cert", metavar="FILE", help="the authority of the other ends' certificates")


def take_identity(given: argparse.Namespace) -> None:
    """Use the identity that the options name, if any.

    Raises
    ------
    BadInputError
        Some options are missing, or a file cannot be used.
    """
    files = (given.private_key, given.certificate, given.ca_cert)
    if not any(files):
        return
    if not all(files):
        raise BadInputError("--private-key, --certificate and --ca-cert go together; give all three")
    use_identity(TlsFiles(*files))
