"""The key `sqr` of a scenario: which links' packets are kept, and how many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from dataplane.model.marking import EVERY_PACKET, Marking, parse_marking
from dataplane.model.switch import Backstop
from experiments.scenario.fields import (
    Context,
    known_keys,
    mapping,
    number,
    optional,
    sequence,
    whole_number,
    with_default,
    word,
)
from experiments.scenario.targets import read_link
from experiments.scenario.values import Replay
from mininet_topos.errors import BadInputError
from mininet_topos.lines import Line
from mininet_topos.topology import Topology
from ryu_apps.plan.scheme import Scheme

SETTINGS = ("slots", "delta_ms", "margin", "reconfiguration_ms")
MAX_WAIT_MS = 10_000.0
BACKSTOP = ("pause_above_bytes", "resume_below_bytes")
KEYS = ("links", "marked", *SETTINGS, *BACKSTOP)
MAX_SLOTS = 1 << 20
MAX_BYTES = 1 << 31


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
    replay = replace(
        Replay(tuple(map(str, links))), marked=_marked(context, given), backstop=_backstop(context, line, given)
    )
    tagging = [scheme.name for scheme in schemes if scheme.buffers and scheme.modes]
    if replay.marked.vlans and tagging:
        raise context.error(given["marked"], f"the tags of {tagging[0]} are VLAN ids; mark by dscp or tcp")
    return with_settings(context, given, replay)


def _marked(context: Context, given: Mapping[str, Line]) -> Marking:
    if "marked" not in given:
        return EVERY_PACKET
    try:
        return parse_marking("marked", word(context, given["marked"], "marked"))
    except BadInputError as error:
        raise context.error(given["marked"], str(error)) from error


def _backstop(context: Context, line: Line, given: Mapping[str, Line]) -> Backstop | None:
    found = [optional(given, key, whole_number(1, MAX_BYTES), context) for key in BACKSTOP]
    pause, resume = found
    if pause is None and resume is None:
        return None
    if pause is None or resume is None:
        raise context.error(line, f"a backstop has two marks; give both {' and '.join(BACKSTOP)}")
    try:
        return Backstop(pause, resume)
    except BadInputError as error:
        raise context.error(given[BACKSTOP[1]], str(error)) from error


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
        usual.marked,
        usual.backstop,
    )


def replay_to_document(replay: Replay | None) -> dict[str, object] | None:
    """The key's value that gives the replay back."""
    if replay is None:
        return None
    given: dict[str, object] = {key: getattr(replay, key) for key in SETTINGS}
    given["marked"] = str(replay.marked) or None
    if replay.backstop is not None:
        given |= {key: getattr(replay.backstop, key) for key in BACKSTOP}
    return {"links": list(replay.links), **{key: value for key, value in given.items() if value is not None}}
