"""Files that cannot be a topology: one sentence each, whatever the kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from mininet_topos.catalogue import load_topology
from mininet_topos.errors import BadInputError


def refusal(name):
    with pytest.raises(BadInputError) as error:
        load_topology(str(name))
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("ending", ["graphml", "json", "gml"])
def test_missing_empty_and_blank_files_and_directories_are_distinguished(tmp_path, ending):
    path = tmp_path / f"x.{ending}"
    assert "there is no such file" in refusal(path)
    path.write_bytes(b"")
    assert "the file is empty" in refusal(path)
    path.write_bytes(b" \n ")
    assert "the file is empty" in refusal(path)
    folder = tmp_path / f"folder.{ending}"
    folder.mkdir()
    assert "this is a directory" in refusal(folder)


def test_unknown_endings_are_refused(tmp_path):
    for name, words in (("x.xml", "ends in '.xml'"), ("x", "has no ending")):
        path = tmp_path / name
        path.write_text("something")
        assert words in refusal(path)


def test_path_through_a_file_and_a_null_byte_are_refused(tmp_path):
    (tmp_path / "file").write_text("x")
    assert "Not a directory" in refusal(tmp_path / "file" / "x.json")
    assert "null byte" in refusal(tmp_path / "a\0b.json")


def test_file_without_read_right_is_refused(tmp_path, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied", str(path))

    (tmp_path / "x.json").write_text("{}")
    monkeypatch.setattr(Path, "read_bytes", refuse)
    assert "cannot be read (Permission denied)" in refusal(tmp_path / "x.json")


def test_line_break_in_a_file_name_stays_out_of_the_message(tmp_path):
    assert "no such file" in refusal(tmp_path / "a\nb.json")


def test_name_beyond_what_a_file_system_allows_is_refused():
    assert "no topology is called 'xxx" in refusal("x" * 5000)
    assert "File name too long" in refusal("x" * 5000 + ".json")


def test_name_wins_over_a_file_and_a_path_reaches_the_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "usnet").write_text("x")
    assert len(load_topology("usnet").nodes) == 24
    assert "has no ending" in refusal("./usnet")
