"""The router of each planner."""

from __future__ import annotations

from mininet_topos.errors import BadInputError
from te_solver.choices import PLANNERS
from te_solver.commodity_routes import PairRouter, Router, TreeRouter
from te_solver.routes import ResidualRoutes


def make_router(planner: str, residual: ResidualRoutes) -> Router:
    """Router of a planner name.

    Raises
    ------
    BadInputError
        `planner` is not one of `PLANNERS`.
    """
    if planner not in PLANNERS:
        raise BadInputError(f"unknown planner {planner!r}; use one of {', '.join(PLANNERS)}")
    if planner == "tunnels":
        from te_solver.tunnel_router import TunnelRouter  # brings a compiler with it

        return TunnelRouter(residual)
    return TreeRouter(residual) if planner == "tree" else PairRouter(residual)
