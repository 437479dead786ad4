"""Reader of GraphML (graphml.graphdrawing.org), liberal about what the Topology Zoo, yEd and networkx write.

Our own, because networkx refuses hyperedges and undeclared keys, merges repeated ids in silence, and follows entity
declarations. Nested graphs (groups of yEd) are flattened; ports are ignored; only the first graph of a file is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from mininet_topos.errors import TopologyError
from mininet_topos.importers.raw import RawEdge, RawGraph, RawNode
from mininet_topos.wording import one_line, shown


def read_graphml(content: bytes) -> RawGraph:
    """Raw graph of a GraphML document.

    Raises
    ------
    TopologyError
        Not XML (with line and column), not GraphML, no graph, an edge without ends, or a declared XML entity.
    """
    root = _parse_xml(content)
    if _local(root) != "graphml":
        raise TopologyError(f"the root element is {shown(_local(root))}; a GraphML file starts with <graphml>")
    graphs = [child for child in root if _local(child) == "graph"]
    if not graphs:
        raise TopologyError("the file has no <graph> element; give it one with nodes")
    keys = _Keys(root)
    ends = {end for edge in graphs[0].iter() if _local(edge) == "edge" for end in _ends(edge) if end is not None}
    nodes, warnings = _nodes(graphs[0], keys, ends)
    edges = list(_edges(graphs[0], keys))
    star_nodes, star_edges = _hyperedges(graphs[0], len(edges))
    if len(graphs) > 1:
        warnings.append(f"the file has {len(graphs)} graphs; only the first is read")
    if star_nodes:
        warnings.append(f"{len(star_nodes)} hyperedge(s) of several ends become switches in their middle")
    return RawGraph((*nodes, *star_nodes), (*edges, *star_edges), tuple(warnings))


def _parse_xml(content: bytes) -> Element:
    """Element tree without entity declarations, which can blow a small file up to gigabytes."""
    builder = TreeBuilder()
    parser = expat.ParserCreate(namespace_separator="}")
    parser.buffer_text = True
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.data
    parser.EntityDeclHandler = _refuse_entity
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code)
        raise TopologyError(
            f"broken XML at line {error.lineno}, column {error.offset + 1}: {reason}; export the file again"
        ) from None
    except (LookupError, ValueError) as error:
        raise TopologyError(f"the XML encoding cannot be read ({error}); save the file as UTF-8") from None
    return builder.close()


def _refuse_entity(name: str, *_rest: object) -> None:
    raise TopologyError(f"the file declares the XML entity {shown(name)}; write its text out instead")


def _local(element: Element) -> str:
    """Name of an element without its namespace."""
    return element.tag.rpartition("}")[2]


class _Keys:
    """What the `<key>` elements say: the name behind each key id, and default values for nodes and edges."""

    def __init__(self, root: Element) -> None:
        self._names: dict[str, str] = {}
        self._defaults: dict[str, dict[str, str]] = {"node": {}, "edge": {}}
        for key in root.iter():
            if _local(key) != "key":
                continue
            identifier = key.get("id", "")
            self._names[identifier] = (key.get("attr.name") or identifier).lower()
            default = next((one_line(child.text or "") for child in key if _local(child) == "default"), "")
            for kind, defaults in self._defaults.items():
                if default and key.get("for", "all") in (kind, "all"):
                    defaults[self._names[identifier]] = default

    def attributes(self, element: Element, kind: str) -> dict[str, str]:
        """Attributes of a node or edge as text; a label drawn by yEd counts as `label`."""
        found = dict(self._defaults[kind])
        drawn = ""
        for data in element:
            if _local(data) != "data":
                continue
            if len(data):
                labels = (one_line(part.text or "") for part in data.iter() if _local(part) == f"{kind.title()}Label")
                drawn = drawn or next(filter(None, labels), "")
            elif data.text and data.text.strip():
                key = data.get("key", "")
                found[self._names.get(key, key.lower())] = one_line(data.text)
        if drawn:
            found.setdefault("label", drawn)
        return found


def _nodes(graph: Element, keys: _Keys, ends: set[str]) -> tuple[list[RawNode], list[str]]:
    nodes: list[RawNode] = []
    without_id = groups = 0
    for element in graph.iter():
        if _local(element) != "node":
            continue
        identifier = element.get("id")
        if any(_local(child) == "graph" for child in element) and identifier not in ends:
            groups += 1
            continue
        if identifier is None:
            without_id += 1
            identifier = f"(node {len(nodes) + 1} without id)"
        nodes.append(RawNode(identifier, keys.attributes(element, "node")))
    warnings = []
    if without_id:
        warnings.append(f"{without_id} node(s) have no id, so no edge can reach them")
    if groups:
        warnings.append(f"{groups} group(s) of nodes are opened up")
    return nodes, warnings


def _ends(edge: Element) -> tuple[str | None, str | None]:
    return edge.get("source"), edge.get("target")


def _edges(graph: Element, keys: _Keys) -> Iterator[RawEdge]:
    """Edges in file order; an edge's own `directed` wins over the `edgedefault` of its graph."""
    default = {
        id(edge): inner.get("edgedefault", "undirected").lower() == "directed"
        for inner in graph.iter()
        if _local(inner) == "graph"
        for edge in inner
    }
    elements = (element for element in graph.iter() if _local(element) == "edge")
    for number, element in enumerate(elements, start=1):
        source, target = _ends(element)
        if source is None or target is None:
            missing = "source" if source is None else "target"
            raise TopologyError(f"edge {number} has no {missing}; name the node it joins")
        own = element.get("directed", "").lower()
        directed = own in ("true", "1") if own else default.get(id(element), False)
        yield RawEdge(source, target, directed, keys.attributes(element, "edge"), number)


def _hyperedges(graph: Element, edge_count: int) -> tuple[list[RawNode], list[RawEdge]]:
    """Links of many ends: two ends are an ordinary edge, more meet in a switch of their own."""
    nodes: list[RawNode] = []
    edges: list[RawEdge] = []
    for element in graph.iter():
        if _local(element) != "hyperedge":
            continue
        ends = [end.get("node", "") for end in element if _local(end) == "endpoint"]
        if len(ends) < 2:
            raise TopologyError(f"a hyperedge has {len(ends)} endpoint(s); give it at least two, or remove it")
        if len(ends) == 2:
            edges.append(RawEdge(ends[0], ends[1], number=edge_count + len(edges) + 1))
        else:
            middle = RawNode(f"(hyperedge {len(nodes) + 1})", {"label": f"hyperedge {len(nodes) + 1}"})
            nodes.append(middle)
            edges += [
                RawEdge(middle.id, end, number=edge_count + len(edges) + offset) for offset, end in enumerate(ends, 1)
            ]
    return nodes, edges
