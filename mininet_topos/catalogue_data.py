"""Facts of the catalogue topologies, written down from the public sources that each table names."""

from __future__ import annotations

# USNET, 24 nodes and 43 links: (node, node, fibre km). The adjacency is the same in four public sources
# (XLRON's usnet_ptrnet and usnet_gcnrnn, SDON simulator's us_network, a QKD simulator); km as in usnet_ptrnet.
# fmt: off
USNET_LINKS_KM: tuple[tuple[int, int, int], ...] = (
    (1, 2, 800), (1, 6, 1000), (2, 3, 1100), (2, 6, 950), (3, 4, 250), (3, 5, 1000), (3, 7, 1000),
    (4, 5, 800), (4, 7, 850), (5, 8, 1200), (6, 7, 1000), (6, 9, 1200), (6, 11, 1900), (7, 8, 1150),
    (7, 9, 1000), (8, 10, 900), (9, 10, 1000), (9, 11, 1400), (9, 12, 1000), (10, 13, 950), (10, 14, 850),
    (11, 12, 900), (11, 15, 1300), (11, 19, 2800), (12, 13, 1000), (12, 16, 1100), (13, 14, 650),
    (13, 17, 1100), (14, 18, 1200), (15, 16, 800), (15, 20, 1300), (16, 17, 1000), (16, 21, 1000),
    (16, 22, 800), (17, 18, 800), (17, 22, 850), (17, 23, 1000), (18, 24, 900), (19, 20, 700),
    (20, 21, 700), (21, 22, 300), (22, 23, 600), (23, 24, 900),
)
# fmt: on

# Links whose length the sources dispute: what SDON's file says instead (7-8 is 900 one way, 1150 the other).
USNET_DISPUTED_KM: dict[tuple[int, int], int] = {
    (3, 5): 800,
    (7, 8): 900,
    (11, 19): 2600,
    (12, 13): 900,
    (12, 16): 1000,
    (15, 16): 600,
    (19, 20): 1200,
}

# USNET has no published places: positions of its usual drawing, west to east, for pictures only.
# fmt: off
USNET_POSITIONS: tuple[tuple[float, float], ...] = (
    (0.6, 8.3), (0.0, 6.5), (0.5, 4.2), (0.1, 2.6), (1.3, 1.0), (2.7, 7.2), (2.9, 4.4), (3.5, 1.9),
    (4.9, 5.7), (5.5, 3.2), (6.7, 8.0), (7.0, 5.9), (7.6, 3.5), (7.2, 1.5), (9.2, 7.4), (9.4, 5.4),
    (9.7, 3.2), (10.0, 1.1), (12.0, 8.9), (12.3, 7.0), (11.7, 5.7), (11.5, 4.4), (12.3, 2.9), (12.7, 1.2),
)
# fmt: on

# Darkstrand, 28 sites (label, latitude, longitude) and 31 links: the Internet Topology Zoo's map of 2010, the same
# labelled links in its source drawing, its published archive, and TopologyBench as carried by XLRON.
DARKSTRAND_SITES: tuple[tuple[str, float, float], ...] = (
    ("Tulsa", 36.154, -95.993),
    ("Kansas City", 39.114, -94.627),
    ("San Antonio", 29.424, -98.494),
    ("Dallas", 32.783, -96.807),
    ("Pensacola", 30.421, -87.217),
    ("Jacksonville", 30.332, -81.656),
    ("Houston", 29.763, -95.363),
    ("Baton Rouge", 30.451, -91.155),
    ("Atlanta", 33.749, -84.388),
    ("Raleigh", 35.772, -78.639),
    ("New York", 40.714, -74.006),
    ("Syracuse", 43.048, -76.147),
    ("Cleveland", 41.499, -81.695),
    ("Chicago", 41.850, -87.650),
    ("Raton", 36.903, -104.439),
    ("Pittsburgh", 40.441, -79.996),
    ("Washington DC", 38.895, -77.036),
    ("Philadelphia", 39.952, -75.164),
    ("Los Angeles", 34.052, -118.244),
    ("El Paso/Las Cruces", 31.759, -106.487),
    ("Seattle", 47.606, -122.332),
    ("Portland", 45.523, -122.676),
    ("Sunny Vale", 37.369, -122.036),
    ("Boise", 43.614, -116.203),
    ("Salt Lake City", 40.761, -111.891),
    ("Denver", 39.739, -104.985),
    ("Albuquerque", 35.084, -106.651),
    ("Phoenix", 33.448, -112.074),
)
# fmt: off
DARKSTRAND_LINKS: tuple[tuple[int, int], ...] = (
    (1, 2), (1, 4), (2, 26), (2, 14), (3, 20), (3, 7), (4, 7), (5, 6), (5, 8), (6, 9), (7, 8),
    (9, 10), (10, 17), (11, 18), (11, 12), (12, 13), (13, 14), (13, 16), (15, 26), (15, 27), (16, 17),
    (17, 18), (19, 28), (19, 23), (20, 28), (20, 27), (21, 22), (21, 24), (22, 23), (24, 25), (25, 26),
)
# fmt: on

# Gscale (Google's B4), 12 nodes and 19 links, numbered as in TeaVaR, Teal and MetaEase, which agree. Every source
# gives all links one capacity; Kuijia's paper uses 1 Gbit/s. Lengths exist only in another numbering, so none here.
# fmt: off
GSCALE_LINKS: tuple[tuple[int, int], ...] = (
    (1, 2), (1, 3), (2, 5), (3, 4), (3, 6), (4, 5), (4, 7), (4, 8), (5, 6), (6, 7),
    (6, 8), (7, 8), (7, 11), (8, 10), (9, 10), (9, 11), (10, 11), (10, 12), (11, 12),
)
# fmt: on
GSCALE_CAPACITY_MBPS = 1000.0

# Gscale has no published places in this numbering: positions for pictures only.
# fmt: off
GSCALE_POSITIONS: tuple[tuple[float, float], ...] = (
    (0.0, 2.0), (1.1, 0.4), (2.4, 3.6), (4.4, 3.0), (2.7, 0.4), (4.4, 1.0),
    (6.4, 3.6), (6.4, 0.4), (7.5, 2.0), (8.6, 0.4), (8.6, 3.6), (9.8, 2.0),
)
# fmt: on
