"""Reader of GML, the Topology Zoo's second format: nested `key value` pairs, `[ ]` around groups."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from mininet_topos.errors import TopologyError
from mininet_topos.importers.raw import RawEdge, RawGraph, RawNode
from mininet_topos.wording import one_line, shown

# A comment to the end of the line, a string, a bracket, or a word.
TOKEN = re.compile(r'#[^\n]*|"[^"]*"|[\[\]]|[^\s\[\]"]+')
# Deep nesting is never a topology; real files use three levels.
MAX_DEPTH = 50

# A group: its (key, value) pairs in file order; a value is text or a group.
Group = list[tuple[str, "str | Group"]]


def read_gml(content: bytes) -> RawGraph:
    """Raw graph of a GML document.

    Raises
    ------
    TopologyError
        Not text, unbalanced brackets, a key without value, no graph, or an edge without ends.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    top = _read_group(iter(_tokens(text)), depth=0)
    graph = next((value for key, value in top if key == "graph" and isinstance(value, list)), None)
    if graph is None:
        raise TopologyError("the file has no 'graph [ ... ]'; a GML file holds one")
    directed = any(key == "directed" and value == "1" for key, value in graph)
    nodes = [_attributes(value) for key, value in graph if key == "node" and isinstance(value, list)]
    edges = [_attributes(value) for key, value in graph if key == "edge" and isinstance(value, list)]
    raw_nodes = tuple(
        RawNode(node.get("id", f"(node {place} without id)"), node) for place, node in enumerate(nodes, 1)
    )
    return RawGraph(raw_nodes, tuple(_edge(edge, number, directed) for number, edge in enumerate(edges, 1)))


def _tokens(text: str) -> Iterator[str]:
    for match in TOKEN.finditer(text):
        if not match.group().startswith("#"):
            yield match.group()


def _read_group(tokens: Iterator[str], depth: int) -> Group:
    """Pairs up to the closing bracket of this group (the end of the file for the outermost)."""
    if depth > MAX_DEPTH:
        raise TopologyError(f"groups are nested more than {MAX_DEPTH} deep; this is no topology")
    pairs: Group = []
    for key in tokens:
        if key == "]" and depth:
            return pairs
        value = next(tokens, None)
        if key in "[]" or key.startswith('"') or value is None or value == "]":
            raise TopologyError(f"broken GML near {shown(key)}; write each entry as a key and a value")
        pairs.append((key.lower(), _read_group(tokens, depth + 1) if value == "[" else _text(value)))
    if depth:
        raise TopologyError("broken GML: a '[' is never closed; export the file again")
    return pairs


def _text(token: str) -> str:
    """Value of a token; GML writes characters beyond ASCII as HTML entities."""
    return one_line(html.unescape(token.strip('"')))


def _attributes(group: Group) -> dict[str, str]:
    return {key: value for key, value in group if isinstance(value, str) and value}


def _edge(attributes: dict[str, str], number: int, directed: bool) -> RawEdge:
    for end in ("source", "target"):
        if end not in attributes:
            raise TopologyError(f"edge {number} has no {end}; name the node it joins")
    return RawEdge(attributes["source"], attributes["target"], directed, attributes, number)
