"""Geometry of a picture in points (1/72 inch): scale, curves of links, places of labels. No plotting library."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]

CURVE_STEPS = 24
# Bends that a link may take around a node that stands in its way, in node radii; at most a part of its length.
BENDS = (0.0, 2.2, -2.2, 3.5, -3.5, 5.0, -5.0)
MAX_BEND = 0.15
CLEARANCE = 1.3
# Where a label may stand: (dx, dy) from the node, the better first.
LABEL_SIDES = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1))
# How far off, in radii; a label that may give way stays near or goes.
FAR = (1.0, 1.7, 2.8)
LABEL_ROUNDS = 3


@dataclass(frozen=True)
class Canvas:
    """Size of the picture and of its symbols, in points."""

    width: float
    height: float
    radius: float
    name_size: float
    label_size: float


@dataclass(frozen=True)
class Box:
    """A label's rectangle: centre and half sizes."""

    x: float
    y: float
    half_width: float
    half_height: float


def spread(points: Points, distance: float, rounds: int = 60) -> Points:
    """Push points apart until no two are nearer than `distance`, each as little as it takes.

    Points on one spot are parted along a fixed spiral of directions.
    """
    points = points.copy()
    count = len(points)
    turns = np.arange(count) * 2.4
    spiral = np.column_stack([np.cos(turns), np.sin(turns)])
    for _ in range(rounds):
        gap = points[:, None] - points[None, :]
        apart = np.linalg.norm(gap, axis=2)
        np.fill_diagonal(apart, np.inf)
        short = np.maximum(distance - apart, 0.0)
        if not short.any():
            break
        same = apart < 1e-6
        gap[same] = (spiral[:, None] - spiral[None, :])[same]
        unit = gap / np.maximum(np.linalg.norm(gap, axis=2), 1e-9)[..., None]
        points += 0.55 * (unit * short[..., None]).sum(axis=1)
    return points


def curve(start: Points, end: Points, bend: float, shift: float = 0.0) -> Points:
    """Quadratic curve between two points.

    Parameters
    ----------
    start, end : array, shape (2,)
    bend
        How far the middle stands off the straight line, to the left of the way from start to end.
    shift
        Sideways shift of the whole curve, to the right of that way.

    Returns
    -------
    array, shape (CURVE_STEPS + 1, 2)
    """
    along = end - start
    left = np.array([-along[1], along[0]]) / max(float(np.hypot(*along)), 1e-9)
    t = np.linspace(0.0, 1.0, CURVE_STEPS + 1)[:, None]
    line = start + t * along + 4 * t * (1 - t) * bend * left
    tangent = np.gradient(line, axis=0)
    normal = np.column_stack([tangent[:, 1], -tangent[:, 0]])
    normal /= np.maximum(np.linalg.norm(normal, axis=1), 1e-9)[:, None]
    return np.asarray(line + shift * normal)


def clear_bend(points: Points, a: int, b: int, radius: float) -> float:
    """Smallest bend of a link from point a to point b that keeps clear of every other node; 0 when none does."""
    others = np.delete(points, [a, b], axis=0)
    limit = MAX_BEND * float(np.linalg.norm(points[b] - points[a]))
    for bend in BENDS:
        line = curve(points[a], points[b], bend * radius)
        apart = np.linalg.norm(others[:, None] - line[None, :], axis=2)
        if abs(bend) * radius <= limit and (not len(others) or apart.min() >= CLEARANCE * radius):
            return bend * radius
    return 0.0


def trimmed(line: Points, start_trim: float, end_trim: float) -> Points:
    """Cut a polyline short at both ends, by path length."""
    steps = np.linalg.norm(np.diff(line, axis=0), axis=1)
    at = np.concatenate([[0.0], np.cumsum(steps)])
    total = at[-1]
    if total <= start_trim + end_trim:
        return line[len(line) // 2 : len(line) // 2 + 1]
    kept = np.linspace(start_trim, total - end_trim, len(line))
    return np.column_stack([np.interp(kept, at, line[:, axis]) for axis in (0, 1)])


def place_labels(
    canvas: Canvas, nodes: Points, obstacles: Points, sizes: Sequence[tuple[float, float]], keep: Sequence[bool]
) -> list[Box | None]:
    """Places for node labels that cover little: other labels, nodes, and the lines of links.

    Parameters
    ----------
    nodes : array, shape (n, 2)
    obstacles : array, shape (m, 2)
        Points along the links, evenly spaced.
    sizes : sequence of (width, height)
        Of each label; width 0 where there is none.
    keep
        A label that must stay even where it covers something; the others give way (None).
    """
    order = sorted((number for number, size in enumerate(sizes) if size[0]), key=lambda number: not keep[number])
    placed: dict[int, Box] = {}
    for _ in range(LABEL_ROUNDS):
        for number in order:
            others = [box for other, box in placed.items() if other != number]
            options = _options(canvas, nodes[number], sizes[number], FAR if keep[number] else FAR[:1])
            costs = [
                _cost(canvas, box, rank, np.delete(nodes, number, axis=0), obstacles, others=others)
                for rank, box in enumerate(options)
            ]
            placed[number] = options[int(np.argmin(costs))]
    boxes: list[Box | None] = [None] * len(sizes)
    for number in order:
        others = [box for box in boxes if box is not None]
        if keep[number] or not _covers(canvas, placed[number], np.delete(nodes, number, axis=0), others):
            boxes[number] = placed[number]
    return boxes


def _options(canvas: Canvas, node: Points, size: tuple[float, float], distances: Sequence[float]) -> list[Box]:
    half_width, half_height = size[0] / 2, size[1] / 2
    near = canvas.radius + 2.5
    boxes = []
    for far in distances:
        for dx, dy in LABEL_SIDES:
            reach = near * far * (0.72 if dx and dy else 1.0)
            x, y = node[0] + dx * (reach + half_width), node[1] + dy * (reach + half_height)
            boxes.append(Box(float(x), float(y), half_width, half_height))
    return boxes


def _overlap(box: Box, other: Box) -> float:
    across = box.half_width + other.half_width - abs(box.x - other.x)
    upright = box.half_height + other.half_height - abs(box.y - other.y)
    return max(across, 0.0) * max(upright, 0.0)


def _near(box: Box, points: Points, margin: float) -> int:
    inside = (abs(points[:, 0] - box.x) < box.half_width + margin) & (
        abs(points[:, 1] - box.y) < box.half_height + margin
    )
    return int(inside.sum())


def _cost(canvas: Canvas, box: Box, rank: int, nodes: Points, obstacles: Points, *, others: list[Box]) -> float:
    outside = max(
        box.half_width - box.x,
        box.x + box.half_width - canvas.width,
        box.half_height - box.y,
        box.y + box.half_height - canvas.height,
        0.0,
    )
    labels = sum(_overlap(box, other) for other in others)
    return (
        0.15 * rank
        + 1.0 * _near(box, obstacles, 0.5)
        + 25.0 * _near(box, nodes, canvas.radius)
        + 0.4 * labels
        + 30.0 * outside
    )


def _covers(canvas: Canvas, box: Box, nodes: Points, others: list[Box]) -> bool:
    return bool(_near(box, nodes, canvas.radius)) or any(_overlap(box, other) > 0 for other in others)
