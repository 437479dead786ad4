"""What the manuals print can be typed: every command is accepted, every file is read, every link leads somewhere."""

from __future__ import annotations

import importlib
import re
import shlex
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from experiments.campaign.act.discovery import find_figures
from experiments.cli.main import COMMANDS, add_arguments
from experiments.cli.parser import ArmorParser
from experiments.terminal.inputs import parse
from mininet_topos.catalogue import load_topology
from mininet_topos.errors import BadInputError
from mininet_topos.importers.json_file import read_json
from ryu_apps.control.priority.decide.settings import PSO
from ryu_apps.plan.protect.document import parse_flows
from ryu_apps.pmt.parse import parse_pmt

ROOT = Path(__file__).resolve().parents[2]
MANUALS = sorted([ROOT / "README.md", *ROOT.glob("docs/*.md"), *ROOT.glob("docs/decisions/*.md")])
_IN_TEXT = re.compile(r"`((?:sudo )?armor [^`\n]+)`")
_ALONE = re.compile(r"^ {0,4}((?:sudo )?(?:\.venv/bin/)?armor [a-z].*)$", re.MULTILINE)
_NO_COMMAND = re.compile(r"\.\.\.|\|")
_EXAMPLES = {
    "SCHEME": "sdfast", "TOPO": "darkstrand", "NODE": "s4", "SWITCH": "s1", "N": "2", "FLOWS": "100",
    "FILE": "file.yaml", "SCENARIO": "two.yaml", "SCENARIO.yaml": "two.yaml", "ID": "te-schemes",
}  # fmt: skip
_BLOCK = re.compile(r"```(?P<kind>yaml|json)\n(?P<text>.*?)```", re.DOTALL)
_LINK = re.compile(r"\]\((?!https?:)([^)#\s]+)")


def commands_of(text: str) -> Iterator[list[str]]:
    """Words of every whole command in a text; what stands for something else (SCHEME, N) is replaced by an example."""
    for line in _ALONE.findall(text) + _IN_TEXT.findall(text):
        words = shlex.split(re.split(r"\s{3,}|\s#", line.strip())[0])
        words = [_EXAMPLES.get(word, word) for word in words if word != "sudo"][1:]
        if len(words) > 1 and words[0] in COMMANDS and not _NO_COMMAND.search(" ".join(words)):
            yield words


def described(command: str) -> str:
    """What `armor COMMAND --help` begins with."""
    return importlib.import_module(f"experiments.cli.{command}").__doc__ or ""


TEXTS = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in MANUALS}
SHOWN = {
    name: found
    for name, text in (TEXTS | {f"armor {command} --help": described(command) for command in COMMANDS}).items()
    if (found := list(commands_of(text)))
}


def complaint(words: list[str]) -> str | None:
    """What `armor` says of the words of a command; None where it would begin."""
    parser = ArmorParser(prog=f"armor {words[0]}", description=None)
    add_arguments(parser, words[0])
    if len(words) == 2 and words[1].startswith("--") and words[1] in parser.format_help():
        return None  # only its option is talked of
    try:
        parser.parse_strictly(words[1:])
    except BadInputError as error:
        return f"{' '.join(words)}: {error}"
    return None


@pytest.mark.parametrize("name", SHOWN)
def test_commands_that_are_shown_have_their_options(name: str) -> None:
    assert [said for words in SHOWN[name] if (said := complaint(words)) is not None] == []


def test_a_wrong_option_in_a_manual_is_found() -> None:
    (words,) = commands_of("    sudo .venv/bin/armor demo --colour red   # a comment\n")
    assert "--colour" in (complaint(words) or "")


def section(name: str, title: str) -> str:
    """What stands below a heading of a manual, up to the next one."""
    return TEXTS[name].partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_every_id_stands_in_the_manual_with_its_paper_and_title() -> None:
    shown = re.findall(r"^\| `(\S+)` \| `(\S+)` \| (.+) \|$", section("docs/reproduce.md", "Ids"), re.MULTILINE)
    wanted = [(each.id, each.with_paper or each.paper, each.title) for each in find_figures().values()]
    assert sorted(shown) == sorted((name, paper, title.removeprefix("Beyond: ")) for name, paper, title in wanted)


def test_every_setting_of_pso_stands_in_its_manual() -> None:
    cells = re.findall(r"^\| (`[^|]+) \|", section("docs/pso.md", "Settings"), re.MULTILINE)
    assert sorted(re.findall(r"`(\w+)`", " ".join(cells))) == sorted(PSO.meanings)


def blocks(name: str, kind: str) -> list[str]:
    return [found["text"] for found in _BLOCK.finditer(TEXTS[name]) if found["kind"] == kind]


def test_the_smallest_scenario_of_the_manual_is_one() -> None:
    scenario = parse(blocks("docs/scenario_format.md", "yaml")[0], "smallest.yaml")
    assert scenario.topology_name == "darkstrand"
    assert len(scenario.failures) == 1


def test_the_flows_of_the_manual_can_be_protected_together() -> None:
    (text,) = blocks("docs/protect.md", "yaml")
    assert len(parse_flows(text, "flows.yaml", load_topology("darkstrand"))) > len(text.splitlines())


def test_the_topology_of_the_manual_is_read() -> None:
    (text,) = blocks("docs/topology_format.md", "json")
    assert len(read_json(text.encode(), "manual").link_ids) == text.count('"src"')


def test_the_table_of_the_manual_is_that_of_the_example() -> None:
    shown = re.search(r"^    # (examples/\S+yaml):.*\n((?: {4}.*\n)+)", TEXTS["docs/pmt.md"], re.MULTILINE)
    assert shown is not None
    file = ROOT / shown[1]
    table = parse_pmt(textwrap.dedent(shown[2]), "manual")
    assert table.rules == parse_pmt(file.read_text(encoding="utf-8"), file.name).rules


def broken_links(page: Path, text: str) -> list[str]:
    """Relative links of a page that lead to no file."""
    return [link for link in _LINK.findall(text) if not page.parent.joinpath(link).exists()]


def test_links_of_all_pages_lead_to_files_that_are_there() -> None:
    pages = [*ROOT.glob("*.md"), *(page for top in ROOT.glob("[a-z]*/") for page in top.rglob("*.md"))]
    assert {*MANUALS} < {*pages}
    broken = {page.relative_to(ROOT).as_posix(): broken_links(page, page.read_text(encoding="utf-8")) for page in pages}
    assert {name: links for name, links in broken.items() if links} == {}


def test_a_broken_link_is_found() -> None:
    text = "[here](README.md#set-up), [gone](docs/gone.md), [far](https://example.org)"
    assert broken_links(ROOT / "README.md", text) == ["docs/gone.md"]
