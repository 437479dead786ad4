"""The delay line compiles as set-up compiles it, without a warning of the strict sort, and is of a readable size."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from emulation.decide.delay_line import PROGRAM_NAME

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "dataplane" / "delay_line" / "delay_line.c"
STRICT = ("-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror")


def test_the_source_compiles_without_a_warning(tmp_path: Path) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    command = ["gcc", "-std=c11", "-O2", *STRICT, "-o", str(tmp_path / "line"), str(SOURCE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_no_part_of_the_source_is_longer_than_400_lines() -> None:
    sizes = {part.name: len(part.read_text(encoding="utf-8").splitlines()) for part in SOURCE.parent.iterdir()}
    assert SOURCE.name in sizes
    assert max(sizes.values()) <= 400, sizes


def test_set_up_builds_the_program_that_the_emulation_looks_for_and_installs_its_compiler() -> None:
    script = (ROOT / "scripts" / "setup.sh").read_text(encoding="utf-8")
    assert re.search(rf"DELAY_LINE=\$VENV/bin/{PROGRAM_NAME}\b", script)
    assert str(SOURCE.relative_to(ROOT)) in script
    packages = (ROOT / "requirements" / "debian.txt").read_text(encoding="utf-8").split()
    assert {"gcc", "libc6-dev"} <= set(packages)
