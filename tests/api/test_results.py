"""Functions of `armor` against what the commands print, and stored results as data frames."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter

import pytest

import armor
from experiments.cli.main import main
from tests.quality.layers import ROOT

STORED = ROOT / "reference_results" / "sd-fast-off"


def printed(capsys, *words: str):
    main([*words, "--json"])
    return json.loads(capsys.readouterr().out)


def untimed(value):
    apart = ("seconds", "cases_per_s", "not_covered")
    return {name: each for name, each in value.items() if not name.endswith(apart)}


@pytest.mark.parametrize(("scheme", "mode"), [("sdfast", "agent"), ("ffg", "learned")])
def test_verify_finds_what_the_command_prints(capsys, scheme, mode):
    found = armor.verify("ring:6", scheme, armor.PlanOptions(mode=mode), failures=2).to_json()
    said = printed(capsys, "verify", scheme, "ring:6", "--mode", mode, "--failures", "2")
    assert untimed(found) == untimed(said)


def test_plan_has_the_rows_that_the_command_prints(capsys):
    said = printed(capsys, "plan", "sdfast", "ring:5", "--mode", "agent")
    plans = armor.plan(armor.load_topology("ring:5"), "sdfast", armor.PlanOptions(mode="agent"))
    assert {each["node"]: len(each["backups"]) for each in said["switches"]} == {
        node: len(plan.backups) for node, plan in plans.items()
    }


def test_compare_has_the_rows_that_the_command_prints(capsys):
    said = printed(capsys, "compare", "sdfast", "ffg", "ring:5", "--failures", "1,2")
    found = armor.compare("ring:5", ["sdfast", "ffg"], failures=(1, 2))
    assert not found.broken
    pytest.importorskip("pandas")
    frame = armor.comparison_frame(found.rows)
    assert json.loads(frame.to_json(orient="records", double_precision=15)) == [
        {name: pytest.approx(value) for name, value in row.items()} for row in said["rows"]
    ]


@pytest.mark.parametrize(
    ("topology", "scheme", "word"),
    [("darkstrnd", "sdfast", "darkstrand"), ("ring:5", "sdfst", "sdfast"), ("ring:5", "kuijia", "tunnels")],
)
@pytest.mark.parametrize("function", [armor.plan, armor.verify])
def test_bad_input_is_refused_in_a_sentence(function, topology, scheme, word):
    with pytest.raises(armor.BadInputError, match=word):
        function(topology, scheme)


def test_rows_and_claims_of_a_campaign_are_those_of_its_files():
    pytest.importorskip("pandas")
    rows, claims = armor.load_rows(STORED), armor.load_claims(STORED)
    assert rows["trial"].nunique() == 428
    assert rows["stages_ms.detect"].notna().sum() > 100
    verdicts = [json.loads(path.read_text()) for path in STORED.glob("*/verdict.json")]
    expected = Counter((each["id"], claim["verdict"]) for each in verdicts for claim in each["claims"])
    assert Counter(zip(claims["id"], claims["verdict"], strict=True)) == expected
    with pytest.raises(armor.BadInputError, match="load_rows"):
        armor.load_probes(STORED)


def test_stored_rows_are_judged_as_the_command_judges_them(tmp_path):
    found = armor.redraw(STORED, tmp_path, ["x-coverage"])
    stored = json.loads((STORED / "x-coverage" / "verdict.json").read_text())
    assert [each["claims"] for each in found["results"]] == [stored["claims"]]


@pytest.mark.slow
def test_a_campaign_without_networks_is_measured_as_by_the_command(tmp_path):
    found = armor.reproduce(["kuijia-fields"], tmp_path / "new", quick=True)
    assert [each["id"] for each in found["results"]] == ["kuijia-fields"]
    assert main(["reproduce", "kuijia-fields", "--quick", "--out", str(tmp_path / "other")]) == 0
    one, other = (json.loads((tmp_path / each / "kuijia-fields/verdict.json").read_text()) for each in ("new", "other"))
    assert one["claims"] == other["claims"]


@pytest.mark.slow
def test_the_manuals_examples_run(capsys, monkeypatch):
    pytest.importorskip("pandas")
    monkeypatch.chdir(ROOT)
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / "docs" / "python.md").read_text(), re.DOTALL | re.MULTILINE)
    assert len(blocks) > 1
    exec("\n".join(blocks), {})
    assert "sdfast True 3676 of 3676" in capsys.readouterr().out


def test_a_scenario_that_is_none_is_refused_before_anything_starts(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text("topology: darkstrand\nspeed: 3\n")
    with pytest.raises(armor.BadInputError, match="speed"):
        armor.run(file, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_without_pandas_the_error_says_what_to_install(tmp_path):
    (tmp_path / "pandas.py").write_text("raise ImportError('not here')")
    program = "import armor\ntry: armor.load_rows(r'%s')\nexcept armor.MissingRequirementError as error: print(error)"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", program % STORED], env=environment, capture_output=True, text=True, check=True
    )
    assert "pip install 'armor-sdn[pandas]'" in done.stdout
