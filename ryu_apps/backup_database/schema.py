"""The schema of the backup database: where it is, what it is called, and how a change of it is noticed.

Its own database in its own file, never columns of Open_vSwitch: every change of that one wakes
ovs-vswitchd. The columns are documented in docs/backup_database.md.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

DATABASE = "Armor_Backup"
VERSION = "2.1.0"
SCHEMA_PATH = Path(__file__).with_name("armor_backup.ovsschema")


def read_schema(path: Path = SCHEMA_PATH) -> dict[str, Any]:
    """The schema file as a JSON object."""
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def schema_checksum(schema: dict[str, Any]) -> str:
    """Short checksum of what the schema says, version and layout of the file left out.

    A test pins it beside the version, so that no change goes without a new version.
    """
    tables = json.dumps({"name": schema["name"], "tables": schema["tables"]}, sort_keys=True)
    return hashlib.sha256(tables.encode("utf-8")).hexdigest()[:16]
