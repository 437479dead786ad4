"""The token file of a controller's HTTP interface: when there is one, who may read it, what it may hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from mininet_topos.errors import BadInputError
from ryu_apps.control.rest_token import token_for


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.3.4.5"])
def test_loopback_needs_no_token_unless_a_file_is_named(host: str, tmp_path: Path) -> None:
    assert token_for(host, 8080, "") is None
    assert token_for(host, 8080, str(tmp_path / "token")) is not None


@pytest.mark.parametrize("host", ["0.0.0.0", "10.0.0.1", "::", "controller.lan"])
def test_elsewhere_a_token_is_made_for_its_owner_alone_and_stays(host: str, home: Path) -> None:
    first = token_for(host, 8081, "")
    assert first is not None
    token, file = first
    assert file == home / ".armor" / "rest-8081.token"
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert len(token) >= 32
    assert file.read_text().strip() == token
    assert token_for(host, 8081, "") == first
    other = token_for(host, 8082, "")
    assert other is not None
    assert other[0] != token


@pytest.mark.parametrize("text", ["", "short", "a" * 20 + " b", "\u00fc" * 20])
def test_a_file_that_holds_no_token_is_refused(text: str, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(text)
    file.chmod(0o600)
    with pytest.raises(BadInputError, match="holds no token"):
        token_for("10.0.0.1", 1, str(file))


def test_a_file_that_others_may_read_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("a-token-of-mine-which-is-long")
    file.chmod(0o640)
    with pytest.raises(BadInputError, match="chmod 600"):
        token_for("10.0.0.1", 1, str(file))
    file.chmod(0o600)
    assert token_for("10.0.0.1", 1, str(file)) == ("a-token-of-mine-which-is-long", file)


def test_a_file_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=r"nowhere.*No such file"):
        token_for("10.0.0.1", 1, str(tmp_path / "nowhere" / "token"))
