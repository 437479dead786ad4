"""Sets of failed links and their ids: the VLAN id of a tagged packet names the SET it knows of.

Sets are numbered from 1: all single links in link order, then all pairs in lexicographic order,
and so on up to `max_failures` links. An 802.1Q tag holds ids 1..4094.
"""

from __future__ import annotations

from functools import cached_property
from itertools import combinations
from math import comb

from mininet_topos.errors import PlanLimitError

MAX_TAG_ID = 4094
NO_TAG = 0


def sets_up_to(n_links: int, max_failures: int) -> int:
    """How many non-empty sets of at most `max_failures` of `n_links` links there are."""
    return sum(comb(n_links, size) for size in range(1, min(max_failures, n_links) + 1))


def default_max_failures(n_links: int) -> int:
    """Largest of 2 and 1 whose sets fit the tag: 2 up to 89 links."""
    return 2 if sets_up_to(n_links, 2) <= MAX_TAG_ID else 1


class FailureSets:
    """Numbering of the sets of at most `max_failures` failed links out of `n_links`.

    A set is a bit mask over link numbers (bit i = link i of `Topology.link_ids`).

    Raises
    ------
    PlanLimitError
        The sets do not fit the 4094 ids of a tag.
    """

    def __init__(self, n_links: int, max_failures: int) -> None:
        if max_failures < 0:
            raise PlanLimitError(f"max_failures is {max_failures}; use 0 or more")
        needed = sets_up_to(n_links, max_failures)
        if needed > MAX_TAG_ID:
            raise PlanLimitError(
                f"{n_links} links have {needed} sets of up to {max_failures} failed links, more than the {MAX_TAG_ID} "
                f"ids of a tag; plan for fewer simultaneous failures (--max-failures {max(0, max_failures - 1)})"
            )
        self.n_links = n_links
        self.max_failures = max_failures
        self._subsets: dict[int, tuple[int, ...]] = {}

    @cached_property
    def masks(self) -> tuple[int, ...]:
        """Mask of every tag id; id 0 is the empty set."""
        sizes = range(min(self.max_failures, self.n_links) + 1)
        return tuple(
            sum(1 << number for number in chosen)
            for size in sizes
            for chosen in combinations(range(self.n_links), size)
        )

    @cached_property
    def tag_id_of(self) -> dict[int, int]:
        """Tag id of every mask."""
        return {mask: tag_id for tag_id, mask in enumerate(self.masks)}

    def numbers(self, tag_id: int) -> tuple[int, ...]:
        """Link numbers of a set, ascending."""
        mask, found = self.masks[tag_id], []
        while mask:
            found.append((mask & -mask).bit_length() - 1)
            mask &= mask - 1
        return tuple(found)

    def with_link(self, tag_id: int, number: int) -> int | None:
        """Id of the set with one more link; None when the set would be too large."""
        return self.tag_id_of.get(self.masks[tag_id] | 1 << number)

    def containing(self, number: int) -> tuple[int, ...]:
        """Ids of all sets that contain a link."""
        return tuple(tag_id for tag_id, mask in enumerate(self.masks) if mask >> number & 1)

    def subsets(self, tag_id: int) -> tuple[int, ...]:
        """Ids of the proper subsets of a set, the empty set (0) included."""
        if tag_id not in self._subsets:  # every switch asks for every set
            chosen = self.numbers(tag_id)
            self._subsets[tag_id] = tuple(
                self.tag_id_of[sum(1 << number for number in part)]
                for size in range(len(chosen))
                for part in combinations(chosen, size)
            )
        return self._subsets[tag_id]
