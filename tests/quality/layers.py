"""What the source text of Armor must look like: layers, purity, sizes, docstrings, no machine paths.

Every check is a function of (path, source) that returns complaints, so that tests can feed it mutants.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[2]

PACKAGES = (
    "mininet_topos",
    "machine",
    "te_solver",
    "dataplane",
    "ryu_apps",
    "ovsdb_backup",
    "emulation",
    "experiments",
    "armor",
)

# Folders from the ground up, and whether each is pure: it decides without acting. A module belongs to the longest
# folder that it stands in, and imports nothing from a folder further down this table. `decide` is pure anywhere.
FOLDERS = {
    "mininet_topos": True,
    "machine": False,
    "te_solver": True,
    "dataplane.model": True,
    "dataplane": False,
    "ryu_apps.plan": True,
    "ryu_apps.openflow": True,
    "ryu_apps.pmt": True,
    "ryu_apps.backup_database": False,
    "ryu_apps.schemes": True,  # what is installed is imported, as any module is
    "ryu_apps.control": False,
    "ryu_apps": False,
    "ovsdb_backup": False,
    "emulation": False,
    "experiments.scenario": True,
    "experiments.analysis": True,
    "experiments.terminal": False,
    "experiments.verify": False,
    "experiments.campaign": True,
    "experiments.charts": True,
    "experiments.campaign.act": False,
    "experiments.testbed": False,
    "experiments.loadgen": False,
    "experiments.figures": True,
    "experiments.report": False,
    "experiments.comparison": False,
    "experiments.live": False,
    "experiments.torture": False,
    "experiments.cli": False,
    "experiments": False,
    "armor": False,
}
_RANKS = {folder: rank for rank, folder in enumerate(FOLDERS)}

# Libraries and modules that act, read a clock or roll dice: time, randomness and configuration are arguments.
ACTING_MODULES = frozenset(
    """
    asyncio concurrent eventlet fcntl mininet multiprocessing ovs ovsdbapp random requests ryu secrets select
    selectors signal socket ssl subprocess threading time urllib.request uuid
    """.split()
)
ACTING_CALLS = frozenset(
    """
    __import__ datetime.date.today datetime.datetime.now datetime.datetime.today datetime.datetime.utcnow
    importlib.import_module input os.environ os.getenv os.popen os.system os.times os.urandom print
    """.split()
)
SEEDED_NUMPY = frozenset(("BitGenerator", "Generator", "PCG64", "Philox", "SeedSequence", "default_rng"))

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60
MACHINE_PATH = re.compile(r"(?<![\w.$}-])/(?:home|root|Users|work)/\w")


def module_name(path: PurePosixPath) -> str:
    """Return the dotted module of a file path relative to the repository."""
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _within(module: str, packages: tuple[str, ...]) -> bool:
    return any(module == package or module.startswith(package + ".") for package in packages)


def is_pure(module: str) -> bool:
    """Whether a module must decide without acting: no clock, no socket, no dice (README, "Where things live")."""
    folder = folder_of(module)
    return folder is not None and ("decide" in module.split(".") or FOLDERS[folder])


def rank(module: str) -> int | None:
    """Return the layer of one of our modules; None for any other."""
    folder = folder_of(module)
    return None if folder is None else _RANKS[folder]


def folder_of(module: str) -> str | None:
    """Return the longest entry of `FOLDERS` that a module stands in; None for a module that is not ours."""
    found = [folder for folder in FOLDERS if _within(module, (folder,))]
    return max(found, key=len) if found else None


def imports(path: PurePosixPath, tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield (line, dotted name) of every import, wherever it stands; `from a import b` yields a and a.b."""
    package = module_name(path).split(".")
    if path.name != "__init__.py":
        package = package[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            source = ".".join([*base, *(node.module.split(".") if node.module else [])])
            yield node.lineno, source
            yield from ((node.lineno, f"{source}.{alias.name}") for alias in node.names)


def layer_complaints(path: PurePosixPath, source: str) -> list[str]:
    """Imports that point up the layers, or from a pure module to one of ours that acts."""
    module, found = module_name(path), []
    own = rank(module)
    if own is None:
        return []
    for line, name in imports(path, ast.parse(source)):
        other = rank(name)
        if other is None:
            continue
        # `from package import thing`: the parent package itself is not what is used.
        if other > own:
            found.append(f"{path}:{line}: {module} imports {name}, which is a layer above")
        elif is_pure(module) and not is_pure(name) and not _is_parent_of_pure(name):
            found.append(f"{path}:{line}: pure {module} imports {name}, which acts")
    return found


def _is_parent_of_pure(name: str) -> bool:
    """Whether a dotted name is a package with pure modules, or something defined in a pure module."""
    head = name.rpartition(".")[0]
    return is_pure(head) or name in PACKAGES


def _dotted(node: ast.AST, names: dict[str, str]) -> str | None:
    """Return the full dotted name that an expression stands for, through the file's import aliases."""
    if isinstance(node, ast.Name):
        return names.get(node.id, node.id)
    if isinstance(node, ast.Attribute):
        base = _dotted(node.value, names)
        return None if base is None else f"{base}.{node.attr}"
    return None


def _aliases(tree: ast.AST) -> dict[str, str]:
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update({alias.asname: alias.name for alias in node.names if alias.asname})
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.update({alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names})
    return names


def _acting_use(node: ast.AST, names: dict[str, str]) -> str | None:
    """Return what an expression does that a pure module must not do."""
    if isinstance(node, ast.Attribute | ast.Name):
        name = _dotted(node, names) or ""
        if name in ACTING_CALLS:
            return f"uses {name}"
        if name.startswith("numpy.random.") and name.split(".")[2] not in SEEDED_NUMPY:
            return f"uses {name}, which has a hidden global seed"
    if isinstance(node, ast.Call) and not node.args and not node.keywords:
        return "calls default_rng without a seed" if _dotted(node.func, names) == "numpy.random.default_rng" else None
    return None


def purity_complaints(path: PurePosixPath, source: str) -> list[str]:
    """Imports and calls in a pure module that act, read a clock or the environment, or roll unseeded dice."""
    if not is_pure(module_name(path)):
        return []
    tree = ast.parse(source)
    names, found = _aliases(tree), set()
    for line, name in imports(path, tree):
        parts = name.split(".")
        if any(".".join(parts[:size]) in ACTING_MODULES for size in range(1, len(parts) + 1)):
            found.add(f"{path}:{line}: pure module imports {name}")
    for node in ast.walk(tree):
        use = _acting_use(node, names)
        if use and isinstance(node, ast.expr):
            found.add(f"{path}:{node.lineno}: pure module {use}")
    return sorted(found)


def size_complaints(path: PurePosixPath, source: str) -> list[str]:
    """Files over 400 lines and functions whose body without docstring is over 60."""
    found = []
    lines = source.count("\n")
    if lines > MAX_FILE_LINES:
        found.append(f"{path}: {lines} lines, at most {MAX_FILE_LINES}: split the file by concern")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) is not None else node.body
            size = (node.end_lineno or 0) - body[0].lineno + 1 if body else 0
            if size > MAX_FUNCTION_LINES:
                found.append(f"{path}:{node.lineno}: {node.name} has {size} lines, at most {MAX_FUNCTION_LINES}")
    return found


def docstring_complaints(path: PurePosixPath, source: str) -> list[str]:
    """Modules, public classes, functions and methods of our packages that do not say what they are."""
    if rank(module_name(path)) is None or not source.strip():
        return []
    tree = ast.parse(source)
    found = [] if ast.get_docstring(tree) else [f"{path}:1: the module has no docstring"]
    todo: list[ast.AST] = [tree]
    while todo:
        for node in ast.iter_child_nodes(todo.pop()):
            if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) or node.name.startswith("_"):
                continue
            if not ast.get_docstring(node):
                found.append(f"{path}:{node.lineno}: {node.name} has no docstring")
            if isinstance(node, ast.ClassDef):
                todo.append(node)
    return found


def machine_path_complaints(path: PurePosixPath, source: str) -> list[str]:
    """Absolute paths of somebody's machine."""
    return [
        f"{path}:{number}: names a path of one machine: {line.strip()[:80]}"
        for number, line in enumerate(source.splitlines(), 1)
        if MACHINE_PATH.search(line)
    ]


def source_files(root: Path = ROOT) -> list[PurePosixPath]:
    """Return the Python files of the repository, relative and sorted; hidden and generated folders are left out."""
    files = (file.relative_to(root) for file in root.rglob("*.py"))
    skipped = {"build", "dist", "results", "__pycache__"}
    return sorted(
        PurePosixPath(file) for file in files if not any(part.startswith(".") or part in skipped for part in file.parts)
    )


def text_files(root: Path = ROOT) -> list[PurePosixPath]:
    """Return every text file that a clone would hold, relative and sorted."""
    suffixes = {".cfg", ".md", ".ovsschema", ".py", ".sh", ".toml", ".txt", ".yaml", ".yml", ".json", ""}
    skipped = {"build", "dist", "results", "__pycache__", "armor_sdn.egg-info"}
    found = []
    for file in root.rglob("*"):
        relative = file.relative_to(root)
        hidden = any(part.startswith(".") and part != ".ci" for part in relative.parts)
        if not hidden and not skipped & set(relative.parts) and file.is_file() and file.suffix in suffixes:
            found.append(PurePosixPath(relative))
    return sorted(found)
