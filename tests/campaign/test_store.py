"""The folder of a campaign: torn lines, locks, refusals."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from experiments.campaign.act.store import CAMPAIGN, PACKED_ROWS, ROWS, Store
from experiments.campaign.stored_keys import PRESENT
from mininet_topos.errors import ArmorError, BadInputError


def row(name: str) -> dict[str, str]:
    """The least that is a row."""
    return {"trial": name, "status": "ok"}


def test_rows_come_back_as_they_were_written(tmp_path: Path) -> None:
    store = Store(tmp_path)
    written = [row("a"), {**row("ü"), "nested": {"x": [1, None, 2.5]}}]
    with store.writing():
        for one in written:
            store.append(one)
            assert store.rows()[-1] == one
    assert Store(tmp_path).rows() == written


def test_keys_of_earlier_versions_are_read_under_their_present_names(tmp_path: Path) -> None:
    old = {
        **row("a"),
        "arm": "cb",
        "pairs": [{"phases": {"transient": {"came_back": 3}}}],
        "parameters": {"cut_s": 1.0},
    }
    (tmp_path / ROWS).write_text(json.dumps(old) + "\n")
    (tmp_path / CAMPAIGN).write_text(json.dumps({"format_version": 1, "arms": ["cb"]}))
    (read,) = Store(tmp_path).rows()
    assert (read["variant"], read["parameters"]) == ("cb", {"failure_s": 1.0})
    assert read["pairs"] == [{"phases": {"transient": {"backtracked": 3}}}]
    assert Store.open(tmp_path).description["variants"] == ["cb"]


def test_no_present_key_is_also_an_earlier_one() -> None:
    assert not PRESENT.keys() & set(PRESENT.values())
    assert len(set(PRESENT.values())) == len(PRESENT)


@pytest.mark.parametrize("torn", [b"{", b'{"trial": "b", "sta', b'{"trial": "b", "status": "ok"}', b"\xff\x00"])
def test_a_torn_last_line_is_not_read_and_is_gone_after_the_next_write(tmp_path: Path, torn: bytes) -> None:
    store = Store(tmp_path)
    with store.writing():
        store.append(row("a"))
    with (tmp_path / ROWS).open("ab") as file:
        file.write(torn)
    assert store.rows() == [row("a")]
    with store.writing():
        store.append(row("c"))
    assert store.rows() == [row("a"), row("c")]


@pytest.mark.parametrize("line", ["not json", "[]", '{"status": "ok"}'])
def test_a_whole_line_that_is_no_row_is_named(tmp_path: Path, line: str) -> None:
    (tmp_path / ROWS).write_text(f"{json.dumps(row('a'))}\n{line}\n")
    with pytest.raises(BadInputError, match="line 2"):
        Store(tmp_path).rows()


def test_two_processes_cannot_write_one_folder(tmp_path: Path) -> None:
    with Store(tmp_path).writing(), pytest.raises(BadInputError, match="another"), Store(tmp_path).writing():
        pass
    with Store(tmp_path).writing():
        pass


def test_rows_are_appended_only_while_the_folder_is_held(tmp_path: Path) -> None:
    store = Store(tmp_path)
    with store.writing():
        pass
    with pytest.raises(RuntimeError):
        store.append(row("a"))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object()])
def test_a_row_that_json_does_not_know_is_refused_and_leaves_nothing(tmp_path: Path, value: object) -> None:
    store = Store(tmp_path)
    with store.writing(), pytest.raises(ArmorError, match="'a'"):
        store.append({**row("a"), "x": value})
    assert (tmp_path / ROWS).read_bytes() == b""


def test_a_new_campaign_needs_an_empty_folder(tmp_path: Path) -> None:
    Store.create(tmp_path / "new", {"ids": []})
    with pytest.raises(BadInputError, match=r"is not empty; name a new one with --out$"):
        Store.create(tmp_path / "new", {"ids": []})
    (tmp_path / "file").touch()
    with pytest.raises(BadInputError, match="cannot be used"):
        Store.create(tmp_path / "file", {"ids": []})


def test_only_folders_of_campaigns_open(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=CAMPAIGN):
        Store.open(tmp_path)
    with pytest.raises(BadInputError, match=CAMPAIGN):
        Store.open(tmp_path / "missing")
    (tmp_path / CAMPAIGN).write_text("[1]")
    with pytest.raises(BadInputError, match="no JSON object"):
        Store.open(tmp_path)
    (tmp_path / CAMPAIGN).write_text('{"format_version": 99}')
    with pytest.raises(BadInputError, match="format 99"):
        Store.open(tmp_path)


def test_the_work_folder_is_empty_and_goes_away_also_after_errors(tmp_path: Path) -> None:
    store = Store(tmp_path)
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "left by a kill").touch()

    def break_off() -> None:
        with store.work() as work:
            assert list(work.iterdir()) == []
            (work / "capture").touch()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        break_off()
    assert not (tmp_path / "work").exists()


def test_packed_rows_are_read_but_not_written(tmp_path: Path) -> None:
    written = [row("a"), row("b")]
    (tmp_path / PACKED_ROWS).write_bytes(gzip.compress(b"".join(json.dumps(one).encode() + b"\n" for one in written)))
    assert Store(tmp_path).rows() == written
    with pytest.raises(BadInputError, match="gunzip"), Store(tmp_path).writing():
        pass
    assert not (tmp_path / ROWS).exists()


@pytest.mark.parametrize("keep", [0, 10, -3])
def test_damaged_packed_rows_are_refused(tmp_path: Path, keep: int) -> None:
    (tmp_path / PACKED_ROWS).write_bytes(gzip.compress(b'{"trial": "a", "status": "ok"}\n')[:keep] or b"no gzip")
    with pytest.raises(BadInputError, match="cannot be unpacked"):
        Store(tmp_path).rows()
