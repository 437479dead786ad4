"""Requests without the token, too many, or of a web page of somebody else are refused; those of programs are not."""

from __future__ import annotations

from http import HTTPStatus

import pytest

from ryu_apps.control.decide.admission import (
    Sender,
    refused,
)

JSON = "application/json"


@pytest.mark.parametrize(
    "host", ["", "127.0.0.1:8080", "localhost:8080", "[::1]:8080", "10.0.0.7", "Controller.lan:8080"]
)
@pytest.mark.parametrize(
    ("method", "content_type"), [("GET", ""), ("HEAD", ""), ("POST", JSON), ("POST", JSON + "; charset=utf-8")]
)
def test_programs_are_served(method, host, content_type):
    assert refused(method, Sender(host, "", content_type), "controller.lan") is None


@pytest.mark.parametrize(
    "host", ["evil.example:8080", "evil.example", "127.0.0.1.evil.example:8080", "localhost.evil:1"]
)
def test_a_name_that_somebody_else_may_have_given_this_machine_is_refused(host):
    found = refused("GET", Sender(host), "127.0.0.1")
    assert found is not None
    assert found[0] == HTTPStatus.FORBIDDEN
    assert host in found[1]["error"]


@pytest.mark.parametrize("origin", ["http://evil.example", "https://127.0.0.1:8080", "http://127.0.0.1:9999", "null"])
def test_pages_of_other_origins_are_refused_and_own_ones_are_not(origin):
    host = "127.0.0.1:8080"
    for method in ("GET", "POST"):
        found = refused(method, Sender(host, origin, JSON), "127.0.0.1")
        assert found is not None
        assert found[0] == HTTPStatus.FORBIDDEN
    assert refused("POST", Sender(host, f"http://{host}", JSON), "127.0.0.1") is None


@pytest.mark.parametrize("content_type", ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
def test_what_a_form_can_send_changes_nothing(content_type):
    found = refused("POST", Sender("127.0.0.1:8080", "", content_type), "127.0.0.1")
    assert found is not None
    assert found[0] == HTTPStatus.UNSUPPORTED_MEDIA_TYPE
    assert JSON in found[1]["error"]


TOKEN = "a-token-of-mine-which-is-long"


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST"])
def test_a_request_with_the_token_is_served(method):
    for scheme in ("Bearer", "bearer"):
        assert refused(method, Sender("10.0.0.7:8080", "", JSON, f"{scheme} {TOKEN}"), "10.0.0.7", TOKEN) is None


@pytest.mark.parametrize("authorization", ["", TOKEN, f"Basic {TOKEN}", "Bearer", f"Bearer {TOKEN}x", "Bearer \u00fc"])
def test_a_request_without_the_token_is_refused_by_every_method(authorization):
    for method in ("GET", "HEAD", "POST"):
        found = refused(method, Sender("10.0.0.7:8080", "", JSON, authorization), "10.0.0.7", TOKEN)
        assert found is not None
        assert found[0] == HTTPStatus.UNAUTHORIZED
        assert TOKEN not in found[1]["error"]
