"""What of an HTTP request reaches an application: what is admitted, whole, and not too long."""

from __future__ import annotations

import io
import json
from http import HTTPStatus

import pytest

from ryu_apps.control.decide.admission import MAX_BODY_BYTES, REQUESTS

pytestmark = pytest.mark.ryu
TOKEN = "a-token-of-mine-which-is-long"


class Client:
    """Asks a guarded application that repeats what it gets."""

    def __init__(self, token=None, answer=lambda *request: (HTTPStatus.OK, list(request))):
        from ryu_apps.control.serving import guarded, json_answer

        self._guarded = guarded(lambda *request: json_answer(answer(*request)), "127.0.0.1", token)

    def ask(self, method="GET", body=b"", **environ):
        """Status, headers and body."""
        found = []
        given = {
            "REQUEST_METHOD": method,
            "PATH_INFO": "/x",
            "HTTP_HOST": "127.0.0.1:8080",
            "CONTENT_TYPE": "application/json",
            "wsgi.input": io.BytesIO(body),
            **environ,
        }
        answer = b"".join(self._guarded(given, lambda *head: found.append(head)))
        ((status, headers),) = found
        return int(status.split()[0]), dict(headers), answer


def test_an_admitted_request_arrives_as_it_is():
    status, headers, answer = Client().ask("POST", b'{"add": []}')
    assert (status, json.loads(answer)) == (200, ["POST", "/x", '{"add": []}'])
    assert headers["Content-Length"] == str(len(answer))
    status, headers, answer = Client().ask("HEAD")
    assert (status, answer) == (200, b"")
    assert int(headers["Content-Length"]) > 0


def test_a_body_above_the_limit_is_refused_and_not_cut():
    client = Client()
    assert client.ask("POST", b"x" * (MAX_BODY_BYTES + 1))[0] == 413
    status, _headers, answer = client.ask("POST", b"x" * MAX_BODY_BYTES)
    assert (status, len(json.loads(answer)[2])) == (200, MAX_BODY_BYTES)


def test_the_token_is_asked_for():
    client = Client(TOKEN)
    status, headers, _answer = client.ask()
    assert (status, headers["WWW-Authenticate"]) == (401, "Bearer")
    assert client.ask(HTTP_AUTHORIZATION=f"Bearer {TOKEN}")[0] == 200


def test_a_foreign_page_gets_nothing():
    assert Client().ask(HTTP_ORIGIN="http://evil.example")[0] == 403
    assert Client().ask("POST", b"{}", CONTENT_TYPE="text/plain")[0] == 415


def test_a_flood_of_requests_is_refused():
    client = Client()
    found = [client.ask()[0] for _ in range(int(REQUESTS.at_once) * 3)]
    assert set(found) == {200, 429}
    assert set(found[: int(REQUESTS.at_once)]) == {200}


def test_requests_that_are_refused_cost_others_nothing_of_their_rate():
    client = Client(TOKEN)
    assert {client.ask()[0] for _ in range(int(REQUESTS.at_once) * 3)} == {401}
    assert client.ask(HTTP_AUTHORIZATION=f"Bearer {TOKEN}")[0] == 200


def test_an_error_of_the_application_is_answered_and_logged(caplog):
    def broken(*_request):
        raise KeyError("s9")

    status, _headers, answer = Client(answer=broken).ask()
    assert (status, list(json.loads(answer))) == (500, ["error"])
    assert "GET /x failed" in caplog.text
    assert "KeyError: 's9'" in caplog.text
