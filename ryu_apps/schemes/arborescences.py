"""Arborescences: failover along arc-disjoint trees in circular order, without a mark in packets."""

from __future__ import annotations

from functools import partial

from ryu_apps.plan.arborescences.plan import fewer_failures_than_arborescences, plan_arborescences
from ryu_apps.plan.scheme import Scheme

NUMBER = 19

SCHEME = Scheme(
    name="arborescences",
    number=NUMBER,
    summary="arc-disjoint arborescences in circular order",
    label="Arborescences",
    colour="#0a7ea4",
    plan=partial(plan_arborescences, owner=NUMBER),
    guarantee=fewer_failures_than_arborescences,
    promise="fewer failed links than arc-disjoint arborescences (at most 3) span",
    loop_free=False,  # more failures may lead round
    backtracks=True,
)
