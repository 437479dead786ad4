"""The page is one text that loads nothing; the server gives it only to those who have its address."""

from __future__ import annotations

import base64
import hashlib
import http.client
import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from urllib.parse import urlsplit

import pytest

from experiments.cli.main import main
from experiments.live.html import PAGE, SCRIPTS, VENDOR, embedded, to_html
from experiments.live.replay import read_document
from tests.live import folders
from tests.patience import patient_s

EVIL = "</script><script>alert('x')</script><!-- %script% é"


class Scripts(HTMLParser):
    """Script elements of a page, their texts and all addresses."""

    def __init__(self, text):
        super().__init__()
        self.scripts, self.addresses, self.policy, self._open = [], [], "", False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.addresses += [given[name] for name in ("src", "href", "action", "srcset", "data") if name in given]
        if given.get("http-equiv") == "Content-Security-Policy":
            self.policy = given["content"]
        self._open = tag == "script"
        if self._open:
            self.scripts.append((given, ""))

    def handle_data(self, data):
        if self._open:
            given, text = self.scripts[-1]
            self.scripts[-1] = (given, text + data)

    def handle_endtag(self, tag):
        self._open = self._open and tag != "script"


@pytest.fixture(scope="module")
def document(tmp_path_factory):
    return read_document(folders.recovered_folder(tmp_path_factory.mktemp("page") / "mine"))


def test_page_loads_nothing(document):
    page = Scripts(to_html(document))
    assert all(address.startswith(("#", "data:")) for address in page.addresses)
    style = (PAGE / "page.css").read_text()
    assert "url(" not in style
    assert "@import" not in style
    assert "default-src 'none'" in page.policy


def test_policy_admits_the_page_s_own_scripts_and_no_other(document):
    page = Scripts(to_html(document))
    run = [text for given, text in page.scripts if given.get("type") != "application/json"]
    hashes = {f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in run}
    assert set(re.findall(r"'sha256-[^']+'", page.policy)) == hashes
    assert len(hashes) == 2


def test_names_cannot_leave_their_place(document):
    odd = replace(document, title=EVIL, runs=(replace(document.runs[0], name=EVIL, warnings=(EVIL,)),))
    page = Scripts(to_html(odd))
    assert len(page.scripts) == 3
    (value,) = [json.loads(text) for given, text in page.scripts if given.get("type") == "application/json"]
    assert value["title"] == EVIL
    assert value["runs"][0]["warnings"] == [EVIL]


def test_embedded_json_is_the_same_value():
    assert json.loads(embedded(json.dumps({"a": EVIL}))) == {"a": EVIL}
    assert "<" not in embedded(json.dumps(EVIL))


def test_equal_documents_give_equal_texts(document):
    assert to_html(document) == to_html(replace(document))


def test_vendored_library_is_whole_and_has_its_licence():
    text = VENDOR.read_text(encoding="utf-8")
    assert "The Cytoscape Consortium" in text[:200]
    assert "Permission is hereby granted" in (VENDOR.parent / "cytoscape.LICENSE").read_text()
    version, digest = re.findall(r"`([0-9.]+)`.*`([0-9a-f]{64})`", (VENDOR.parent / "README.md").read_text())[0]
    assert f'"{version}"' in text
    assert hashlib.sha256(VENDOR.read_bytes()).hexdigest() == digest


def test_scripts_of_the_page_are_those_that_are_listed():
    assert {path.name for path in PAGE.glob("*.js")} == set(SCRIPTS)


def test_export_writes_the_page(tmp_path, capsys):
    folder = folders.recovered_folder(tmp_path / "mine")
    target = tmp_path / "new" / "page.html"
    assert main(["live", str(folder), "--export", str(target), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"page": str(target), "bytes": target.stat().st_size}
    assert target.read_text(encoding="utf-8") == to_html(read_document(folder))


def test_a_report_links_to_the_replays_beside_it(tmp_path, capsys):
    runs = [folders.recovered_folder(tmp_path / name) for name in ("one", "two words")]
    target = tmp_path / "out" / "my page.html"
    assert main(["report", *map(str, runs), "--live", "--out", str(target)]) == 0
    capsys.readouterr()
    found = re.findall(r'<a href="([^"#]+)">', target.read_text(encoding="utf-8"))
    assert found == ["my%20page-live-1.html", "my%20page-live-2.html"]
    assert {path.name for path in target.parent.iterdir()} == {
        "my page.html",
        "my page-live-1.html",
        "my page-live-2.html",
    }


def test_without_live_a_report_is_one_file(tmp_path):
    folder = folders.recovered_folder(tmp_path / "one")
    assert main(["report", str(folder), "--out", str(tmp_path / "page.html")]) == 0
    assert "-live-" not in (tmp_path / "page.html").read_text()
    assert [path.name for path in tmp_path.glob("*.html")] == ["page.html"]


@pytest.fixture
def served(tmp_path):
    """`armor live FOLDER` in a process of its own: (process, URL from its first line)."""
    pytest.importorskip("uvicorn", reason="Python package uvicorn is not installed")
    folder = folders.recovered_folder(tmp_path / "mine")
    process = subprocess.Popen(
        [sys.executable, "-m", "experiments", "live", str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    try:
        yield process, process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()


def answer(url, path, host=None):
    """Status and body of a GET."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=patient_s(20))
    try:
        connection.request("GET", path, headers={"Host": host or parts.netloc})
        response = connection.getresponse()
        return response.status, response.read().decode(), dict(response.getheaders())
    finally:
        connection.close()


def test_the_first_line_is_an_address_that_only_its_reader_has(served):
    process, url = served
    parts = urlsplit(url)
    assert parts.hostname == "127.0.0.1"
    assert re.fullmatch(r"/[\w-]{20,}/", parts.path)
    status, body, headers = answer(url, parts.path)
    assert status == 200
    assert "Armor live" in body
    assert headers["cache-control"] == "no-store"
    assert headers["referrer-policy"] == "no-referrer"
    assert [answer(url, path)[0] for path in ("/", "/index.html", f"{parts.path[:-2]}/")] == [404, 404, 404]
    assert answer(url, parts.path, host="evil.example")[0] == 400
    process.send_signal(signal.SIGINT)
    assert process.wait(patient_s(20)) in {0, 130}
    assert "Traceback" not in process.stderr.read()
