"""The schema of the backup database: version, documentation, and what it refuses."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ryu_apps.backup_database.decide.tables import PLAN_TABLES
from ryu_apps.backup_database.schema import DATABASE, SCHEMA_PATH, VERSION, read_schema, schema_checksum

# Every version that was ever committed, with the checksum of its tables. A change of the schema needs a new
# version and a new line here: major when old readers break, minor when columns are added.
CHECKSUMS = {"1.0.0": "32b56da4c0390f9e", "2.0.0": "af268e353f2ca530", "2.1.0": "3bcde01f6103d32d"}
DOCUMENT = Path(__file__).parents[2] / "docs" / "backup_database.md"


def test_schema_has_the_checksum_of_its_version():
    assert schema_checksum(read_schema()) == CHECKSUMS[VERSION], "give the changed schema a new version"


def test_version_in_the_file_is_the_version_in_the_code():
    assert read_schema()["version"] == VERSION
    assert read_schema()["name"] == DATABASE


def test_checksum_notices_a_changed_column_and_ignores_the_version():
    changed = read_schema()
    changed["tables"]["Backup"]["columns"]["tag_id"] = {"type": "string"}
    assert schema_checksum(changed) != schema_checksum(read_schema())
    assert schema_checksum({**read_schema(), "version": "9.9.9"}) == schema_checksum(read_schema())


def columns() -> list[tuple[str, str]]:
    return [(name, column) for name, table in read_schema()["tables"].items() for column in table["columns"]]


@pytest.mark.parametrize(("table", "column"), columns())
def test_every_column_is_documented_in_the_section_of_its_table(table, column):
    section = DOCUMENT.read_text(encoding="utf-8").split(f"## {table}\n")[1].split("\n## ")[0]
    assert f"| `{column}` |" in section


def test_every_table_that_holds_rows_of_a_plan_has_bridge_generation_and_position():
    tables = read_schema()["tables"]
    assert set(tables) == {"Bridge", *PLAN_TABLES}
    for name in PLAN_TABLES:
        assert {"bridge", "generation", "position"} <= set(tables[name]["columns"])
        assert ["bridge", "generation", "position"] in tables[name]["indexes"]


@pytest.mark.ovs
def test_ovsdb_accepts_the_schema(tmp_path):
    subprocess.run(["ovsdb-tool", "create", tmp_path / "x.db", SCHEMA_PATH], check=True)
    version = subprocess.run(
        ["ovsdb-tool", "db-version", tmp_path / "x.db"], check=True, capture_output=True, text=True
    )
    assert version.stdout.strip() == VERSION
