"""Kernels: plain Python over arrays that numba compiles when it is there; without it they run, slower, as they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar, cast

try:
    import numba
except ImportError:  # the extra "te" brings it; the results are the same without
    numba = None

Kernel = TypeVar("Kernel", bound=Callable[..., object])


def lanes(count: int) -> Iterable[int]:
    """Loop whose passes a `parallel_kernel` runs side by side; elsewhere a plain range."""
    return range(count)


if numba is not None:
    lanes = numba.prange


def kernel(function: Kernel) -> Kernel:
    """Compile a function at its first call and keep the machine code beside its source."""
    if numba is None:
        return function
    return cast("Kernel", numba.njit(cache=True, nogil=True)(function))


def parallel_kernel(function: Kernel) -> Kernel:
    """Compile a function whose loops over `lanes` run in numba's threads."""
    if numba is None:
        return function
    return cast("Kernel", numba.njit(cache=True, nogil=True, parallel=True)(function))


@contextmanager
def running_threads(count: int) -> Iterator[None]:
    """At most `count` threads for parallel kernels: idle ones would wait busily."""
    if numba is None:
        yield
        return
    before = numba.get_num_threads()
    numba.set_num_threads(min(count, int(numba.config.NUMBA_NUM_THREADS)))
    try:
        yield
    finally:
        numba.set_num_threads(before)
