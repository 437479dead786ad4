"""The `failures` list of a scenario."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from experiments.scenario.fields import (
    MAX_SECONDS,
    Context,
    known_keys,
    mapping,
    number,
    one_of,
    optional,
    seconds,
    sequence,
    shown,
    whole_number,
    with_default,
    word,
)
from experiments.scenario.targets import read_link, read_node
from experiments.scenario.values import KILL_KIND, KILL_TARGETS, LINK_KINDS, Failure
from mininet_topos.lines import Line
from mininet_topos.topology import LinkId, Topology

KEYS = ("link", "node", "controller", "kill", "kind", "from", "at_s", "repair_at_s", "times", "period_s")
TARGETS = ("link", "node", "controller", "kill")


def read_failures(context: Context, line: Line | None, topology: Topology) -> tuple[Failure, ...]:
    """Read the list of failures, in the order of their times.

    Raises
    ------
    BadInputError
        An unknown link or node, a repair before the failure, a target that fails while it is still down, or a
        value out of its range.
    """
    if line is None:
        return ()
    failures = [_failure(context, entry, topology) for entry in sequence(context, line, "failures")]
    failures.sort(key=lambda failure: failure.at_s)
    _refuse_overlaps(context, failures)
    return tuple(failures)


def _failure(context: Context, entry: Line, topology: Topology) -> Failure:
    fields = mapping(context, entry, "a failure")
    known_keys(context, fields, KEYS, "a failure")
    given = [key for key in TARGETS if key in fields]
    # `kill: agent` names its switch with `node`, and `kill: controller` needs none.
    target = "kill" if "kill" in given and given in (["kill"], ["node", "kill"]) else "".join(given[:1])
    if not given or (len(given) > 1 and target != "kill"):
        problem = f"names both {given[0]} and {given[1]}" if given else "names nothing that fails"
        raise context.error(entry, f"a failure {problem}; give one of link, node, controller, kill")
    if "at_s" not in fields:
        raise context.error(entry, "a failure needs at_s, the second at which it happens; add 'at_s: 5'")
    failure = _READERS[target](context, entry, fields, topology)
    if failure.repair_at_s is not None and failure.repair_at_s <= failure.at_s:
        raise context.error(
            fields["repair_at_s"],
            f"repair_at_s {failure.repair_at_s:g} is not after at_s {failure.at_s:g}; repair later than the failure",
        )
    return failure


def _at_s(context: Context, fields: Mapping[str, Line]) -> float:
    return seconds(context, fields["at_s"], "at_s")


def _repair_at_s(context: Context, fields: Mapping[str, Line]) -> float | None:
    return optional(fields, "repair_at_s", seconds, context)


def _refuse(context: Context, fields: Mapping[str, Line], keys: tuple[str, ...], kind: str) -> None:
    for key in keys:
        if key in fields:
            raise context.error(fields[key], f"{key} does not go with a {kind} failure; remove it")


def _link_failure(context: Context, entry: Line, fields: Mapping[str, Line], topology: Topology) -> Failure:
    link = read_link(context, fields["link"], topology)
    kind = with_default(fields, "kind", one_of(LINK_KINDS), context, "silent")
    times, period_s, sender = 1, None, None
    if kind == "flap":
        _refuse(context, fields, ("repair_at_s",), kind)
        times = with_default(fields, "times", whole_number(1, 1000), context, 3)
        period_s = with_default(fields, "period_s", number(0.05, highest=MAX_SECONDS), context, 1.0)
    else:
        _refuse(context, fields, ("times", "period_s"), kind)
    if kind == "one-way":
        sender = _sender(context, fields.get("from"), link)
    else:
        _refuse(context, fields, ("from",), kind)
    return Failure(
        kind=kind,
        at_s=_at_s(context, fields),
        link=link,
        node=sender,
        repair_at_s=_repair_at_s(context, fields),
        times=times,
        period_s=period_s,
        line=entry.number,
    )


def _sender(context: Context, line: Line | None, link: LinkId) -> str:
    """End whose packets are lost: the first one, unless the failure says otherwise."""
    if line is None:
        return link.a
    name = word(context, line, "from")
    if name not in (link.a, link.b):
        raise context.error(line, f"from {name!r} is no end of {link}; write {link.a} or {link.b}")
    return name


def _node_failure(context: Context, entry: Line, fields: Mapping[str, Line], topology: Topology) -> Failure:
    _refuse(context, fields, ("times", "period_s", "from"), "node")
    with_default(fields, "kind", one_of(("node",)), context, "node")
    return Failure(
        kind="node",
        at_s=_at_s(context, fields),
        node=read_node(context, fields["node"], "node", topology),
        repair_at_s=_repair_at_s(context, fields),
        line=entry.number,
    )


def _controller_failure(context: Context, entry: Line, fields: Mapping[str, Line], _topology: Topology) -> Failure:
    _refuse(context, fields, ("times", "period_s", "from"), "controller")
    with_default(fields, "kind", one_of(("controller",)), context, "controller")
    if fields["controller"].value is not True:
        raise context.error(
            fields["controller"], f"controller is {shown(fields['controller'])}; write 'controller: true'"
        )
    return Failure(
        kind="controller",
        at_s=_at_s(context, fields),
        repair_at_s=_repair_at_s(context, fields),
        line=entry.number,
    )


def _kill(context: Context, entry: Line, fields: Mapping[str, Line], topology: Topology) -> Failure:
    _refuse(context, fields, ("times", "period_s", "from", "repair_at_s"), "kill")
    with_default(fields, "kind", one_of((KILL_KIND,)), context, KILL_KIND)
    process = one_of(KILL_TARGETS)(context, fields["kill"], "kill")
    node = None
    if process == "controller":
        _refuse(context, fields, ("node",), "kill: controller")
    elif "node" not in fields:
        raise context.error(entry, f"kill: {process} needs the switch whose {process} it is; add 'node: s1'")
    else:
        node = read_node(context, fields["node"], "node", topology)
    return Failure(kind=KILL_KIND, at_s=_at_s(context, fields), node=node, process=process, line=entry.number)


def _refuse_overlaps(context: Context, failures: list[Failure]) -> None:
    """A thing that is already down cannot fail again before its repair."""
    down_until: dict[object, tuple[float | None, Failure]] = {}
    for failure in failures:
        if failure.kind == KILL_KIND:
            continue
        target = failure.link if failure.link is not None else failure.node or "controller"
        until_s, earlier = down_until.get(target, (0.0, failure))
        if earlier is not failure and (until_s is None or failure.at_s < until_s):
            until = "for good" if until_s is None else f"until {until_s:g} s"
            problem = f"{failure.what} fails at {failure.at_s:g} s but is down {until} (line {earlier.line})"
            raise context.error(failure.line, f"{problem}; repair it first")
        down_until[target] = (failure.end_s, failure)


_Reader = Callable[[Context, Line, Mapping[str, Line], Topology], Failure]
_READERS: dict[str, _Reader] = {
    "link": _link_failure,
    "node": _node_failure,
    "controller": _controller_failure,
    "kill": _kill,
}
