"""Toy gadgets: small networks, each drawn here and named by what it stresses.

Every link has 100 Mbit/s and 1 ms unless the drawing says otherwise. `POSITIONS` repeats the drawings for pictures.
"""

from __future__ import annotations

from mininet_topos.build import from_edges, numbered_nodes
from mininet_topos.topology import Link, Node, Topology

CAPACITY_MBPS = 100.0
DELAY_MS = 1.0


def figure2() -> Topology:
    """SD-FAST's Figure 2: when D-E fails, a packet from A backtracks at D and finds the other route at B.

    ::

        A(s1) -- B(s2) -- C(s3) -- D(s4) -- E(s5)
                   |                          |
                 F(s6) ------- G(s7) ------ H(s8)
    """
    return _toy("figure2", "ABCDEFGH", ((1, 2), (2, 3), (3, 4), (4, 5), (2, 6), (6, 7), (7, 8), (5, 8)))


def pair() -> Topology:
    """The smallest network: one link, nothing to recover with.

    ::

        s1 -- s2
    """
    return _toy("pair", 2, ((1, 2),))


def square() -> Topology:
    """Two ways between any two nodes; opposite corners have two shortest paths.

    ::

        s1 -- s2
        |      |
        s4 -- s3
    """
    return _toy("square", 4, ((1, 2), (2, 3), (3, 4), (1, 4)))


def dumbbell() -> Topology:
    """A bridge: when s3-s4 fails the two triangles are disconnected, and packets must be dropped, never looped.

    ::

        s1             s6
        | \\           / |
        |  s3 ----- s4  |
        | /           \\ |
        s2             s5
    """
    return _toy("dumbbell", 6, ((1, 2), (1, 3), (2, 3), (3, 4), (4, 5), (4, 6), (5, 6)))


def parallel() -> Topology:
    """Parallel links: the repair of a failed link may be its twin, to the same neighbour.

    ::

        s1 ==2== s2
          \\      |3
           `---- s3        s1-s2 twice, s2-s3 three times, s1-s3 once
    """
    return _toy("parallel", 3, ((1, 2), (1, 2), (2, 3), (2, 3), (2, 3), (1, 3)))


def ladder() -> Topology:
    """Many shortest paths of equal length: ties must be broken the same way everywhere.

    ::

        s1 -- s2 -- s3 -- s4
        |     |     |     |
        s5 -- s6 -- s7 -- s8
    """
    rails = ((1, 2), (2, 3), (3, 4), (5, 6), (6, 7), (7, 8))
    return _toy("ladder", 8, (*rails, (1, 5), (2, 6), (3, 7), (4, 8)))


def tail() -> Topology:
    """A long tail: when s6-s7 fails, packets from s1 to s7 walk five hops back before they find another way.

    ::

        s1 -- s2 -- s3 -- s4 -- s5 -- s6 -- s7
        |                                    |
        s13 - s12 - s11 - s10 --- s9 ------ s8
    """
    return _toy("tail", 13, (*((k, k + 1) for k in range(1, 13)), (1, 13)))


def one_way() -> Topology:
    """Directions that differ: by delay, clockwise is the short way round for both s1 to s3 and s3 to s1.

    ::

        s1 >> s2        >> clockwise: 1 ms, 100 Mbit/s
        ^      v
        ^      v        against it: 10 ms, 10 Mbit/s
        s4 << s3
    """
    names = ("s1", "s2", "s3", "s4")
    links: list[Link] = []
    for src, dst in zip(names, names[1:] + names[:1], strict=True):
        links += (Link(src, dst, 0, CAPACITY_MBPS, DELAY_MS), Link(dst, src, 0, CAPACITY_MBPS / 10, 10 * DELAY_MS))
    return Topology("one-way", tuple(Node(name, name) for name in names), tuple(links))


def theta() -> Topology:
    """Three disjoint paths of 2, 3 and 4 hops from s1 to s2: any two failures leave them connected.

    ::

              s3
           /      \\
        s1-s4----s5-s2
           \\      /
         s6 - s7 - s8
    """
    return _toy("theta", 8, ((1, 3), (2, 3), (1, 4), (4, 5), (2, 5), (1, 6), (6, 7), (7, 8), (2, 8)))


def star() -> Topology:
    """A tree: every link is a bridge, so every failure disconnects a leaf.

    ::

              s2
              |
        s5 -- s1 -- s3
              |
              s4
    """
    return _toy("star", 5, ((1, 2), (1, 3), (1, 4), (1, 5)))


TOYS = {
    "figure2": figure2,
    "pair": pair,
    "square": square,
    "dumbbell": dumbbell,
    "parallel": parallel,
    "ladder": ladder,
    "tail": tail,
    "one-way": one_way,
    "theta": theta,
    "star": star,
}

# The drawings above as (x, y) a node.
# fmt: off
POSITIONS: dict[str, tuple[tuple[float, float], ...]] = {
    "figure2": ((0, 1), (1, 1), (2, 1), (3, 1), (4, 1), (1, 0), (2.5, 0), (4, 0)),
    "pair": ((0, 0), (1, 0)),
    "square": ((0, 1), (1, 1), (1, 0), (0, 0)),
    "dumbbell": ((0, 1), (0, 0), (1, 0.5), (2, 0.5), (3, 0), (3, 1)),
    "parallel": ((0, 1), (1.5, 1), (1.5, 0)),
    "ladder": ((0, 1), (1, 1), (2, 1), (3, 1), (0, 0), (1, 0), (2, 0), (3, 0)),
    "tail": (
        (0, 2), (1, 2), (2, 2), (3, 2), (4, 2), (5, 2), (6, 2),
        (6, 0), (4.8, 0), (3.6, 0), (2.4, 0), (1.2, 0), (0, 0),
    ),
    "one-way": ((0, 1), (1, 1), (1, 0), (0, 0)),
    "theta": ((0, 1), (4, 1), (2, 2), (1.3, 1), (2.7, 1), (1, 0), (2, -0.2), (3, 0)),
    "star": ((1, 1), (1, 2), (2, 1), (1, 0), (0, 1)),
}
# fmt: on


def _toy(name: str, nodes: int | str, edges: tuple[tuple[int, int], ...]) -> Topology:
    labels = nodes if isinstance(nodes, str) else [f"s{number}" for number in range(1, nodes + 1)]
    return from_edges(name, numbered_nodes(labels), edges, capacity_mbps=CAPACITY_MBPS, delay_ms=DELAY_MS)
