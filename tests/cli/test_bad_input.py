# ruff: noqa: E501 - a case of the table reads best on one line
"""Bad input: nothing on standard output, one line on standard error that names it and the repair, exit code 2."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from experiments.cli.main import COMMANDS, main

SCENARIO = """\
topology: figure2
scheme: sdfast
traffic: [{from: h1, to: h5}]
failures: [{link: [s4, s5], at_s: 1}]
"""
TWO_PARTS = """\
<graphml><graph edgedefault="undirected">
<node id="a"/><node id="b"/><node id="c"/><node id="d"/><edge source="a" target="b"/><edge source="c" target="d"/>
</graph></graphml>"""
CAPACITY_0 = '{"name": "x", "nodes": [{}, {}], "links": [{"src": "s1", "dst": "s2", "capacity_mbps": 0}]}'

FILES = {
    "broken.graphml": "<graphml><graph><node id='a'>",
    "two_parts.graphml": TWO_PARTS,
    "capacity.json": CAPACITY_0,
    "good.yaml": SCENARIO,
    "no_link.yaml": SCENARIO.replace("[s4, s5]", "[s1, s5]"),
    "no_scheme.yaml": SCENARIO.replace("sdfast", "sdfats"),
    "flows.yaml": SCENARIO.replace("traffic", "capacity_mbps: 10\nflows"),
    "capacity.yaml": SCENARIO + "default_capacity_mbps: 0\n",
    "two_parts.yaml": SCENARIO.replace("figure2", "two_parts.graphml").replace("h5", "h3").replace("[s4, s5]", "[s1, s2]"),
    "binary.yaml": "\x00",
    "latin.yaml": "",
}  # fmt: skip

BAD = {
    "no command": ([], "no command given; use one of topo, plan"),
    "unknown command": (["tpo"], "'tpo' is no command; did you mean 'topo'?"),
    "unknown first option": (["--verson"], "'--verson' is no option; did you mean '--version'?"),
    "unknown option": (["topo", "list", "--jsn"], "has no option '--jsn'; did you mean '--json'?"),
    "unknown action": (["topo", "shw"], "action 'shw' is not known; did you mean 'show'?"),
    "too many arguments": (["topo", "show", "usnet", "gscale"], "no use for the argument 'gscale'"),
    "topology missing": (["topo", "show"], "'armor topo show' needs a topology"),
    "topology for list": (["topo", "list", "usnet"], "takes no topology"),
    "unknown topology": (["topo", "show", "darkstrnd"], "darkstrand"),
    "missing file": (["topo", "show", "nothing.graphml"], "nothing.graphml"),
    "broken GraphML": (["verify", "sdfast", "broken.graphml"], "broken.graphml"),
    "topology in two parts": (["verify", "sdfast", "two_parts.graphml"], "in 2 parts"),
    "plan of two parts": (["plan", "sdfast", "two_parts.graphml"], "in 2 parts"),
    "demo of two parts": (["demo", "two_parts.graphml"], "in 2 parts"),
    "capacity 0": (["topo", "show", "capacity.json"], "capacity_mbps"),
    "unknown scheme": (["verify", "sdfats", "figure2"], "sdfast"),
    "unknown scheme of plan": (["plan", "sdfats", "figure2"], "sdfast"),
    "unknown scheme of demo": (["demo", "--scheme", "sdfats"], "sdfast"),
    "scheme missing": (["plan"], "SCHEME"),
    "unknown drill": (["drill", "lnks", "figure2"], "WHAT 'lnks' is no drill; write links, flap, database, agent"),
    "drill without agents": (["drill", "agent", "figure2"], "sdfast-learned has no agent to kill; ask for --mode agent"),
    "drill without protection": (["drill", "protect_service", "figure2"], "ask for --scheme protect"),
    "drill without replay agents": (["drill", "replay_agent", "figure2"], "has no replay_agent to kill; ask for --scheme sqr"),
    "unknown mode": (["plan", "sdfast", "figure2", "--mode", "lerned"], "mode 'lerned' is not known; did you mean 'learned'?"),
    "value missing": (["plan", "sdfast", "figure2", "--mode"], "--mode"),
    "unknown switch": (["plan", "sdfast", "figure2", "--switch", "s9"], "--switch 's9' is no node of 'figure2'"),
    "zero failures": (["verify", "sdfast", "figure2", "--failures", "0"], "--failures is '0'; give a whole number of at least 1"),
    "failures not a number": (["verify", "sdfast", "figure2", "--failures", "two"], "--failures is 'two'"),
    "more failures than links": (["verify", "sdfast", "figure2", "--failures", "99"], "99"),
    "too many sets for the tags": (["plan", "sdfast", "darkstrand", "--max-failures", "3"], "--max-failures"),
    "no such seed": (["verify", "sdfast", "figure2", "--seed", "-3"], "--seed is '-3'"),
    "picture of no kind": (["topo", "draw", "figure2", "--out", "x.txt"], "--out 'x.txt' is no picture"),
    "path that is none": (["topo", "draw", "figure2", "--path", "s1,s8"], "goes from s1 to s8, which are not joined"),
    "failed link that is none": (["topo", "draw", "figure2", "--failed", "s1-s8"], "s1-s8"),
    "unwritable place": (["topo", "list", "--out", "good.yaml/x"], "--out 'good.yaml/x' cannot be written"),
    "missing scenario": (["run", "nothing.yaml"], "scenario 'nothing.yaml' cannot be read (there is no such file)"),
    "scenario is a folder": (["run", "."], "scenario '.' cannot be read"),
    "scenario with a link that does not exist": (["run", "no_link.yaml"], "no_link.yaml:4: link [s1, s5] does not exist in 'figure2'"),
    "scenario with an unknown scheme": (["run", "no_scheme.yaml"], "no_scheme.yaml:2: scheme 'sdfats' is not known; did you mean 'sdfast'?"),
    "scenario with capacity 0": (["run", "capacity.yaml"], "capacity.yaml:5: default_capacity_mbps is 0"),
    "captures of flows": (["run", "flows.yaml", "--pcap"], "flows.yaml measures flows, which it does without captures; leave --pcap out"),
    "scenario on two parts": (["run", "two_parts.yaml"], "in 2 parts"),
    "binary scenario": (["run", "binary.yaml"], "binary.yaml: this is not text"),
    "scenario in another encoding": (["run", "latin.yaml"], "line 1 is not UTF-8 text"),
    "demo pair of one host": (["demo", "--pair", "h1"], "--pair 'h1' names one host"),
    "demo pair unknown": (["demo", "--pair", "h1,h99"], "'h99' is no host of 'darkstrand'"),
    "demo link unknown": (["demo", "--link", "s1-s28"], "s1-s28"),
    "demo of a tree": (["demo", "star"], "every link of 'star' is a bridge"),
    "demo interval": (["demo", "--interval-ms", "0"], "--interval-ms is '0'; give a number above 0"),
}  # fmt: skip


@pytest.fixture
def bad_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "latin.yaml").write_bytes(b"topology: caf\xe9")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def assert_refused(argv: list[str], wanted: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(argv)
    said = capsys.readouterr()
    assert said.out == ""
    assert code == 2
    lines = said.err.splitlines()
    assert len(lines) == 1, said.err
    assert lines[-1].startswith("armor: ")
    assert wanted in lines[-1]
    assert "Traceback" not in said.err


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_answered_by_one_line_and_leaves_nothing(
    case: str, bad_files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(path.name for path in bad_files.iterdir())
    argv, wanted = BAD[case]
    assert_refused(argv, wanted, capsys)
    assert sorted(path.name for path in bad_files.iterdir()) == before


@pytest.mark.slow
@pytest.mark.parametrize("argv", [["demo", "figure2"], ["run", "good.yaml"]])
def test_without_open_vswitch_the_missing_package_is_named(
    argv: list[str], bad_files: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("PATH", str(bad_files))
    assert_refused(argv, "apt-get install", capsys)
    assert not (bad_files / "results").exists()


@pytest.mark.slow
@pytest.mark.parametrize("argv", [["demo", "figure2"], ["run", "good.yaml"]])
def test_without_root_the_right_is_named(
    argv: list[str], bad_files: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert_refused(argv, "needs root", capsys)
    assert not (bad_files / "results").exists()


def test_against_ovs_without_open_vswitch_names_it(
    bad_files: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(bad_files))
    assert_refused(["verify", "sdfast", "figure2", "--against-ovs"], "install Open vSwitch", capsys)


def test_a_result_folder_in_use_is_refused(bad_files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if os.geteuid() != 0:
        pytest.skip("the right is asked for first")
    pytest.importorskip("mininet")
    assert_refused(["run", "good.yaml", "--out", "."], "is not empty", capsys)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_with_a_result_takes_the_common_options_and_explains_itself(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as leaving:
        main([command, "--help"])
    assert leaving.value.code == 0
    said = capsys.readouterr().out
    shown = [option for option in ("--json", "--seed", "--out") if option in said]
    assert shown == ([] if command in ("controller", "agent") else ["--json", "--seed", "--out"])
