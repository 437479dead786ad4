"""The table of mutants fits the code, and its runner says what became of each."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter

import pytest

from tests.mutants.run import main
from tests.mutants.table import MutantError, complaints, read_table
from tests.patience import patient_s, wait_until
from tests.quality.layers import ROOT

AREAS = {"plan", "codec", "agent", "verify", "te", "dataplane", "scenario", "campaign"}
FEWEST = 60
_LONGEST_S = 300.0  # until two runs of pytest have begun on a machine that does much else; they take seconds
CODE = "def larger(a, b):\n    return a if a > b else b\n"
TESTS = {
    "test_code.py": "from code_of import larger\ndef test_larger():\n    assert larger(1, 2) == larger(2, 1) == 2\n",
    "test_red.py": "def test_red():\n    raise AssertionError\n",
    "test_skipped.py": "import pytest\n@pytest.mark.skip\ndef test_skipped(): pass\n",
    "test_waiting.py": "import time, code_of\ndef test_waits():\n    code_of.larger(2, 1) == 2 or time.sleep(600)\n",
}


def test_every_mutant_fits_the_code_and_names_tests_that_exist() -> None:
    assert [complaint for mutant in read_table() for complaint in complaints(mutant, ROOT)] == []


def test_there_are_mutants_of_every_area() -> None:
    areas = Counter(mutant.name.partition("/")[0] for mutant in read_table())
    assert areas.keys() >= AREAS
    assert areas.total() >= FEWEST


def test_no_two_mutants_are_the_same_change() -> None:
    changes = Counter((mutant.file, mutant.old, mutant.new) for mutant in read_table())
    assert [change for change, count in changes.items() if count > 1] == []


@pytest.fixture
def tree(tmp_path):
    """A repository with a file of code and tests; the table of mutants stands beside it."""
    root = tmp_path / "tree"
    root.mkdir()
    shutil.copy(ROOT / "tests" / "conftest.py", root)
    (root / "code_of.py").write_text(CODE, encoding="utf-8")
    for name, text in TESTS.items():
        (root / name).write_text(text, encoding="utf-8")
    subprocess.run(["git", "init", "--quiet", str(root)], check=True)
    return root


def write_table(root, **mutants):
    """Each mutant is (old, new, test)."""
    lines = []
    for name, (old, new, test) in mutants.items():
        keys = {"law": "-", "file": "code_of.py", "old": old, "new": new, "tests": [test]}
        lines += [f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in keys.items())]
    folder = root.parent / "table"
    folder.mkdir(exist_ok=True)
    (folder / "small.toml").write_text("\n".join(lines), encoding="utf-8")
    return ["--root", str(root), "--table", str(folder)]


@pytest.mark.slow
def test_runner_tells_killed_from_survived_from_error(tree, capsys):
    arguments = write_table(
        tree,
        reversed=("a > b", "a < b", "test_code.py"),
        equivalent=("a > b", "a >= b", "test_code.py"),
        absent=("a == b", "a < b", "test_code.py"),
        twice=("a", "b", "test_code.py"),
        nonsense=("a > b", "a > > b", "test_code.py"),
        not_collected=("def larger", "def smaller", "test_code.py"),
        red=("a > b", "a < b", "test_red.py"),
        skipped=("a > b", "a < b", "test_skipped.py"),
    )
    assert main([*arguments, "--json", "--jobs", "2"]) == 1
    outcomes = json.loads(capsys.readouterr().out)["mutants"]
    assert {each["name"].removeprefix("small/"): each["verdict"] for each in outcomes} == {
        "reversed": "killed",
        "equivalent": "survived",
        **dict.fromkeys(("absent", "twice", "nonsense", "not_collected", "red", "skipped"), "error"),
    }
    assert outcomes[0]["said"] == "test_code.py::test_larger"
    assert (tree / "code_of.py").read_text(encoding="utf-8") == CODE


@pytest.mark.slow
def test_only_the_named_mutants_run_and_all_killed_is_success(tree, capsys):
    arguments = write_table(tree, one=("a > b", "a < b", "test_code.py"), other=("a > b", "a >= b", "test_code.py"))
    assert main([*arguments, "--only", "small/one"]) == 0
    assert "1 killed, 0 survived, 0 error" in capsys.readouterr().out
    assert main([*arguments, "--only", "no-such"]) == 2


@pytest.mark.slow
@pytest.mark.parametrize("way", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_runner_leaves_checkout_and_machine_as_they_were(tree, tmp_path, way):
    arguments = write_table(tree, waiting=("a > b", "a < b", "test_waiting.py"))
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    command = [sys.executable, "-m", "tests.mutants.run", *arguments]
    environment = {**os.environ, "TMPDIR": str(temporary)}
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as runner:
        try:
            wait_until(lambda: mutant_runs(temporary) or runner.poll() is not None, "a mutant runs", _LONGEST_S)
            runner.send_signal(way)
            printed, _ = runner.communicate(timeout=patient_s(_LONGEST_S))
        finally:
            runner.kill()
    assert runner.returncode == 130, printed
    assert list(temporary.glob("armor-mutants-*")) == []
    assert (tree / "code_of.py").read_text(encoding="utf-8") == CODE


def mutant_runs(temporary):
    compiled = list(temporary.glob("*/*/__pycache__/code_of.*"))
    return compiled and any(each.read_text(encoding="utf-8") != CODE for each in temporary.glob("*/*/code_of.py"))


@pytest.mark.parametrize(
    "text",
    ["[one]\nlaw = 1", '[one]\nlaw = "-"', "one = 1", "[one\n", '[one]\nlaw="-"\nfile="-"\nold="-"\nnew="-"\ntests=[]'],
)
def test_a_table_with_other_keys_is_refused(tmp_path, text):
    (tmp_path / "small.toml").write_text(text, encoding="utf-8")
    with pytest.raises(MutantError, match="small"):
        read_table(tmp_path)
