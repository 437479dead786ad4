"""A wheel claims the name `armor` alone, holds all data, and works beside folders that are called as Armor's."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path, PurePosixPath

import pytest

from experiments.loadgen.ports import free_port
from tests.plan.test_own_scheme import EXAMPLE, answer, install
from tests.quality.layers import PACKAGES, ROOT, imports

FOLDERS = tuple(name for name in PACKAGES if name != "armor")
NEEDED = ("setup.py", "pyproject.toml", "README.md", "LICENSE", "examples", *PACKAGES)
# Sources that `make setup` compiles, and texts for readers of the repository.
NOT_IN_A_WHEEL = (".c", ".h", ".md", ".py", ".pyc")

# Imports every module, and what texts name; a missing library of an extra is no fault.
IMPORT_ALL = """
import importlib, operator, pkgutil, sys
import armor
names = [module.name for module in pkgutil.walk_packages(armor.__path__, "armor.", onerror=lambda name: None)]
for name in [*names, *sys.argv[1:]]:
    module, _, attribute = name.partition(":")
    if module.endswith(".__main__"):
        continue
    try:
        found = importlib.import_module(module)
    except ImportError as error:
        if not error.name or error.name.startswith("armor"):
            raise
    else:
        attribute and operator.attrgetter(attribute)(found)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """The wheel, built from a copy, because a build leaves files beside its sources."""
    copy, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in NEEDED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, copy / name)
    words = ["wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", str(out), str(copy)]
    done = subprocess.run([sys.executable, "-m", "pip", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (found,) = out.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def site(wheel, tmp_path_factory) -> Path:
    """The folder that pip would install it into."""
    folder = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


@pytest.fixture
def environment(site, tmp_path) -> dict[str, str]:
    """The wheel is installed, and the user's folder has modules that are called as Armor's folders."""
    for name in FOLDERS:
        (tmp_path / f"{name}.py").write_text("raise SystemExit('a module of the user was imported')\n")
    return {**os.environ, "PYTHONPATH": str(site), "PYTHONWARNINGS": "ignore"}


@pytest.fixture
def python(environment, tmp_path):
    """Runs Python in that folder."""

    def run(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, *words], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def packaged_name(name: str) -> str:
    top = name.partition("/")[0]
    return name if top == "armor" else f"armor/_internal/{name}"


@pytest.mark.slow
def test_it_claims_one_name_and_no_module_imports_by_another(wheel, site):
    with zipfile.ZipFile(wheel) as archive:
        files = [PurePosixPath(name) for name in archive.namelist()]
    assert {path.parts[0] for path in files if not path.parts[0].endswith(".dist-info")} == {"armor"}
    for path in files:
        if path.suffix == ".py":
            tree = ast.parse((site / path).read_text(encoding="utf-8"))
            ours = [name for _, name in imports(path, tree) if name.partition(".")[0] in FOLDERS]
            assert not ours, f"{path} imports {ours}"


@pytest.mark.slow
def test_it_holds_every_module_and_data_file(wheel):
    with zipfile.ZipFile(wheel) as archive:
        files = set(archive.namelist())
    for path in (path for top in PACKAGES for path in (ROOT / top).rglob("*")):
        if path.suffix == ".py" or (path.suffix not in NOT_IN_A_WHEEL and path.parent.name != "__pycache__"):
            assert path.is_dir() or packaged_name(path.relative_to(ROOT).as_posix()) in files, path


@pytest.mark.slow
def test_modules_and_what_they_name_in_texts_can_be_imported(python, site):
    text = "\n".join(path.read_text(encoding="utf-8") for path in (site / "armor").rglob("*.py"))
    named = set(re.findall(r'"(armor\._internal\.[\w.]*\w(?::[\w.]+)?)"', text))
    assert len(named) > 30
    python("-c", IMPORT_ALL, *sorted(named))


@pytest.mark.slow
def test_commands_and_functions_work_in_a_folder_with_names_like_armors(python):
    assert "# Switch s4 Dallas" in python("-m", "armor", "plan", "sdfast", "darkstrand", "--switch", "s4")
    assert "broken promises" in python("-m", "armor", "verify", "sdfast", "ring:5")
    shown = "armor.__file__, armor.verify('ring:5', 'ffg').holds, type(armor.plan('ring:5')['s1'])"
    place, holds, kind = python("-c", f"import armor; print({shown})").split(maxsplit=2)
    assert ROOT not in Path(place).parents
    assert holds == "True"
    assert "armor._internal.ryu_apps.plan.rows.RulePlan" in kind


@pytest.mark.slow
def test_figures_are_judged_from_stored_rows(python, tmp_path):
    stored = ROOT / "reference_results" / "sd-fast-off"
    python("-m", "armor", "reproduce", "--redraw", str(stored), "x-coverage", "--out", str(tmp_path / "redrawn"))
    assert (tmp_path / "redrawn" / "x-coverage" / "verdict.json").exists()


@pytest.mark.slow
def test_a_scheme_of_the_users_own_is_found(python, tmp_path):
    install(tmp_path, "two_trees", "two_trees", (EXAMPLE / "two_trees.py").read_text(encoding="utf-8"))
    found = json.loads(python("-m", "armor", "verify", "two_trees", "square", "--json"))
    assert (found["scheme"], found["broken"]) == ("two_trees", 0)


@pytest.mark.ryu
@pytest.mark.slow
def test_a_controller_plans_and_answers(environment, tmp_path):
    rest, openflow = str(free_port()), str(free_port())
    command = ("-m", "armor", "controller", "shortest", "square", "--", "--ofp-tcp-listen-port", openflow)
    settings = {**environment, "ARMOR_REST_PORT": rest}
    with subprocess.Popen((sys.executable, *command), cwd=tmp_path, env=settings) as app:
        try:
            state = answer(f"http://127.0.0.1:{rest}/armor/state")
        finally:
            app.terminate()
    assert state["scheme"] == "shortest"
