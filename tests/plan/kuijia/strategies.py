"""Random splitting weights and histories of failures."""

from __future__ import annotations

from hypothesis import strategies as st

WEIGHTS = st.lists(
    st.just(0.0) | st.floats(0.001, 1.0) | st.sampled_from([1 / 3, 0.5, 0.25, 1e-6]), min_size=1, max_size=6
)


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[float], list[frozenset[int]]]:
    """Weights, and tunnels that fail one after another or several at once; some are named twice."""
    weights = draw(WEIGHTS)
    tunnels = st.frozensets(st.integers(0, len(weights) - 1), max_size=2)
    return weights, draw(st.lists(tunnels, max_size=5))
