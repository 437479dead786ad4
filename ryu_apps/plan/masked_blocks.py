"""A range of a field's values as the masked matches that say so: what a switch can match is a mask, not a range."""

from __future__ import annotations


def masked_blocks(first: int, stop: int, n_values: int) -> tuple[tuple[int, int], ...]:
    """Values from `first` up to but not including `stop` as (value, mask): aligned blocks, as few as there are.

    Parameters
    ----------
    first, stop
        Both within 0 to `n_values`.
    n_values
        How many values the field has, a power of two. A range of n bits takes at most 2n - 2 blocks.

    Examples
    --------
    >>> [(value, bin(mask)) for value, mask in masked_blocks(512, 800, 1024)]
    [(512, '0b1100000000'), (768, '0b1111100000')]
    """
    blocks = []
    while first < stop:
        size = first & -first or n_values
        while first + size > stop:
            size //= 2
        blocks.append((first, (n_values - 1) & ~(size - 1)))
        first += size
    return tuple(blocks)
