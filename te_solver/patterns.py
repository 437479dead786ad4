"""Failures as what they do to a demand's tunnels: bit masks, so that many failures become few patterns.

Bit t of a mask stands for the t-th tunnel of the demand. A link fails the tunnels that cross it in either direction.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mininet_topos.errors import BadInputError
from te_solver.values import Problem

# Failure sets are enumerated one by one for TeaVaR.
MAX_SCENARIOS = 2_000_000


def failure_masks(problem: Problem) -> list[dict[int, int]]:
    """For every demand: physical link (position in `link_ids`) to the tunnels that it fails, where it fails any."""
    tunnels = problem.tunnels
    masks: list[dict[int, int]] = []
    starts = tunnels.pair_starts.tolist()
    for first, last in itertools.pairwise(starts):
        mask: dict[int, int] = {}
        for place, tunnel in enumerate(range(first, last)):
            for link in problem.network.link_of[tunnels.arcs_of(tunnel)].tolist():
                mask[link] = mask.get(link, 0) | 1 << place
        masks.append(mask)
    return masks


def worst_failed_tunnels(masks: Iterable[int], failures: int) -> tuple[int, ...]:
    """Sets of tunnels that up to `failures` links can fail together, the largest ones only, in ascending order.

    What survives one of them survives every smaller set too.
    """
    single = {mask for mask in masks if mask}
    reached = {0}
    for _ in range(failures):
        reached |= {down | mask for down in reached for mask in single}
    return tuple(
        sorted(down for down in reached if not any(down != other and down & other == down for other in reached))
    )


@dataclass(frozen=True, slots=True)
class Scenario:
    """Failures with one effect: their joint probability, and the failed tunnels of every demand as a mask."""

    probability: float
    down: tuple[int, ...]


def scenarios(problem: Problem, probabilities: Sequence[float], failures: int, *, merged: bool) -> tuple[Scenario, ...]:
    """Every set of up to `failures` failed links with its probability (links fail independently).

    Parameters
    ----------
    probabilities
        Chance that each physical link is down, at least 0 and below 1.
    merged
        Whether sets with the same effect become one scenario.

    Raises
    ------
    BadInputError
        A probability that is none, or too many sets to enumerate.
    """
    links = len(problem.network.topology.link_ids)
    for probability in probabilities:
        if not 0 <= probability < 1:
            raise BadInputError(f"the failure probability {probability} is not from 0 to below 1; correct it")
    count = sum(math.comb(links, size) for size in range(failures + 1))
    if count > MAX_SCENARIOS:
        raise BadInputError(f"{count} failure sets are more than {MAX_SCENARIOS}; look at fewer simultaneous failures")
    masks = failure_masks(problem)
    all_up = math.prod(1 - probability for probability in probabilities)
    odds = [probability / (1 - probability) for probability in probabilities]
    found: list[Scenario] = []
    for size in range(failures + 1):
        for failed in itertools.combinations(range(links), size):
            down = tuple(failed_mask(mask, failed) for mask in masks)
            found.append(Scenario(all_up * math.prod(odds[link] for link in failed), down))
    return _merged(found) if merged else tuple(found)


def failed_mask(mask: dict[int, int], failed: Iterable[int]) -> int:
    """Tunnels of one demand that a set of failed links fails."""
    down = 0
    for link in failed:
        down |= mask.get(link, 0)
    return down


def _merged(found: Iterable[Scenario]) -> tuple[Scenario, ...]:
    probability: dict[tuple[int, ...], float] = {}
    for scenario in found:
        probability[scenario.down] = probability.get(scenario.down, 0.0) + scenario.probability
    return tuple(Scenario(chance, down) for down, chance in probability.items())
