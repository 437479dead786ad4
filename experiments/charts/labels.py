"""Places for labels along an axis."""

from __future__ import annotations

from collections.abc import Sequence


def spread_labels(values: Sequence[float], gap: float, span: tuple[float, float]) -> list[float]:
    """Places for labels of ascending `values`, at least `gap` apart, as near to their values as a sweep finds.

    Examples
    --------
    >>> spread_labels([0, 1, 50], 10, (-100, 100))
    [-4.5, 5.5, 50.0]
    """
    clusters: list[list[float]] = []
    for value in values:
        clusters.append([float(value)])
        while len(clusters) > 1 and _ends(clusters[-2], gap)[1] + gap > _ends(clusters[-1], gap)[0]:
            last = clusters.pop()
            clusters[-1] += last
    places = []
    for cluster in clusters:
        first = max(_ends(cluster, gap)[0], span[0])
        first = min(first, span[1] - gap * (len(cluster) - 1))
        places += [first + gap * index for index in range(len(cluster))]
    return places


def _ends(cluster: Sequence[float], gap: float) -> tuple[float, float]:
    """First and last place of a cluster of labels that is centred on the mean of its values."""
    middle, half = sum(cluster) / len(cluster), gap * (len(cluster) - 1) / 2
    return middle - half, middle + half
