"""`armor protect` against a small server in place of a controller: what it asks for, and how it complains."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from experiments.cli.main import main

STATE = {
    "flows": [{"text": "s1 to s3"}],
    "connections": [
        {"number": 1, "from": "s1", "to": "s3", "sent": 1200, "accepted": None, "duplicate": 3, "out_of_window": 0}
    ],
}


class Controller(HTTPServer):
    """Answers every request with STATE, or with an error when asked to, and keeps what was asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[tuple[str, str, object]] = []
        self.refusal: tuple[int, str] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    server: Controller

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        self.server.asked.append((self.command, self.path, json.loads(body) if body else None))
        status, value = (
            (200, STATE) if self.server.refusal is None else (self.server.refusal[0], {"error": self.server.refusal[1]})
        )
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def controller() -> Iterator[Controller]:
    server = Controller()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_flows_of_options_and_of_files_are_sent_as_they_are(
    controller: Controller, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "flows.yaml"
    file.write_text("- {from: h2, to: h5}\n", encoding="utf-8")
    assert main(["protect", "add", str(file), "--url", controller.url]) == 0
    words = "protect remove --from h1 --to h3 --protocol udp --to-port 5000 --via s1,s2,s3 --number 7 --one-way --url"
    assert main([*words.split(), controller.url]) == 0
    flow = {"from": "h1", "to": "h3", "protocol": "udp", "to_port": 5000, "via": ["s1", "s2", "s3"], "number": 7}
    assert controller.asked == [
        ("POST", "/armor/protect", {"add": [{"from": "h2", "to": "h5"}]}),
        ("POST", "/armor/protect", {"remove": [{**flow, "both_ways": False}]}),
    ]
    assert "s1 to s3" in capsys.readouterr().out


def test_list_and_stats_show_flows_and_counters(controller: Controller, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["protect", "list", "--url", controller.url]) == 0
    assert capsys.readouterr().out.strip() == "s1 to s3"
    assert main(["protect", "stats", "--url", controller.url]) == 0
    shown = capsys.readouterr().out
    assert "1: s1 to s3" in shown
    assert "1,200" in shown
    assert main(["protect", "stats", "--url", controller.url, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == STATE


@pytest.mark.parametrize(("status", "code"), [(400, 2), (503, 1)])
def test_what_the_controller_refuses_is_said_in_its_own_words(
    controller: Controller, status: int, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    controller.refusal = (status, "no two disjoint paths lead from s1 to s2")
    assert main(["protect", "add", "--from", "h1", "--to", "h2", "--url", controller.url]) == code
    assert capsys.readouterr().err == "armor: no two disjoint paths lead from s1 to s2\n"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ("protect add", 2, "needs flows: give a file, or --from and --to"),
        ("protect add flows.yaml --from h1", 2, "needs flows: give a file, or --from and --to"),
        ("protect list flows.yaml", 2, "takes no file"),
        ("protect add nosuch.yaml", 2, "'nosuch.yaml' cannot be read"),
        ("protect lists", 2, "did you mean 'list'?"),
        ("protect add --from h1 --to h2 --protocol icmp", 2, "icmp"),
        ("protect list --url ftp://x", 2, "--url 'ftp://x' is no address"),
        ("protect list --url http://127.0.0.1:1", 1, "no controller answers at http://127.0.0.1:1"),
    ],
)
def test_bad_input_is_one_line_with_the_repair(
    words: str, code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = words.split() + ([] if "--url" in words else ["--url", "http://127.0.0.1:1"])
    assert main(argv) == code
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert said in err
