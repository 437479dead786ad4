"""Pictures of a topology: the network on its map, what failed, and the paths before and after.

matplotlib is imported only when a picture is drawn. The same arguments give the same picture.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mininet_topos.drawing_geometry import Canvas, Points, clear_bend, curve, place_labels, spread, trimmed
from mininet_topos.errors import BadInputError, MissingRequirementError
from mininet_topos.layout import positions
from mininet_topos.topology import Direction, LinkId, Topology
from mininet_topos.wording import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Style = tuple[str, "str | tuple[int, tuple[int, int]]"]
_Track = tuple[Direction, Style]

FORMATS = (".png", ".svg", ".pdf")
DPI = 160
# Labels need more room at the sides than symbols.
MARGIN, LABEL_MARGIN, TITLE_HEIGHT, LEGEND_HEIGHT = 32.0, 66.0, 40.0, 32.0
# The legend of all marks is 520 points wide.
MIN_WIDTH, MIN_LEGEND_WIDTH, MAX_WIDTH = 260.0, 530.0, 1250.0
MIN_HEIGHT, MAX_HEIGHT = 150.0, 900.0
# Above this many nodes, labels that would cover something are left out.
ALL_LABELS = 60

INK, LINK, NODE_EDGE, NODE_FILL = "#24292f", "#a8b3bf", "#57606a", "#ffffff"
FAILED = "#cf222e"
# Color and dashes.
PRIMARY_STYLE: Style = ("#1f6feb", "-")
NEW_STYLE: Style = ("#1a7f37", "-")
BACK_STYLE: Style = ("#e16f24", (0, (2, 1)))


@dataclass(frozen=True)
class DrawSpec:
    """What a picture shows besides the network.

    `failed` holds physical links or single directions. Paths are the directions walked, in order: `primary` before the
    failure, `crankback` the links that a packet backtracks, `new_path` after it. `ends` are the two hosts' switches.
    """

    title: str = ""
    subtitle: str = ""
    failed: tuple[LinkId | Direction, ...] = ()
    failed_nodes: tuple[str, ...] = ()
    primary: tuple[Direction, ...] = ()
    crankback: tuple[Direction, ...] = ()
    new_path: tuple[Direction, ...] = ()
    ends: tuple[str, ...] = ()


def directions_of(topology: Topology, nodes: Sequence[str]) -> tuple[Direction, ...]:
    """Directions along a walk given by its nodes, the lowest key where links are parallel."""
    lowest: dict[tuple[str, str], Direction] = {}
    for link in topology.links:
        held = lowest.get((link.src, link.dst))
        lowest[link.src, link.dst] = link.direction if held is None else min(held, link.direction)
    return tuple(lowest[step] for step in itertools.pairwise(nodes))


def split_walk(walk: Sequence[Direction]) -> tuple[tuple[Direction, ...], tuple[Direction, ...]]:
    """Split a packet's walk into the steps that go on and those that go back over a link walked before (crankback)."""
    onward: list[Direction] = []
    back: list[Direction] = []
    for step in walk:
        reverse = Direction(step.dst, step.src, step.key)
        (back if reverse in onward else onward).append(step)
    return tuple(onward), tuple(back)


def draw_topology(topology: Topology, path: Path | str, spec: DrawSpec | None = None) -> None:
    """Write a picture of the topology.

    Parameters
    ----------
    path
        File to write; its ending (.png, .svg, .pdf) decides the format.
    spec
        Title, failures and paths.

    Raises
    ------
    BadInputError
        Unknown ending, or the file cannot be written.
    MissingRequirementError
        matplotlib is not installed.
    """
    path = Path(path)
    if path.suffix.lower() not in FORMATS:
        raise BadInputError(f"cannot draw {str(path)!r}: the name must end in {', '.join(FORMATS)}")
    figure = topology_figure(topology, spec or DrawSpec())
    try:
        _save(figure, path, path.suffix.lower())
    except OSError as error:
        raise BadInputError(f"cannot write {str(path)!r} ({error.strerror}); name a folder that exists") from None


def topology_svg(topology: Topology, spec: DrawSpec | None = None) -> bytes:
    """The picture of `draw_topology` as the bytes of an SVG file.

    Raises
    ------
    MissingRequirementError
        matplotlib is not installed.
    """
    drawn = BytesIO()
    _save(topology_figure(topology, spec or DrawSpec()), drawn, ".svg")
    return drawn.getvalue()


def _save(figure: Figure, target: Path | BytesIO, ending: str) -> None:
    """Write a figure so that the same figure gives the same bytes."""
    import matplotlib as mpl

    kept = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(ending, {})
    with mpl.rc_context({"svg.hashsalt": "armor", "svg.fonttype": "none"}), warnings.catch_warnings():
        # A label in a script that the font lacks is drawn as boxes; that is no reason for noise.
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        figure.savefig(target, dpi=DPI, metadata=kept, format=ending[1:])


def topology_figure(topology: Topology, spec: DrawSpec) -> Figure:
    """Figure of the topology, for callers that place it among others (see `draw_topology`).

    Raises
    ------
    MissingRequirementError
        matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingRequirementError(
            "drawing needs matplotlib; run 'make setup', or pip install '.[draw]' in Armor's folder"
        ) from None
    canvas, points = _canvas(positions(topology), _has_labels(topology), _marks_anything(spec))
    figure = Figure(figsize=(canvas.width / 72, canvas.height / 72), facecolor="white")
    # One unit of the axes is one point, so that geometry and font sizes share a scale.
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, canvas.width), ylim=(0, canvas.height))
    axes.set_axis_off()
    _Picture(topology, spec, canvas, points, axes).draw()
    return figure


def _marks_anything(spec: DrawSpec) -> bool:
    return bool(spec.failed or spec.failed_nodes or spec.primary or spec.crankback or spec.new_path or spec.ends)


def _has_labels(topology: Topology) -> bool:
    """Whether some label is long enough to stand far out."""
    return any(len(node.label) > 3 and node.label != node.name for node in topology.nodes)


def _canvas(raw: Points, has_labels: bool, has_legend: bool) -> tuple[Canvas, Points]:
    """Scale positions so that neighbours stand readably apart and the whole fits a page."""
    count = len(raw)
    low, extent = raw.min(axis=0), np.maximum(np.ptp(raw, axis=0), 1e-9)
    apart = np.linalg.norm(raw[:, None] - raw[None, :], axis=2) + np.diag(np.full(count, np.inf))
    nearest = float(np.median(apart.min(axis=1))) if count > 1 else 1.0
    wanted = float(np.interp(count, [8, 20, 60, 200], [110, 62, 46, 38]))
    side = LABEL_MARGIN if has_labels else MARGIN
    foot = LEGEND_HEIGHT if has_legend else 0.0
    widest = (MAX_WIDTH - 2 * side) / extent[0]
    highest = (MAX_HEIGHT - 2 * MARGIN - TITLE_HEIGHT - foot) / extent[1]
    scale = min(wanted / max(nearest, 1e-9), widest, highest)
    radius = float(np.interp(count, [30, 60, 200], [9.5, 8.0, 6.5]))
    points = spread((raw - low) * scale, float(np.interp(count, [30, 200], [2.7, 3.6])) * radius)
    points -= points.min(axis=0)
    size = np.ptp(points, axis=0)
    width = max(float(size[0]) + 2 * side, MIN_LEGEND_WIDTH if has_legend else MIN_WIDTH)
    height = max(float(size[1]) + 2 * MARGIN + TITLE_HEIGHT + foot, MIN_HEIGHT)
    offset = np.array([(width - size[0]) / 2, foot + (height - TITLE_HEIGHT - foot - size[1]) / 2])
    name_size = float(np.interp(count, [30, 60, 200], [7.0, 6.0, 4.6]))
    label_size = float(np.interp(count, [30, 60, 200], [8.0, 6.5, 5.0]))
    return Canvas(width, height, radius, name_size, label_size), points + offset


class _Picture:
    """One drawing in progress: everything that its layers share."""

    def __init__(self, topology: Topology, spec: DrawSpec, canvas: Canvas, points: Points, axes: Axes) -> None:
        self.topology, self.spec, self.canvas, self.points, self.axes = topology, spec, canvas, points, axes
        self.bends = self._bends()

    def draw(self) -> None:
        """Draw all layers, the lowest first."""
        self._draw_links()
        self._draw_paths()
        self._draw_failures()
        self._draw_nodes()
        self._draw_labels()
        self._draw_heading()
        self._draw_legend()

    def _bends(self) -> dict[LinkId, float]:
        """Bend of every link: parallel links fan out, others go around nodes in their way."""
        alike: defaultdict[tuple[str, str], list[LinkId]] = defaultdict(list)
        for link in self.topology.link_ids:
            alike[link.a, link.b].append(link)
        bends: dict[LinkId, float] = {}
        for (a, b), links in alike.items():
            around = clear_bend(self.points, self.topology.index_of[a], self.topology.index_of[b], self.canvas.radius)
            for place, link in enumerate(links):
                bends[link] = around + (place - (len(links) - 1) / 2) * 2.1 * self.canvas.radius
        return bends

    def _line(self, direction: Direction, shift: float = 0.0) -> Points:
        """Curve of a link in the order of travel, from the edge of one node to the edge of the other."""
        link = self.topology.link_id(direction)
        start, end = (self.points[self.topology.index_of[name]] for name in (direction.src, direction.dst))
        bend = self.bends[link] if (link.a, link.b) == (direction.src, direction.dst) else -self.bends[link]
        trim = math.sqrt(max(self.canvas.radius**2 - shift**2, 0.0))
        return trimmed(curve(start, end, bend, shift), trim, trim)

    def _draw_links(self) -> None:
        width = float(np.interp(len(self.points), [30, 200], [1.5, 0.9]))
        for link in self.topology.link_ids:
            line = self._line(Direction(*link))
            self.axes.plot(line[:, 0], line[:, 1], color=LINK, linewidth=width, zorder=1, solid_capstyle="round")

    def _draw_paths(self) -> None:
        """Draw the paths as tracks side by side, each on the right of what runs the other way."""
        gap = 0.62 * self.canvas.radius
        for link, tracks in self._tracks().items():
            middle = (len(tracks) - 1) / 2
            if None in tracks:
                middle = tracks.index(None)
            for place, track in enumerate(tracks):
                if track is None:
                    continue
                direction, (color, style) = track
                along = 1.0 if (direction.src, direction.dst) == (link.a, link.b) else -1.0
                line = self._line(direction, along * gap * (place - middle))
                width = 0.26 * self.canvas.radius
                self.axes.plot(line[:, 0], line[:, 1], color=color, linestyle=style, linewidth=width, zorder=3)
                self._draw_arrow(line, color)

    def _tracks(self) -> dict[LinkId, list[_Track | None]]:
        """Strokes of each walked link from its left to its right, seen from end a; None is the dashes of a failure."""
        layers = (
            (self.spec.primary, PRIMARY_STYLE),
            (self.spec.new_path, NEW_STYLE),
            (self.spec.crankback, BACK_STYLE),
        )
        with_a: defaultdict[LinkId, list[_Track | None]] = defaultdict(list)
        against_a: defaultdict[LinkId, list[_Track | None]] = defaultdict(list)
        for path, style in layers:
            for direction in dict.fromkeys(path):
                link = self.topology.link_id(direction)
                side = with_a if (link.a, link.b) == (direction.src, direction.dst) else against_a
                side[link].append((direction, style))
        failed = {self.topology.link_id(Direction(*failed)) for failed in self.spec.failed}
        return {
            link: [*reversed(against_a[link]), *([None] if link in failed else []), *with_a[link]]
            for link in (*with_a, *against_a)
        }

    def _draw_arrow(self, line: Points, color: str) -> None:
        """Draw a small arrow head past the middle of a track."""
        if len(line) < 3:
            return
        place = round(0.7 * (len(line) - 1))
        tip, along = line[place], line[place] - line[place - 1]
        along = along / max(float(np.hypot(*along)), 1e-9)
        across = np.array([-along[1], along[0]])
        size = 0.55 * self.canvas.radius
        corners = np.array([tip + size * along, tip - 0.5 * size * along + 0.6 * size * across])
        corners = np.vstack([corners, tip - 0.5 * size * along - 0.6 * size * across])
        self.axes.fill(corners[:, 0], corners[:, 1], color=color, linewidth=0, zorder=4)

    def _draw_failures(self) -> None:
        for failed in self.spec.failed:
            both = isinstance(failed, LinkId)
            direction = Direction(*failed)
            line = self._line(direction, 0.0 if both else 0.34 * self.canvas.radius)
            style: Any = (0, (4, 2.2))
            for color, width, dashes in (("white", 3.4, "-"), (FAILED, 1.8, style)):
                self.axes.plot(line[:, 0], line[:, 1], color=color, linestyle=dashes, linewidth=width, zorder=2)
            self._draw_cross(line[len(line) // 2], 0.62 * self.canvas.radius)
            if not both:
                self._draw_arrow(line, FAILED)
        for name in self.spec.failed_nodes:
            self._draw_cross(self.points[self.topology.index_of[name]], 1.2 * self.canvas.radius, zorder=8)

    def _draw_cross(self, centre: Points, size: float, zorder: int = 5) -> None:
        for color, width in (("white", 4.6), (FAILED, 2.4)):
            for slope in (1, -1):
                x = [centre[0] - size, centre[0] + size]
                y = [centre[1] - slope * size, centre[1] + slope * size]
                self.axes.plot(x, y, color=color, linewidth=width, zorder=zorder, solid_capstyle="round")

    def _draw_nodes(self) -> None:
        from matplotlib.patches import Circle

        on_path = {end for step in (*self.spec.primary, *self.spec.new_path) for end in (step.src, step.dst)}
        for node, (x, y) in zip(self.topology.nodes, self.points, strict=True):
            is_end = node.name in self.spec.ends
            fill = INK if is_end else NODE_FILL
            edge = INK if is_end or node.name in on_path else NODE_EDGE
            width = 1.4 if is_end or node.name in on_path else 0.9
            self.axes.add_patch(
                Circle((x, y), self.canvas.radius, facecolor=fill, edgecolor=edge, linewidth=width, zorder=6)
            )
            size = self.canvas.name_size * min(1.0, 3.4 / max(len(node.name), 1))
            self._text(x, y, node.name, size, "white" if is_end else INK, zorder=7)

    def _text(self, x: float, y: float, text: str, size: float, color: str, **more: Any) -> Any:
        more = {"ha": "center", "va": "center_baseline"} | more
        return self.axes.text(x, y, text, fontsize=size, color=color, parse_math=False, **more)

    def _draw_labels(self) -> None:
        labels = ["" if node.label == node.name else node.label for node in self.topology.nodes]
        walked = {end for step in (*self.spec.primary, *self.spec.new_path) for end in (step.src, step.dst)}
        keep = [
            len(labels) <= ALL_LABELS or node.name in walked or node.name in self.spec.ends
            for node in self.topology.nodes
        ]
        lines = [self._line(Direction(*link)) for link in self.topology.link_ids]
        obstacles = np.vstack([np.zeros((1, 2)), *lines])
        boxes = place_labels(self.canvas, self.points, obstacles, [self._extent(label) for label in labels], keep)
        for label, box in zip(labels, boxes, strict=True):
            if box is not None:
                backing = {"facecolor": "white", "alpha": 0.8, "edgecolor": "none", "pad": 0.4}
                self._text(box.x, box.y, label, self.canvas.label_size, INK, zorder=5, bbox=backing)

    def _extent(self, label: str) -> tuple[float, float]:
        """Width and height of a label; the mean width of a character of the default font is 0.58 of its size."""
        size = self.canvas.label_size
        return (0.58 * size * len(label), 1.15 * size) if label else (0.0, 0.0)

    def _draw_heading(self) -> None:
        nodes, links = len(self.topology.nodes), len(self.topology.link_ids)
        top = self.canvas.height - 14
        self._text(16, top, self.spec.title or self.topology.name, 12.5, INK, ha="left", va="center", weight="bold")
        subtitle = self.spec.subtitle or f"{counted(nodes, 'node')}, {counted(links, 'link')}"
        self._text(16, top - 16, subtitle, 8.5, NODE_EDGE, ha="left", va="center")

    def _draw_legend(self) -> None:
        from matplotlib.lines import Line2D

        entries = (
            (self.spec.ends, "source and destination", {"color": INK, "marker": "o", "linestyle": "", "markersize": 8}),
            (self.spec.primary, "primary path", _stroke(PRIMARY_STYLE)),
            (self.spec.failed or self.spec.failed_nodes, "failed", _failed_mark()),
            (self.spec.crankback, "crankback", _stroke(BACK_STYLE)),
            (self.spec.new_path, "new path", _stroke(NEW_STYLE)),
        )
        handles = [Line2D([], [], label=label, **style) for shown, label, style in entries if shown]
        if handles:
            self.axes.legend(
                handles=handles,
                loc="lower left",
                bbox_to_anchor=(0.008, 0.0),
                ncols=len(handles),
                frameon=False,
                fontsize=8.5,
            )


def _stroke(style: Style) -> dict[str, Any]:
    return {"color": style[0], "linestyle": style[1], "linewidth": 2.5}


def _failed_mark() -> dict[str, Any]:
    return {
        "color": FAILED,
        "linestyle": (0, (4, 2.2)),
        "linewidth": 1.8,
        "marker": "x",
        "markersize": 6,
        "markeredgewidth": 2,
    }
