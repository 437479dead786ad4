"""The token of a controller's REST interface, as clients send it."""

from __future__ import annotations

import argparse
import os

from mininet_topos.input_files import read_text

VARIABLE = "ARMOR_REST_TOKEN_FILE"
_MOST_BYTES = 10_000


def add_token_option(parser: argparse._ActionsContainer) -> None:
    """The option of commands that ask a controller."""
    parser.add_argument(
        "--token-file", metavar="FILE", help=f"token of a controller that asks for one (default: ${VARIABLE})"
    )


def token_headers(file: str | None) -> dict[str, str]:
    """Headers that bear the token of a file; none without a file.

    Raises
    ------
    BadInputError
        The file cannot be read.
    """
    name = file or os.environ.get(VARIABLE)
    if not name:
        return {}
    return {"Authorization": f"Bearer {read_text(name, f'the token file {name!r}', _MOST_BYTES).strip()}"}
