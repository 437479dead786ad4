"""No circle of imports: not among modules, and at no level among folders; type-only and lazy imports count.

A circle's parts cannot be read, tested or moved one by one, whatever trick lets Python load them.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping
from pathlib import PurePosixPath

import networkx as nx

from tests.quality.layers import imports, module_name

FACE = "__init__"


def circle_complaints(sources: Mapping[PurePosixPath, str]) -> list[str]:
    """Every circle among modules, and among the modules and subfolders of each folder.

    Parameters
    ----------
    sources : mapping of path to text
        The packages whole: what is not among them is nobody's.
    """
    graph = import_graph(sources)
    found = [_described(graph, "modules", circle) for circle in _circles(graph)]
    folders = {module.rpartition(".")[0] for module in graph}
    parents = {".".join(folder.split(".")[:depth]) for folder in folders for depth in range(folder.count(".") + 1)}
    for folder in sorted(folders | parents):
        parts = _seen_from(graph, folder)
        circles = [circle for circle in _circles(parts) if any(part not in graph for part in circle)]
        found += [_described(parts, f"parts of {folder or 'the repository'}", circle) for circle in circles]
    return found


def import_graph(sources: Mapping[PurePosixPath, str]) -> nx.DiGraph[str]:
    """Which module imports which, at its top, within a function or for types only; a package's face is a module too."""
    modules = {_node(path) for path in sources}
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(modules)
    for path, source in sources.items():
        names = {name for _, name in imports(path, ast.parse(source))}
        for name in names:
            # `from package import module` names both: the package is used only when something else is taken from it.
            is_mere_way = any(other.startswith(f"{name}.") and _module_of(other, modules) == other for other in names)
            target = _module_of(name, modules)
            if target is not None and target != _node(path) and not (is_mere_way and target.endswith(f".{FACE}")):
                graph.add_edge(_node(path), target)
    return graph


def _node(path: PurePosixPath) -> str:
    return f"{module_name(path)}.{FACE}" if path.name == f"{FACE}.py" else module_name(path)


def _module_of(name: str, modules: Collection[str]) -> str | None:
    """The module that a dotted name stands in: itself, a package's face, or where the name is defined."""
    for candidate in (name, f"{name}.{FACE}", name.rpartition(".")[0], f"{name.rpartition('.')[0]}.{FACE}"):
        if candidate in modules:
            return candidate
    return None


def _seen_from(graph: nx.DiGraph[str], folder: str) -> nx.DiGraph[str]:
    """The imports among the modules and the subfolders of a folder, each subfolder as one."""
    prefix, parts = f"{folder}." if folder else "", nx.DiGraph()
    for edge in graph.edges:
        if all(module.startswith(prefix) for module in edge):
            ends = [prefix + module.removeprefix(prefix).partition(".")[0] for module in edge]
            if ends[0] != ends[1]:
                parts.add_edge(*ends, seen=" -> ".join(edge))
    return parts


def _circles(graph: nx.DiGraph[str]) -> list[list[str]]:
    return sorted(sorted(circle) for circle in nx.strongly_connected_components(graph) if len(circle) > 1)


def _described(graph: nx.DiGraph[str], what: str, circle: list[str]) -> str:
    ties = [graph.edges[edge].get("seen", " -> ".join(edge)) for edge in graph.subgraph(circle).edges]
    return f"circle of {what} {', '.join(circle)}: {'; '.join(sorted(ties)[:8])}"
