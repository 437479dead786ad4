"""Key `pmt` of a scenario: the controller serves OpenFlow messages by the classes of a Policy Map Table (PSO)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from experiments.scenario.fields import Context, word
from mininet_topos.errors import BadInputError
from mininet_topos.lines import Line, plain
from ryu_apps.pmt.parse import parse_pmt
from ryu_apps.pmt.rules import PolicyMapTable
from ryu_apps.pmt.serial import to_json


def read_pmt(context: Context, line: Line | None, read_file: Callable[[str], str]) -> PolicyMapTable | None:
    """The table of a scenario: a file's name, or the table itself.

    Raises
    ------
    BadInputError
        The file cannot be read, or is no table.
    """
    if line is None or line.value is None:
        return None
    try:
        if isinstance(line.value, dict):
            return parse_pmt(json.dumps(plain(line)), "pmt")
        name = word(context, line, "pmt")
        return parse_pmt(read_file(name), name)
    except BadInputError as error:
        raise context.error(line, str(error)) from error


def pmt_to_document(table: PolicyMapTable | None) -> dict[str, Any] | None:
    """The key's value that gives the table back."""
    if table is None:
        return None
    document: dict[str, Any] = json.loads(to_json(table))
    return document
