"""`armor te`: what it prints, where pictures go, and that bad input is one sentence with exit code 2."""

from __future__ import annotations

import json

import pytest

from experiments.campaign.act.discovery import find_figures, find_kinds
from experiments.campaign.values import CampaignPlan
from experiments.cli import te
from experiments.cli.main import main
from te_solver.outcome import CLASSES
from te_solver.schemes import SCHEMES

pytest.importorskip("cvxpy")
pytest.importorskip("matplotlib")


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def output_of(capsys, *argv):
    code = main(["te", *argv])
    return code, capsys.readouterr()


def test_every_figure_of_a_sweep_is_computed():
    kinds, plan = find_kinds(), CampaignPlan(True, 1)
    for name in te.FIGURES:
        assert not any(kinds[trial.kind].root for trial in find_figures()[name].trials(plan))


@pytest.mark.parametrize(("wanted", "solver"), [([], "cvxpy"), (["--te-solver", "fast"], "fast")])
def test_solve_prints_allocation_weights_loads_and_gap(capsys, wanted, solver):
    code, said = output_of(capsys, "solve", "gscale", "--demands", "random:5:1200", "--json", *wanted)
    value = json.loads(said.out)
    assert code == 0
    assert value["objective_mbps"] <= value["bound_mbps"] <= value["objective_mbps"] * (1 + 1e-6)
    assert value["gap"] <= 1e-6
    assert (value["base_point"], value["solved_by"]) == ("centre", solver)
    assert sum(tunnel["allocation_mbps"] for tunnel in value["tunnels"]) == pytest.approx(value["objective_mbps"])
    weights = {}
    for tunnel in value["tunnels"]:
        assert (tunnel["nodes"][0], tunnel["nodes"][-1]) == (tunnel["src"], tunnel["dst"])
        pair = tunnel["src"], tunnel["dst"]
        weights[pair] = weights.get(pair, 0.0) + tunnel["splitting_weight"]
    assert list(weights.values()) == pytest.approx([1.0] * 5)
    assert len(value["links"]) == 38
    assert all(0 <= link["load_mbps"] <= link["capacity_mbps"] * (1 + 1e-9) for link in value["links"])


def test_solve_prints_a_table(capsys):
    code, said = output_of(capsys, "solve", "gscale", "--demands", "random:2:700", "--objective", "min-max-utilisation")
    assert code == 0
    assert "1,400.0 of 1,400.0 Mbit/s" in said.out
    assert "fullest link" in said.out


def test_solve_reads_an_unseen_file_with_parallel_links_and_unknown_speeds(capsys, tmp_path):
    edges = "".join(f'<edge source="{a}" target="{b}"/>' for a, b in ("ab", "ab", "bc", "ac"))
    nodes = "".join(f'<node id="{name}"/>' for name in "abc")
    (tmp_path / "net.graphml").write_text(
        f'<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="undirected">{nodes}{edges}'
        "</graph></graphml>"
    )
    assert output_of(capsys, "solve", "net.graphml")[0] == 2
    argv = ("solve", "net.graphml", "--default-capacity-mbps", "10", "--demands", "uniform:100", "--json")
    value = json.loads(output_of(capsys, *argv)[1].out)
    assert {link["key"] for link in value["links"]} == {0, 1}
    assert value["objective_mbps"] == pytest.approx(80.0)
    assert {tuple(tunnel["keys"]) for tunnel in value["tunnels"]} >= {(0,), (1,)}
    assert "s1-s2#1" in output_of(capsys, *argv[:-1])[1].out


def test_demand_files_are_read(capsys, tmp_path):
    (tmp_path / "d.csv").write_text("src,dst,demand_mbps\ns1,s2,50\n")
    value = json.loads(output_of(capsys, "solve", "gscale", "--demands", "d.csv", "--json")[1].out)
    assert value["objective_mbps"] == pytest.approx(50)


@pytest.mark.slow
def test_failure_shows_every_scheme_and_writes_a_picture(capsys, tmp_path):
    argv = ("failure", "gscale", "--link", "s4-s7", "--demands", "gravity:8000", "--low-to-high", "10", "--json")
    code, said = output_of(capsys, *argv)
    value = json.loads(said.out)
    assert code == 0
    assert list(value["schemes"]) == list(SCHEMES)
    for name, scheme in value["schemes"].items():
        assert set(scheme["priorities"]) == {"1", "6"}
        if name != "reoptimise":
            assert set(scheme["classes"]) == {"total", "aboriginal", "victim", *CLASSES}
    kuijia, rescaling = (value["schemes"][name]["classes"] for name in ("kuijia", "rescaling"))
    assert kuijia["victim"]["lost"] >= rescaling["victim"]["lost"]
    assert (tmp_path / value["picture"]).stat().st_size > 10_000


def test_failure_prints_a_table_and_puts_the_picture_where_asked(capsys, tmp_path):
    argv = (
        "failure",
        "gscale",
        "--node",
        "s4",
        "--demands",
        "random:5:900",
        "--out",
        "p.svg",
        "--schemes",
        "kuijia,ffc1",
    )
    code, said = output_of(capsys, *argv)
    assert code == 0
    assert [line.split()[0] for line in said.out.splitlines()[4:]] == ["kuijia", "ffc1"]
    assert (tmp_path / "p.svg").read_text().startswith("<?xml")


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (("solve",), ("needs a topology",)),
        (("solve", "gscale", "--demands", "random:5:-1"), ("'-1'",)),
        (("solve", "gscale", "--demands", "gone.csv"), ("gone.csv", "no such file")),
        (("solve", "gscale", "--demands", "random:²:5"), ("'²' pairs",)),
        (("solve", "gscale", "--demands", "gravity:1e308"), ("'1e308'", "at most 1e+09")),
        (("solve", "usnet", "--default-capacity-mbps", "1e-300"), ("1e-300 Mbit/s", "from 1e-06 to 1e+09")),
        (("solve", "gscale", "--demands", "lots"), ("'lots'", "random:PAIRS:MBPS")),
        (("solve", "gscale", "--base-point", "center"), ("did you mean 'centre'",)),
        (("solve", "gscale", "--solver", "highs"), ("ends at a vertex",)),
        (("solve", "usnet"), ("--default-capacity-mbps",)),
        (("failure", "gscale"), ("--link",)),
        (("failure", "gscale", "--link", "s2-s3"), ("no link 's2-s3'", "s1, s5")),
        (("failure", "gscale", "--node", "s99"), ("'s99'",)),
        (("failure", "gscale", "--link", "s4-s7", "--schemes", "kujia"), ("did you mean 'kuijia'",)),
        (("failure", "gscale", "--link", "s4-s7", "--availability", "2"), ("availability is 2",)),
        (("sweep",), ("--figure",)),
        (("sweep", "gscale", "--figure", "kuijia-fig4"), ("takes no topology",)),
        (("sweep", "--figure", "fig4"), ("'fig4'",)),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(capsys, argv, words):
    code, said = output_of(capsys, *argv)
    complaint = said.err.splitlines()[-1]
    assert code == 2
    assert said.out == ""
    assert complaint.startswith("armor: ")
    assert all(word in complaint for word in words), complaint


def test_a_bad_demand_file_is_answered_with_its_line(capsys, tmp_path):
    (tmp_path / "d.csv").write_text("src,dst,demand_mbps\ns1,s2,5\ns1,s3,-5\n")
    code, said = output_of(capsys, "solve", "gscale", "--demands", "d.csv")
    assert code == 2
    assert "d.csv, line 3: demand_mbps is -5" in said.err
