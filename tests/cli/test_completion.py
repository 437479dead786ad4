"""Completion of shells: every command and option is in the script, and bash completes with it."""

from __future__ import annotations

import json
import subprocess

import pytest

from experiments.cli.completion import SHELLS
from experiments.cli.main import COMMANDS, main, whole_parser

pytest.importorskip("shtab")
COMPLETE = """
source {script}
COMP_WORDS=({words}); COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
_shtab_armor
echo "${{COMPREPLY[@]}}"
"""


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_names_every_command(shell, capsys):
    assert main(["completion", shell, "--json"]) == 0
    script = json.loads(capsys.readouterr().out)["script"]
    assert not [name for name in COMMANDS if name not in script]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("armor tor", {"torture"}),
        ("armor torture --min", {"--minutes"}),
        ("armor verify --fail", {"--failures"}),
        ("armor plan --js", {"--json"}),
    ],
)
def test_bash_completes_with_it(words, found, tmp_path, capsys):
    assert main(["completion", "bash"]) == 0
    script = tmp_path / "armor.bash"
    script.write_text(capsys.readouterr().out, encoding="utf-8")
    text = COMPLETE.format(script=script, words=" ".join(words.split()))
    done = subprocess.run(["bash", "-c", text], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == found


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("armor run myf", "myfailures.yaml"),
        ("armor verify sdfast myt", "mytopology.json"),
        ("armor report myr", "myresults"),
        ("armor run examples.yaml --out myr", "myresults"),
    ],
)
def test_bash_offers_files_where_a_command_takes_some(words, found, tmp_path, capsys):
    for name in ("myfailures.yaml", "mytopology.json"):
        (tmp_path / name).touch()
    (tmp_path / "myresults").mkdir()
    assert main(["completion", "bash"]) == 0
    script = tmp_path / "armor.bash"
    script.write_text(capsys.readouterr().out, encoding="utf-8")
    text = COMPLETE.format(script=script, words=words)
    done = subprocess.run(["bash", "-c", text], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.split() == [found]


def test_the_parser_of_all_commands_reads_one_of_them():
    given = whole_parser().parse_args(["topo", "show", "darkstrand"])
    assert (given.action, given.topology) == ("show", "darkstrand")
