"""Schemes of installed packages: the example works wherever a scheme does, and a broken one gets one sentence."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from experiments.loadgen.ports import free_port
from mininet_topos.errors import BadInputError
from ryu_apps import schemes
from ryu_apps.plan import scheme_names
from tests.quality.layers import ROOT

ARMOR = str(Path(sys.executable).with_name("armor"))
EXAMPLE = ROOT / "examples" / "own_scheme"
SCHEME = "Scheme(name={name!r}, number={number}, summary='s', label='l', colour='#000000')"
HEAD = "from ryu_apps.plan.scheme import Scheme\n"
BROKEN = {
    "raises": ("raise ValueError('no\\nmore')", "scheme 'own' cannot be loaded (ValueError: no more)"),
    "imports what is not there": ("import nowhere_at_all", "cannot be loaded (ModuleNotFoundError"),
    "has no such value": ("OTHER = 1", "cannot be loaded (AttributeError"),
    "of another type": ("SCHEME = 'two trees'", "scheme 'own' is a str, not a ryu_apps.plan.scheme.Scheme"),
    "another name": (HEAD + "SCHEME = " + SCHEME.format(name="mine", number=200), "calls itself 'mine'"),
    "no name": (HEAD + "SCHEME = " + SCHEME.format(name="my own", number=200), "scheme name 'my own' is no name"),
    "no number": (HEAD + "SCHEME = " + SCHEME.format(name="own", number=999), "has number 999; use 128 to 255"),
    "number of a scheme": (HEAD + "SCHEME = " + SCHEME.format(name="own", number=2), "number 2 belongs to 'sdfast'"),
    "number of in-band rows": (HEAD + "SCHEME = " + SCHEME.format(name="own", number=16), "belongs to 'IN_BAND'"),
}


def install(folder: Path, package: str, name: str, text: str) -> dict[str, str]:
    """Environment in which a package with one module and one entry point is installed."""
    (folder / f"{package}.py").write_text(text, encoding="utf-8")
    facts = folder / f"{package}-0.1.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 0.1\n", encoding="utf-8")
    (facts / "entry_points.txt").write_text(f"[armor.schemes]\n{name} = {package}:SCHEME\n", encoding="utf-8")
    return {**os.environ, "PYTHONPATH": str(folder)}


@pytest.fixture
def example(tmp_path: Path) -> dict[str, str]:
    return install(tmp_path, "two_trees", "two_trees", (EXAMPLE / "two_trees.py").read_text(encoding="utf-8"))


def armor(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([ARMOR, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def test_the_example_is_a_whole_package_of_at_most_80_lines() -> None:
    assert sum(len(file.read_text().splitlines()) for file in EXAMPLE.iterdir() if file.is_file()) <= 80
    assert 'two_trees = "two_trees:SCHEME"' in (EXAMPLE / "pyproject.toml").read_text()


def test_the_example_is_planned_and_keeps_its_promise(example: dict[str, str]) -> None:
    assert "two_trees" in armor(example, "plan", "--help").stdout
    planned = json.loads(armor(example, "plan", "two_trees", "square", "--json").stdout)
    cookies = {int(row["cookie"], 16) >> 56 for switch in planned["switches"] for row in switch["flows"]}
    assert cookies == {200}
    found = armor(example, "verify", "two_trees", "darkstrand", "--failures", "1", "--json")
    value = json.loads(found.stdout)
    assert (found.returncode, value["cases"], value["delivered"], value["broken"]) == (0, 5640, 5640, 0)


@pytest.mark.ovs
def test_the_example_agrees_with_open_vswitch(example: dict[str, str]) -> None:
    found = armor(example, "verify", "two_trees", "square", "--against-ovs", "--samples", "200", "--json")
    assert (found.returncode, json.loads(found.stdout)["differences"]) == (0, 0)


@pytest.mark.ryu
@pytest.mark.parametrize("way", ["armor controller", "ryu-manager with a file of two lines"])
def test_the_example_runs_as_a_ryu_app(way: str, example: dict[str, str], tmp_path: Path) -> None:
    ports = (str(free_port()), str(free_port()))
    settings = {**example, "ARMOR_REST_PORT": ports[0], "ARMOR_TOPOLOGY": "square"}
    file = tmp_path / "my_app.py"
    file.write_text(
        "from ryu_apps.control.app import PlanApp\nclass MyApp(PlanApp): scheme = 'two_trees'\n", encoding="utf-8"
    )
    listening = ("--ofp-tcp-listen-port", ports[1])
    command = {
        "armor controller": (ARMOR, "controller", "two_trees", "square", "--", *listening),
        "ryu-manager with a file of two lines": (str(Path(ARMOR).with_name("ryu-manager")), *listening, str(file)),
    }[way]
    with subprocess.Popen(command, cwd=ROOT, env=settings) as app:
        try:
            state = answer(f"http://127.0.0.1:{ports[0]}/armor/state")
            plan = answer(f"http://127.0.0.1:{ports[0]}/armor/plan/1")
        finally:
            app.terminate()
    assert state["scheme"] == "two_trees"
    assert {int(row["cookie"], 16) >> 56 for row in plan["flows"]} == {1, 200}


def answer(url: str) -> dict[str, object]:
    """JSON value at a URL, once somebody answers there."""
    deadline = time.monotonic() + 60
    while True:
        try:
            with urllib.request.urlopen(url, timeout=5) as found:
                return dict(json.load(found))
        except OSError:
            if time.monotonic() > deadline:
                raise
        time.sleep(0.2)


def test_a_broken_scheme_gets_one_sentence_and_exit_code_2(tmp_path: Path) -> None:
    found = armor(install(tmp_path, "own_package", "own", BROKEN["raises"][0]), "plan", "sdfast", "square")
    assert (found.returncode, found.stdout, found.stderr.count("\n")) == (2, "", 1)
    assert "the installed package own_package (own_package:SCHEME): scheme 'own' cannot be loaded" in found.stderr
    assert armor({**os.environ, "PYTHONPATH": str(tmp_path)}, "topo", "list").returncode == 0


@pytest.fixture
def forgetting() -> Iterator[None]:
    schemes.all_schemes.cache_clear()
    yield
    schemes.all_schemes.cache_clear()


@pytest.mark.usefixtures("forgetting")
@pytest.mark.parametrize("fault", BROKEN)
def test_every_fault_of_a_scheme_is_named(fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text, sentence = BROKEN[fault]
    package = f"own_{list(BROKEN).index(fault)}"
    (tmp_path / f"{package}.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    point = EntryPoint("own", f"{package}:SCHEME", scheme_names.ENTRY_POINTS)
    monkeypatch.setattr(scheme_names, "entry_points", lambda group: [point])
    with pytest.raises(BadInputError) as error:
        schemes.all_schemes()
    assert sentence in str(error.value)
    assert package in str(error.value)


@pytest.mark.usefixtures("forgetting")
def test_the_name_of_a_scheme_of_armor_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("ffg", "ryu_apps.schemes.ffg:SCHEME", scheme_names.ENTRY_POINTS)
    monkeypatch.setattr(scheme_names, "entry_points", lambda group: [point])
    with pytest.raises(BadInputError, match="there is a scheme 'ffg' already; choose another name"):
        schemes.all_schemes()


@pytest.mark.emulation
def test_the_example_recovers_in_an_emulated_network(example: dict[str, str], tmp_path: Path) -> None:
    scenario = tmp_path / "own.yaml"
    scenario.write_text(
        "topology: square\nscheme: two_trees\ntraffic: [{from: h1, to: h3}]\n"
        "bfd_interval_ms: 100\nwait_to_restore_s: 1\nsettle_s: 1\n"
        "failures: [{kind: silent, link: [s1, s2], at_s: 1.0, repair_at_s: 3.0}]\n"
    )
    results = tmp_path / "results"
    found = armor(example, "run", str(scenario), "--json", "--out", str(results))
    (run,) = json.loads(found.stdout)["runs"]
    assert (found.returncode, run["scheme"], run["held"]) == (0, "two_trees", True), found.stderr
    page = tmp_path / "report.html"
    assert armor(example, "report", str(results), "--out", str(page)).returncode == 0
    assert "two_trees" in page.read_text(encoding="utf-8")
    shutil.rmtree(results)
