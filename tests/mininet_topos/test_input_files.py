"""Files that users name: whatever stands at the path, they are read whole or refused in one sentence."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mininet_topos.errors import BadInputError
from mininet_topos.input_files import is_file, parse_json, read_bytes, read_text
from mininet_topos.wording import sentence


def refusal(path: Path, most_bytes: int = 1000) -> str:
    with pytest.raises(BadInputError) as caught:
        read_text(path, "the file x", most_bytes)
    said = str(caught.value)
    assert said.startswith("the file x ")
    assert "; " in said
    return said


def test_a_file_is_read_without_the_mark_that_editors_put_first(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"\xef\xbb\xbfcaf\xc3\xa9\r\n")
    assert read_text(tmp_path / "x", "x") == "café\r\n"


def test_a_pipe_and_a_device_are_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "pipe or a device" in refusal(tmp_path / "pipe")
    assert "pipe or a device" in refusal(Path("/dev/zero"))


def test_what_is_no_file_is_named_with_its_reason(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "file").write_text("x", encoding="utf-8")
    assert "no such file" in refusal(tmp_path / "nothing")
    assert "directory" in refusal(tmp_path)
    assert "symbolic links" in refusal(tmp_path / "loop")
    assert "Not a directory" in refusal(tmp_path / "file" / "x")
    assert "null byte" in refusal(tmp_path / "a\0b")
    assert "too long" in refusal(tmp_path / ("x" * 5000))


def test_a_file_of_another_size_or_encoding_is_refused(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(b"x" * 1001)
    (tmp_path / "latin").write_bytes(b"one\ntwo\ncaf\xe9")
    assert "has 1,001 bytes, and at most 1,000 are read" in refusal(tmp_path / "large")
    assert "line 3 is not UTF-8" in refusal(tmp_path / "latin")
    assert read_bytes(tmp_path / "latin", "x") == b"one\ntwo\ncaf\xe9"


def test_a_name_that_no_file_can_have_is_no_file() -> None:
    assert not is_file("x" * 5000)
    assert not is_file("a\0b")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"a": 1 "b": 2}', "line 1, column 9"),
        ("[" * 100_000, "nested too deeply"),
        ("9" * 5000, "cannot be read"),
        ('{"a": {"b": 1, "b": 2}}', "'b' stands twice"),
        (b"\xff\xfe\x00", "cannot be read"),
    ],
)
def test_json_that_means_nothing_is_refused(text: str | bytes, words: str) -> None:
    with pytest.raises(BadInputError, match=words):
        parse_json(text)


@given(st.text())
def test_any_message_becomes_one_line_without_control_characters(text: str) -> None:
    said = sentence(ValueError(text))
    assert said.isprintable()
    assert said == " ".join(said.split())


@given(st.integers(min_value=2, max_value=8000), st.sampled_from(["a", "a ", "é日 "]))
def test_a_message_of_any_length_keeps_its_beginning_and_its_end(times: int, word: str) -> None:
    said = sentence(ValueError("start " + word * times + " end"))
    assert said.startswith("start ")
    assert said.endswith("end")
    assert len(said) <= 1510
