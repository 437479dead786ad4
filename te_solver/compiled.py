"""Kernels: plain Python over arrays that numba compiles when it is there; without it they run, slower, as they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, TypeVar, cast

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

try:
    import numba
except ImportError:  # the extra "te" brings it; the results are the same without
    numba = None

Kernel = TypeVar("Kernel", bound=Callable[..., object])


def blocks(count: int) -> Iterable[int]:
    """Loop whose passes a `parallel_kernel` runs side by side; elsewhere a plain range."""
    return range(count)


if numba is not None:
    blocks = numba.prange


def kernel(function: Kernel) -> Kernel:
    """Compile a function at its first call and keep the machine code beside its source."""
    if numba is None:
        return function
    return cast("Kernel", numba.njit(cache=True, nogil=True)(function))


def parallel_kernel(function: Kernel) -> Kernel:
    """Compile a function whose loops over `blocks` run in numba's threads."""
    if numba is None:
        return function
    return cast("Kernel", numba.njit(cache=True, nogil=True, parallel=True)(function))


@contextmanager
def running_threads(count: int) -> Iterator[None]:
    """At most `count` threads for parallel kernels and for linear algebra: idle ones would wait busily."""
    with _linear_algebra().limit(limits=count, user_api="blas"), _kernels(count):
        yield


@cache
def _linear_algebra() -> ThreadpoolController:
    """The thread pools of the libraries behind numpy and scipy, which are loaded by now."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@contextmanager
def _kernels(count: int) -> Iterator[None]:
    if numba is None:
        yield
        return
    before = numba.get_num_threads()
    numba.set_num_threads(min(count, int(numba.config.NUMBA_NUM_THREADS)))
    try:
        yield
    finally:
        numba.set_num_threads(before)
