"""Policy Map Tables that `armor load` is given."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mininet_topos.errors import BadInputError
from mininet_topos.input_files import is_file

if TYPE_CHECKING:
    from ryu_apps.pmt.rules import PolicyMapTable

DEFAULT_PMT = "examples/pmt/out_of_band.yaml"


def pmt_path(name: str) -> Path:
    """Path of a file of the user, or of one that Armor ships.

    Raises
    ------
    BadInputError
        There is none of that name.
    """
    from machine.environment import REPOSITORY

    for path in (Path(name), REPOSITORY / name):
        if is_file(path):
            return path
    raise BadInputError(f"there is no Policy Map Table {name!r}; examples are in examples/pmt/")


def read_pmt(name: str) -> PolicyMapTable:
    """A Policy Map Table of the user, or one that Armor ships.

    Raises
    ------
    BadInputError
        There is none of that name, or it cannot be used.
    """
    from ryu_apps.pmt.parse import load_pmt

    return load_pmt(pmt_path(name), f"Policy Map Table {name!r}")
