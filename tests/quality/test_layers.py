"""The source keeps to the layers, and the checks that say so can fail."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

import pytest

from tests.quality import layers

TEXT_CHECKS = {
    "layers": layers.layer_complaints,
    "purity": layers.purity_complaints,
    "sizes": layers.size_complaints,
    "docstrings": layers.docstring_complaints,
}

CORE = "ryu_apps/plan/routes.py"

# (check, file, source that breaks the rule, word of the complaint)
MUTANTS = [
    ("layers", CORE, "import ovsdb_backup.agent\n", "layer above"),
    ("layers", CORE, "from experiments import cli\n", "layer above"),
    ("layers", CORE, "def f():\n    from ryu_apps import sdfast\n", "layer above"),
    ("layers", CORE, "from .. import sdfast\n", "layer above"),
    ("layers", "te_solver/paths.py", "import ryu_apps.plan.rows\n", "layer above"),
    ("layers", "mininet_topos/toy.py", "from emulation import daemons\n", "layer above"),
    ("layers", "mininet_topos/toy.py", "from machine import places\n", "layer above"),
    ("layers", "ovsdb_backup/decide/agent.py", "from ovsdb_backup import agent_loop\n", "acts"),
    ("layers", "ovsdb_backup/decide/agent.py", "from ryu_apps.backup_database.store import write\n", "acts"),
    ("layers", "experiments/analysis/rows.py", "from experiments import cli\n", "layer above"),
    ("layers", "ovsdb_backup/agent.py", "import experiments.cli\n", "layer above"),
    ("purity", CORE, "import ryu.base\n", "ryu.base"),
    ("purity", CORE, "import socket as s\n", "socket"),
    ("purity", CORE, "from time import monotonic\n", "time"),
    ("purity", CORE, "def f():\n    import random\n", "random"),
    ("purity", CORE, "from urllib.request import urlopen\n", "urllib.request"),
    ("purity", CORE, "import datetime as d\nx = d.datetime.now()\n", "datetime.datetime.now"),
    ("purity", CORE, "from datetime import datetime\nx = datetime.now()\n", "datetime.datetime.now"),
    ("purity", CORE, "import os\nx = os.environ['A']\n", "os.environ"),
    ("purity", CORE, "from os import getenv\nx = getenv('A')\n", "os.getenv"),
    ("purity", CORE, "print(1)\n", "print"),
    ("purity", CORE, "import numpy as np\nx = np.random.rand(3)\n", "numpy.random.rand"),
    ("purity", CORE, "import numpy as np\nx = np.random.default_rng()\n", "without a seed"),
    ("purity", "ovsdb_backup/decide/agent.py", "import ovs.db\n", "ovs.db"),
    ("purity", "mininet_topos/toy.py", "import mininet.net\n", "mininet.net"),
    ("sizes", "ryu_apps/sdfast.py", "x = 1\n" * 401, "401 lines"),
    ("sizes", "ryu_apps/sdfast.py", "def f():\n" + "    x = 1\n" * 61, "61 lines"),
    ("docstrings", CORE, "x = 1\n", "module"),
    ("docstrings", CORE, '"""M."""\ndef f():\n    pass\n', "f has no docstring"),
    ("docstrings", CORE, '"""M."""\nclass C:\n    """C."""\n    def f(self):\n        pass\n', "f has no docstring"),
]

# (check, file, source that keeps the rule)
LAWFUL = [
    ("layers", CORE, "from ryu_apps.plan import rows\nfrom ..plan.rows import FlowRow\nimport mininet_topos.errors\n"),
    ("layers", "ryu_apps/sdfast.py", "from ryu_apps.plan.rows import FlowRow\nimport ryu_apps.backup_database.store\n"),
    (
        "layers",
        "ovsdb_backup/decide/agent.py",
        "from ryu_apps.plan import rows\nfrom ovsdb_backup.decide.rows import Row\n",
    ),
    ("layers", "experiments/run.py", "import emulation.net\nfrom experiments.analysis import rows\n"),
    ("purity", CORE, "import numpy as np\ndef f(seed):\n    return np.random.default_rng(seed)\n"),
    ("purity", CORE, "from datetime import timedelta\nimport os.path\nx = os.path.join('a', 'b')\n"),
    ("purity", "ryu_apps/sdfast.py", "import time\nprint(time.time())\n"),
    ("sizes", "ryu_apps/sdfast.py", "x = 1\n" * 400),
    ("sizes", "ryu_apps/sdfast.py", 'def f():\n    """' + "line\n    " * 30 + '"""\n' + "    x = 1\n" * 60),
    (
        "docstrings",
        CORE,
        '"""M."""\ndef _f():\n    pass\nclass C:\n    """C."""\n    def __init__(self):\n        pass\n',
    ),
    ("docstrings", "ryu_apps/__init__.py", ""),
]


def read(path: PurePosixPath) -> str:
    return (layers.ROOT / path).read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("check", TEXT_CHECKS)
def test_source_keeps_the_rule(check):
    complaints = [line for path in layers.source_files() for line in TEXT_CHECKS[check](path, read(path))]
    assert not complaints, "\n".join(complaints)


def test_no_file_names_a_path_of_one_machine():
    complaints = [line for path in layers.text_files() for line in layers.machine_path_complaints(path, read(path))]
    assert not complaints, "\n".join(complaints)


@pytest.mark.parametrize(("check", "path", "source", "word"), MUTANTS)
def test_mutant_is_caught(check, path, source, word):
    complaints = TEXT_CHECKS[check](PurePosixPath(path), source)
    assert any(word in line for line in complaints), complaints


@pytest.mark.parametrize(("check", "path", "source"), LAWFUL)
def test_lawful_source_passes(check, path, source):
    assert TEXT_CHECKS[check](PurePosixPath(path), source) == []


@pytest.mark.parametrize("prefix", ["/" + "home", "/" + "root", "/" + "Users"])
def test_machine_path_is_caught(prefix):
    assert layers.machine_path_complaints(PurePosixPath("x.py"), f'PATH = "{prefix}/someone/armor"\n')


@pytest.mark.parametrize(
    "line", ["results/work/x", "/usr/sbin/ovs-vswitchd", "$HOME/root/x", "https://example.org/home/x"]
)
def test_ordinary_path_is_not_a_machine_path(line):
    assert layers.machine_path_complaints(PurePosixPath("x.py"), line) == []


def test_walk_finds_the_repository():
    files = {str(path) for path in layers.source_files()}
    assert {"setup.py", "ryu_apps/plan/rows.py", "tests/quality/layers.py"} <= files
    assert not any(".venv" in path for path in files)
    assert "Makefile" in {str(path) for path in layers.text_files()}


def test_ryu_apps_package_is_empty_so_that_ryu_manager_loads_apps_by_file():
    assert read(PurePosixPath("ryu_apps/__init__.py")) == ""


def test_mypy_and_coverage_see_every_package():
    settings = read(PurePosixPath("pyproject.toml"))
    for key in ("files", "source"):
        (listed,) = re.findall(rf"^{key} = \[(.*)\]$", settings, re.MULTILINE)
        assert tuple(re.findall(r'"(\w+)"', listed)) == layers.PACKAGES
