"""The key `sqr` of a scenario: which links' packets are kept, and how many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from experiments.scenario.fields import (
    Context,
    known_keys,
    mapping,
    number,
    optional,
    sequence,
    whole_number,
    with_default,
)
from experiments.scenario.targets import read_link
from experiments.scenario.values import Replay
from mininet_topos.lines import Line
from mininet_topos.topology import Topology
from ryu_apps.plan.scheme import Scheme

SETTINGS = ("slots", "delta_ms", "margin", "reconfiguration_ms")
MAX_WAIT_MS = 10_000.0
KEYS = ("links", *SETTINGS)
MAX_SLOTS = 1 << 20


def read_replay(
    context: Context, fields: Mapping[str, Line], root: Line, topology: Topology, schemes: Sequence[Scheme]
) -> Replay | None:
    """What SQR keeps in a scenario; None without a scheme that buffers packets.

    Raises
    ------
    BadInputError
        The scheme without links, links without the scheme, or a value that cannot be used.
    """
    line = fields.get("sqr")
    if line is None:
        for scheme in schemes:
            if scheme.buffers:
                raise context.error(root, f"scheme {scheme.name} needs links; add 'sqr: {{links: [[s1, s2]]}}'")
        return None
    if not any(scheme.buffers for scheme in schemes):
        raise context.error(line, "sqr is for schemes that buffer packets, and none of them is asked for; add one")
    given = mapping(context, line, "sqr")
    known_keys(context, given, KEYS, "sqr")
    if "links" not in given:
        raise context.error(line, "sqr needs links whose packets are kept; add 'links: [[s1, s2]]'")
    links = [read_link(context, entry, topology) for entry in sequence(context, given["links"], "links")]
    return with_settings(context, given, Replay(tuple(map(str, links))))


def with_settings(context: Context, given: Mapping[str, Line], usual: Replay) -> Replay:
    """The same with the settings that are given (`BadInputError` for one that cannot be used)."""
    slots = with_default(given, "slots", whole_number(2, MAX_SLOTS), context, usual.slots)
    if slots & (slots - 1):
        raise context.error(given["slots"], f"slots is {slots}; give a power of two")
    reconfiguration_ms = optional(given, "reconfiguration_ms", number(0, highest=MAX_WAIT_MS), context)
    return Replay(
        usual.links,
        slots,
        with_default(given, "delta_ms", number(0, highest=MAX_WAIT_MS), context, usual.delta_ms),
        with_default(given, "margin", whole_number(0, slots - 1), context, min(usual.margin, slots - 1)),
        usual.reconfiguration_ms if reconfiguration_ms is None else reconfiguration_ms,
    )


def replay_to_document(replay: Replay | None) -> dict[str, object] | None:
    """The key's value that gives the replay back."""
    if replay is None:
        return None
    given = {key: value for key, value in asdict(replay).items() if value is not None}
    return {**given, "links": list(replay.links)}
