"""No circle of imports stands in the source, and each kind of circle is caught."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest

from tests.quality import circles, layers

# Files of a repository with a circle, and parts that the complaint names.
MUTANTS = {
    "two modules": ({"p/a.py": "import p.b\n", "p/b.py": "import p.a\n"}, ["p.a", "p.b"]),
    "three modules": (
        {"p/a.py": "from p.b import x\n", "p/b.py": "from .c import x\n", "p/c.py": "from . import a\n"},
        ["p.a", "p.b", "p.c"],
    ),
    "types only": (
        {"p/a.py": "if TYPE_CHECKING:\n    from p.b import B\n", "p/b.py": "from p.a import A\n"},
        ["p.a", "p.b"],
    ),
    "lazy": ({"p/a.py": "def f():\n    import p.b\n", "p/b.py": "from p import a\n"}, ["p.a", "p.b"]),
    "a package's face": (
        {"p/__init__.py": "from p.a import f\n", "p/a.py": "from p import g\n"},
        ["p.__init__", "p.a"],
    ),
    "folders": (
        {"p/x/a.py": "import p.y.a\n", "p/x/b.py": "", "p/y/a.py": "", "p/y/b.py": "import p.x.b\n"},
        ["p.x", "p.y"],
    ),
    "a folder and a module beside it": (
        {"p/x/a.py": "import p.m\n", "p/x/b.py": "", "p/m.py": "import p.x.b\n"},
        ["p.m", "p.x"],
    ),
    "top-level packages": (
        {"p/a.py": "import q.a\n", "p/b.py": "", "q/a.py": "", "q/c/b.py": "from p.b import x\n"},
        ["p", "q"],
    ),
    "three folders, lazily": (
        {
            "p/a/m.py": "def f():\n    from p.b import m\n",
            "p/b/m.py": "import p.c.m\n",
            "p/c/m.py": "from p.a.n import x\n",
            "p/a/n.py": "",
        },
        ["p.a", "p.b", "p.c"],
    ),
}

LAWFUL = {
    "a module uses a folder beside it": {
        "p/m.py": "from p.x import a\n",
        "p/x/a.py": "",
        "p/x/__init__.py": '"""P."""\n',
    },
    "siblings under a face": {
        "p/__init__.py": "from p.a import f\n",
        "p/a.py": "from p import b\n",
        "p/b.py": "x = 1\n",
    },
    "a folder uses a module beside it": {"p/x/a.py": "import p.m\n", "p/m.py": ""},
    "libraries": {"p/a.py": "import ast\nfrom networkx import Graph\n"},
}


def graph_of(files):
    return {PurePosixPath(path): source for path, source in files.items()}


@pytest.fixture(scope="module")
def sources():
    files = (path for path in layers.source_files() if path.parts[0] in layers.PACKAGES)
    return {path: (layers.ROOT / path).read_text(encoding="utf-8") for path in files}


def test_the_source_has_no_circle(sources):
    complaints = circles.circle_complaints(sources)
    assert not complaints, "\n".join(complaints)


@pytest.mark.parametrize("kind", MUTANTS)
def test_circle_is_caught(kind):
    files, parts = MUTANTS[kind]
    complaints = circles.circle_complaints(graph_of(files))
    assert any(f" {', '.join(parts)}: " in line for line in complaints), complaints


@pytest.mark.parametrize("kind", LAWFUL)
def test_lawful_imports_pass(kind):
    assert circles.circle_complaints(graph_of(LAWFUL[kind])) == []
