"""Topologies by name: the catalogue, the toy gadgets, the generators, and files."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mininet_topos import catalogue_data as data
from mininet_topos.build import from_edges, numbered_nodes, two_way
from mininet_topos.errors import BadInputError, TopologyError
from mininet_topos.generators import GENERATORS, generate
from mininet_topos.geometry import FIBRE_STRETCH, fibre_delay_ms, great_circle_km
from mininet_topos.importers.gml import read_gml
from mininet_topos.importers.graphml import read_graphml
from mininet_topos.importers.json_file import read_json
from mininet_topos.importers.raw import Loaded, RawGraph, gaps, to_loaded
from mininet_topos.input_files import is_file, read_bytes
from mininet_topos.topology import Link, Node, Topology
from mininet_topos.toy import TOYS
from mininet_topos.wording import one_line, shown


@dataclass(frozen=True)
class TopologyRow:
    """One line of `armor topo list`; counts are None for a generator."""

    name: str
    kind: str
    nodes: int | None
    links: int | None
    about: str


def usnet() -> Topology:
    """USNET, 24 nodes and 43 links; delay from fibre km, no capacity (no source gives one).

    Sources: catalogue_data.py. Seven lengths are disputed between the sources (`USNET_DISPUTED_KM`).
    """
    count = max(b for _, b, _ in data.USNET_LINKS_KM)
    links: list[Link] = []
    for a, b, fibre_km in data.USNET_LINKS_KM:
        links += two_way(f"s{a}", f"s{b}", delay_ms=fibre_delay_ms(fibre_km))
    return Topology("usnet", numbered_nodes([f"s{number}" for number in range(1, count + 1)]), tuple(links))


def darkstrand() -> Topology:
    """Darkstrand, 28 cities and 31 links; delay from the fibre length TopologyBench assumes, no capacity.

    Sources: catalogue_data.py.
    """
    sites = data.DARKSTRAND_SITES
    nodes = tuple(Node(f"s{number}", *site) for number, site in enumerate(sites, start=1))
    links: list[Link] = []
    for a, b in data.DARKSTRAND_LINKS:
        fibre_km = FIBRE_STRETCH * great_circle_km(*sites[a - 1][1:], *sites[b - 1][1:])
        links += two_way(f"s{a}", f"s{b}", delay_ms=fibre_delay_ms(fibre_km))
    return Topology("darkstrand", nodes, tuple(links))


def gscale() -> Topology:
    """Gscale (Google's B4), 12 nodes and 19 links of 1 Gbit/s as in Kuijia's paper; no lengths in this numbering."""
    count = max(b for _, b in data.GSCALE_LINKS)
    nodes = numbered_nodes([f"s{number}" for number in range(1, count + 1)])
    return from_edges("gscale", nodes, data.GSCALE_LINKS, capacity_mbps=data.GSCALE_CAPACITY_MBPS)


CATALOGUE = {"usnet": usnet, "darkstrand": darkstrand, "gscale": gscale}
ALIASES = {"b4": "gscale"}
FILE_KINDS = (".graphml", ".json", ".gml")


def list_topologies() -> tuple[TopologyRow, ...]:
    """Everything that has a name: catalogue, toys, generators."""
    rows = [
        TopologyRow(name, kind, len(topology.nodes), len(topology.link_ids), _summary(make.__doc__))
        for kind, makers in (("catalogue", CATALOGUE), ("toy", TOYS))
        for name, make in makers.items()
        for topology in (make(),)
    ]
    rows += [TopologyRow(entry.usage, "generator", None, None, entry.about) for entry in GENERATORS.values()]
    return tuple(rows)


def load_topology(name_or_path: str) -> Topology:
    """Topology of a name, a generator's specification, or a file, without its warnings.

    Raises
    ------
    TopologyError
        As `load_topology_with_warnings`.
    """
    return load_topology_with_warnings(name_or_path).topology


def load_topology_with_warnings(name_or_path: str) -> Loaded:
    """Topology of a name, a generator's specification, or a file, with what the file left unknown.

    Parameters
    ----------
    name_or_path
        A catalogue or toy name, a specification such as `grid:4x5`, or a .graphml, .json or .gml file. A name wins
        over a file of the same name; write ./NAME for the file.

    Raises
    ------
    TopologyError
        Unknown name (close names are suggested), or a file that is missing, unreadable, broken or no topology.
    """
    name = name_or_path.strip()
    make = _maker(name)
    if make is not None:
        return Loaded(make())
    if name.partition(":")[0] in GENERATORS:
        return Loaded(generate(name))
    if is_topology_file(name):
        return read_topology_file(Path(name))
    raise TopologyError(_unknown(name))


def is_topology_file(name_or_path: str) -> bool:
    """Whether `load_topology` takes this for a file, not for a name or a generator's specification."""
    name = name_or_path.strip()
    if _maker(name) is not None or name.partition(":")[0] in GENERATORS:
        return False
    return Path(name).suffix.lower() in FILE_KINDS or "/" in name or is_file(name)


def _maker(name: str) -> Callable[[], Topology] | None:
    lowered = ALIASES.get(name.lower(), name.lower())
    return CATALOGUE.get(lowered) or TOYS.get(lowered)


def read_topology_file(path: Path) -> Loaded:
    """Topology of a file, its kind known by the ending of its name; the topology is called as the file.

    Raises
    ------
    TopologyError
        The file is missing, unreadable, empty, broken or no topology; the message starts with its name.
    """
    content = _content(path)
    kind = path.suffix.lower()
    try:
        if kind not in FILE_KINDS:
            ending = f"ends in {shown(path.suffix)}" if path.suffix else "has no ending"
            raise TopologyError(f"the name {ending}, so its kind is unknown; use {', '.join(FILE_KINDS)}")
        if kind == ".json":
            topology = read_json(content, path.stem)
            return Loaded(topology, tuple(gaps(topology)))
        raw: RawGraph = read_graphml(content) if kind == ".graphml" else read_gml(content)
        return to_loaded(path.stem, raw)
    except TopologyError as error:
        raise TopologyError(f"{one_line(str(path))}: {error}") from None


def _content(path: Path) -> bytes:
    shown_path = one_line(str(path))
    try:
        content = read_bytes(path, shown_path)
    except BadInputError as error:
        raise TopologyError(str(error)) from None
    if not content.strip():
        raise TopologyError(f"{shown_path}: the file is empty; give it a topology")
    return content


def _unknown(name: str) -> str:
    known = (*CATALOGUE, *TOYS, *(f"{family}:" for family in GENERATORS))
    close = [match.rstrip(":") for match in difflib.get_close_matches(name.lower(), known, n=3)]
    hint = f"did you mean {' or '.join(close)}?" if close else f"known: {', '.join(CATALOGUE)}"
    kinds = ", ".join(FILE_KINDS)
    return f"no topology is called {shown(name)}; {hint} (`armor topo list` shows all; files end in {kinds})"


def _summary(docstring: str | None) -> str:
    """First sentence of a docstring."""
    return (docstring or "").strip().splitlines()[0].rstrip(".") if docstring else ""
