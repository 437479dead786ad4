"""The documentation site: what is generated covers the code, and the site is built without a warning."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from docs.generated import PAGES, commands_page, escaped, filled, formats_page
from experiments.cli.main import COMMANDS
from experiments.cli.parser import ArmorParser
from experiments.scenario.failures import failure_kinds
from experiments.scenario.traffic import traffic_kinds
from tests.patience import patient_s
from tests.quality.layers import ROOT


def test_every_command_has_a_section_with_its_arguments() -> None:
    page = commands_page()
    assert re.findall(r"^## armor (\w+)$", page, re.MULTILINE) == list(COMMANDS)
    sections = dict(zip(COMMANDS, page.split("\n\n## "), strict=True))
    for name, section in sections.items():
        parser = ArmorParser(prog=f"armor {name}", description=None)
        importlib.import_module(f"experiments.cli.{name}").add_arguments(parser)
        options = [option for option in parser._option_string_actions if option not in ("-h", "--help")]
        assert [option for option in options if f"`{option}" not in section] == []
    assert "| `--failed LINK` | draw: a failed link, as s2-s4 |" in page


def test_every_kind_of_failure_and_traffic_is_a_row() -> None:
    rows = set(re.findall(r"^\| `([\w-]+)` \|", formats_page(), re.MULTILINE))
    assert rows >= {*failure_kinds(), *traffic_kinds()}


def test_every_generated_part_stands_in_one_page() -> None:
    marks = [
        mark for page in (ROOT / "docs").glob("*.md") for mark in re.findall("generated: (\\w+)", page.read_text())
    ]
    assert sorted(marks) == sorted(PAGES)


def test_a_mark_is_filled_and_the_rest_stays() -> None:
    page = filled("# Commands\n\n<!-- generated: commands -->\n\nend\n")
    assert page.startswith("# Commands\n\n## armor ")
    assert page.endswith("\n\nend\n")


def test_text_of_a_cell_is_shown_letter_by_letter() -> None:
    assert escaped("a|b *c*\n<d> x_y") == r"a\|b \*c\* \<d\> x\_y"


def build(source: Path, target: Path) -> subprocess.CompletedProcess[str]:
    """Build a site with the configuration of Armor's."""
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-c", str(ROOT / "docs")]
    command += ["-d", str(target / "doctrees"), str(source), str(target / "html")]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=patient_s(300))


@pytest.mark.slow
def test_the_site_has_no_warning_and_every_public_name(tmp_path: Path) -> None:
    pytest.importorskip("furo", reason="the extra docs is not installed: make docs")
    built = build(ROOT / "docs", tmp_path)
    assert (built.returncode, built.stderr) == (0, "")
    import armor

    page = (tmp_path / "html" / "api.html").read_text(encoding="utf-8")
    assert [name for name in armor.__all__ if f'id="armor.{name}"' not in page] == []


@pytest.mark.slow
@pytest.mark.parametrize("link", ["gone.md", "there.md#gone", "../gone/file.py"])
def test_a_broken_link_is_an_error(tmp_path: Path, link: str) -> None:
    pytest.importorskip("furo", reason="the extra docs is not installed: make docs")
    source = tmp_path / "source"
    source.mkdir()
    (source / "index.md").write_text(f"# Site\n\n[link]({link})\n\n```{{toctree}}\nthere\n```\n", encoding="utf-8")
    (source / "there.md").write_text("# There\n", encoding="utf-8")
    built = build(source, tmp_path / "built")
    assert built.returncode != 0
    assert "gone" in built.stderr
