"""What users choose by name in traffic engineering; the first is the default. Apart from what it chooses, which takes
a second to import.
"""

from __future__ import annotations

METRICS = ("hops", "delay")  # cost of a link
ROUTES = ("spt", "mst")  # shortest-path trees, or one minimum spanning tree
PLANNERS = ("tree", "pair", "tunnels")  # routes by destination, two per pair, or a pair's tunnels

TUNNEL_KINDS = ("disjoint", "k-shortest", "spt", "mst")
MAX_TUNNELS = 16  # of a pair

OBJECTIVES = ("throughput", "max-min", "min-max-utilisation")
BASE_POINTS = ("centre", "vertex")
TE_SOLVERS = ("auto", "cvxpy", "fast")  # what solves the throughput program; solve.py says what "auto" takes
SOLVERS = {"clarabel": "centre", "highs": "vertex", "scipy": "vertex"}  # cvxpy's, and at which point each ends
