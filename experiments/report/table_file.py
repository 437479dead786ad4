"""Rows of results as a data frame, and as a CSV or Parquet file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mininet_topos.errors import BadInputError, MissingRequirementError

if TYPE_CHECKING:
    import pandas as pd

SUFFIXES = (".csv", ".parquet")


def frame_of(rows: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """A data frame of rows; a value within an object has the names of both: `stages_ms.detect`.

    Raises
    ------
    MissingRequirementError
        pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError:
        raise MissingRequirementError("data frames need pandas; install it: pip install 'armor-sdn[pandas]'") from None
    return pd.json_normalize(list(rows))


def write_rows(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Write rows to a file of the kind that its name ends with.

    Lists become JSON text, and so do the numbers of a column that also holds text.

    Raises
    ------
    BadInputError
        The name ends otherwise.
    MissingRequirementError
        pandas, or for Parquet pyarrow, is not installed.
    """
    if path.suffix not in SUFFIXES:
        raise BadInputError(f"--rows {str(path)!r} ends with neither {' nor '.join(SUFFIXES)}; name it so")
    frame = frame_of(rows)
    for name in frame.select_dtypes("object").columns:
        frame[name] = _of_one_kind(frame[name])
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
        return
    try:
        frame.to_parquet(path, index=False)
    except ImportError:
        raise MissingRequirementError("Parquet needs pyarrow; install it: pip install 'armor-sdn[parquet]'") from None


def _of_one_kind(column: pd.Series[Any]) -> pd.Series[Any]:
    """A column whose values, but those that are missing, have one type, as Parquet asks for."""
    kinds = {type(value) for value in column if not _missing(value)}
    if kinds <= {str} or kinds <= {bool} or kinds <= {int, float}:
        return column
    return column.map(lambda value: None if _missing(value) else value if isinstance(value, str) else json.dumps(value))


def _missing(value: object) -> bool:
    return value is None or value != value  # NaN: pandas puts it where a row has no value
