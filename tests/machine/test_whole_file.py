"""A file is whole or as it was before, and what is no ordinary file stays what it is."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from machine.whole_file import write_whole


def test_a_new_and_an_old_file_get_all_of_the_content(tmp_path: Path) -> None:
    for content in ("first \u00e9\n", b"second", ""):
        write_whole(tmp_path / "value.json", content, durable=True)
        assert (tmp_path / "value.json").read_bytes() == (content.encode() if isinstance(content, str) else content)
    assert os.listdir(tmp_path) == ["value.json"]


def test_a_write_that_breaks_off_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "value.json").write_text("old")

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_whole(tmp_path / "value.json", "new", durable=True)
    assert (tmp_path / "value.json").read_text() == "old"
    assert os.listdir(tmp_path) == ["value.json"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "page").symlink_to(tmp_path / "real")
    write_whole(tmp_path / "page", "text")
    assert (tmp_path / "page").is_symlink()
    assert (tmp_path / "real").read_text() == "text"


def test_a_pipe_is_written_as_it_stands(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append((tmp_path / "pipe").read_text()))
    reader.start()
    write_whole(tmp_path / "pipe", "text")
    reader.join()
    assert read == ["text"]
    assert (tmp_path / "pipe").is_fifo()
