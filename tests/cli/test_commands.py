# ruff: noqa: E501 - a case of the table reads best on one line
"""Commands that need neither root nor Open vSwitch: their output for people and for machines."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.cli.demo_text import demo_text
from experiments.cli.main import COMMANDS, main
from experiments.cli.run_text import runs_text
from experiments.terminal.output import table
from mininet_topos.catalogue import load_topology


def json_of(argv: list[str], capsys: pytest.CaptureFixture[str]) -> dict:
    assert main([*argv, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_does_not_wait_for_libraries_that_compute_or_draw(command: str) -> None:
    program = f"""
import sys
from experiments.cli.main import main
try:
    main(["{command}", "--help"])
except SystemExit:
    print(sorted({{"numpy", "scipy", "numba", "cvxpy", "matplotlib"}} & set(sys.modules)))
"""
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert said.splitlines()[-1] == "[]"


def test_the_list_names_the_catalogue(capsys: pytest.CaptureFixture[str]) -> None:
    rows = {row["name"]: row for row in json_of(["topo", "list"], capsys)["topologies"]}
    assert (rows["darkstrand"]["nodes"], rows["darkstrand"]["links"]) == (28, 31)
    assert main(["topo", "list"]) == 0
    assert "darkstrand" in capsys.readouterr().out


def test_a_topology_is_shown_with_all_nodes_and_links(capsys: pytest.CaptureFixture[str]) -> None:
    value = json_of(["topo", "show", "usnet"], capsys)
    assert (value["nodes"], value["links"]) == (24, 43)


def test_a_drawing_is_written_where_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    picture = tmp_path / "new" / "figure2.svg"
    assert main(["topo", "draw", "figure2", "--out", str(picture), "--failed", "s4-s5", "--path", "s1,s2"]) == 0
    assert picture.read_text(encoding="utf-8").startswith("<?xml")


def test_a_path_is_drawn_over_links_of_any_key(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    topology, picture = tmp_path / "second.json", tmp_path / "second.svg"
    topology.write_text('{"nodes": [{}, {}], "links": [{"src": "s1", "dst": "s2", "key": 1}]}', encoding="utf-8")
    assert main(["topo", "draw", str(topology), "--out", str(picture), "--path", "s1,s2"]) == 0
    assert picture.read_text(encoding="utf-8").startswith("<?xml")


def test_a_plan_of_one_switch_is_a_page_and_a_value(capsys: pytest.CaptureFixture[str]) -> None:
    value = json_of(["plan", "sdfast", "figure2", "--switch", "s2", "--mode", "agent"], capsys)
    (switch,) = value["switches"]
    assert switch["node"] == "s2"
    assert switch["backups"]
    assert main(["plan", "sdfast", "figure2", "--switch", "s2"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("# Switch s2")
    assert "Table 1" in said


def test_verification_has_the_promised_keys(capsys: pytest.CaptureFixture[str]) -> None:
    value = json_of(["verify", "sdfast", "figure2", "--jobs", "1"], capsys)
    wanted = """topology planner scheme mode failures cases delivered disconnected looped dropped crankback_cases
        longest_crankback mean_stretch seconds cases_per_s"""
    assert set(wanted.split()) <= set(value)
    assert value["looped"] == value["dropped"] == 0
    assert value["delivered"] + value["disconnected"] == value["cases"] > 0


def test_a_scheme_without_a_promise_does_not_fail_verification(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "shortest", "figure2", "--jobs", "1"]) == 0
    assert "broken promises" in capsys.readouterr().out


def test_output_goes_to_a_file_when_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "list.json"
    assert main(["topo", "list", "--json", "--out", str(path)]) == 0
    assert capsys.readouterr().out == ""
    assert json.loads(path.read_text(encoding="utf-8"))["topologies"]


@pytest.mark.slow
def test_the_same_seed_gives_the_same_sample(capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["verify", "sdfast", "gscale", "--failures", "3", "--notification", "off", "--sample", "5", "--jobs", "1"]
    first, again, other = (json_of([*argv, "--seed", seed], capsys) for seed in ("4", "4", "5"))
    assert first["cases"] == again["cases"]
    assert first["cases"] != other["cases"]


def test_listing_starts_without_the_heavy_and_the_acting_libraries() -> None:
    program = (
        "import sys; from experiments.cli.main import main; main(['topo', 'list']);"
        "print(*sorted({'ryu', 'mininet', 'matplotlib', 'scipy', 'ovs', 'eventlet'} & set(sys.modules)), file=sys.stderr)"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert said.stderr.split() == []


@pytest.mark.slow
def test_a_reader_that_leaves_early_is_no_error() -> None:
    program = "from experiments.cli.main import main; import sys; sys.exit(main(['plan', 'shortest', 'darkstrand']))"
    writer = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert writer.stdout is not None
    writer.stdout.read(100)
    writer.stdout.close()
    assert writer.wait() == 0
    assert writer.stderr is not None
    assert writer.stderr.read() == b""
    writer.stderr.close()


def test_version_and_help_go_to_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("armor ")
    assert main(["--help"]) == 0
    assert "demo" in capsys.readouterr().out


def test_tables_are_aligned() -> None:
    text = table([("a", 1), ("bcd", 200)], ("name", "n"), right=(1,))
    assert text.splitlines() == ["name    n", "----  ---", "a       1", "bcd   200"]


STAGES = {
    "detect": 1.5,
    "switch_over": 2.0,
    "first_good": None,
    "last_lost": 3.0,
    "last_crankback": None,
    "steady": None,
}
WAY = {"sent": 10, "received": 7, "lost": 3, "duplicated": 0, "reordered": 0, "backtracked": 0}
RUN = {
    "scheme": "ffg", "mode": "none",
    "failures": [{"what": "s4-s5", "kind": "silent", "at_s": 1, "stages_ms": STAGES, "recovered": False, "outage_ms": 9.0, "lost": 3, "backtracked": 0}],
    "probes": [{"from": "s1", "to": "s5", "kind": "probe", "out": WAY, "back": WAY}],
    "claims": [{"name": "every switch holds its plan", "held": False, "detail": "s1: 0 rows missing, 1 stale"}],
    "held": False, "trustworthy": False, "warnings": ["BFD flapped"],
}  # fmt: skip


def test_a_run_is_reported_with_what_never_came_and_what_broke() -> None:
    said = runs_text([RUN, {"scheme": "sdfast", "mode": "agent", "error": "no controller", "held": False}], "results/x")
    assert "BROKEN: every switch holds its plan: s1: 0 rows missing, 1 stale" in said
    assert "NOT TRUSTWORTHY" in said
    assert "broke off: no controller" in said
    assert "0 of 2 runs kept every claim" in said


def test_a_run_says_how_to_open_its_captures() -> None:
    said = runs_text([RUN], "results/my run", ["captures/ffg.pcapng"])
    assert "wireshark -r 'results/my run/captures/ffg.pcapng' -Y frame.comment" in said
    assert "wireshark" not in runs_text([RUN], "results/x")


@pytest.mark.parametrize(
    ("known", "said"),
    [
        (None, "notification: off"),
        ({"frames": 0, "knew": 0, "switches": 5, "last_ms": None, "since": "detection"}, "0 of 5 switches knew"),
        (
            {"frames": 1234, "knew": 5, "switches": 5, "last_ms": 12.04, "since": "detection"},
            "1,234 frames after s4-s5; 5 of 5 switches knew, the last 12.0 ms after the detection",
        ),
    ],
)
def test_runs_and_demos_say_who_was_notified(known: dict[str, object] | None, said: str) -> None:
    from experiments.analysis.crankback import longest_crankback

    run = {**RUN, "failures": [{**failure, "notification": known} for failure in RUN["failures"]]}
    topology = load_topology("figure2")
    assert said in runs_text([run], "results/x")
    assert said in demo_text(topology, longest_crankback(topology), {"runs": [run], "folder": "results/x"}, 3.5)


def test_the_demo_says_honestly_that_nothing_recovered() -> None:
    from experiments.analysis.crankback import longest_crankback

    topology = load_topology("figure2")
    said = demo_text(topology, longest_crankback(topology), {"runs": [RUN], "folder": "results/x"}, 3.5)
    assert "ffg did not recover" in said
    assert "never" in said
    assert "a probe every 3.5 ms" in said
