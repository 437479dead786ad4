"""Places and lengths: great circles, fibre delay."""

from __future__ import annotations

import math

EARTH_RADIUS_KM = 6371.0
# Light in fibre: 200,000 km/s.
DELAY_MS_PER_KM = 0.005
# Fibre does not follow the great circle; TopologyBench's lengths are 1.5 times it on every Darkstrand link.
FIBRE_STRETCH = 1.5


def great_circle_km(latitude_a: float, longitude_a: float, latitude_b: float, longitude_b: float) -> float:
    """Length of the great circle between two places in degrees (haversine formula)."""
    phi_a, phi_b = math.radians(latitude_a), math.radians(latitude_b)
    half_turn = math.radians(longitude_b - longitude_a) / 2
    chord = math.sin((phi_b - phi_a) / 2) ** 2 + math.cos(phi_a) * math.cos(phi_b) * math.sin(half_turn) ** 2
    return 2 * EARTH_RADIUS_KM * math.asin(math.sqrt(min(1.0, chord)))


def fibre_delay_ms(fibre_km: float) -> float:
    """One-way delay of a fibre, rounded to the microsecond."""
    return round(fibre_km * DELAY_MS_PER_KM, 3)
