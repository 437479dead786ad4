"""Which terms some packet can meet alike: joins on the bits that both pin, not all pairs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations_with_replacement

from ryu_apps.plan.decompose.logical import Term

Terms = tuple[Term, ...]


def overlapping_pairs(keys: Iterable[Terms]) -> Iterator[tuple[Terms, Terms]]:
    """Pairs of different keys (terms of the same columns) that one packet can meet.

    Rows are grouped by masks; two groups are joined on their common bits, so n rows of s signatures cost about n * s.
    """
    groups: dict[tuple[int, ...], list[Terms]] = defaultdict(list)
    for key in dict.fromkeys(keys):
        groups[_masks(key)].append(key)
    for first, second in combinations_with_replacement(sorted(groups), 2):
        if first == second:
            continue  # equal masks: different values are disjoint
        common = [one & other for one, other in zip(first, second, strict=True)]
        held: dict[tuple[int, ...], list[Terms]] = defaultdict(list)
        for key in groups[first]:
            held[_project(key, common)].append(key)
        for key in groups[second]:
            yield from ((other, key) for other in held.get(_project(key, common), ()))


def are_disjoint(keys: Iterable[Terms]) -> bool:
    """Whether no packet meets two of these keys."""
    return next(overlapping_pairs(keys), None) is None


def cover_everything(keys: Iterable[Terms]) -> bool:
    """Whether every packet surely meets one of the keys: one asks for nothing, or they are all values of few bits."""
    distinct = set(keys)
    if any(not any(_masks(key)) for key in distinct):
        return True
    masks = {_masks(key) for key in distinct}
    if len(masks) != 1:
        return False
    asked = sum(mask.bit_count() for mask in next(iter(masks)))
    return len(distinct) == 1 << asked


def _masks(key: Terms) -> tuple[int, ...]:
    return tuple(mask for term in key for _, mask in term)


def _project(key: Terms, common: Sequence[int]) -> tuple[int, ...]:
    values = [value for term in key for value, _ in term]
    return tuple(value & bits for value, bits in zip(values, common, strict=True))
