"""The keys of a scenario about tunnels, queues, flows and what is expected of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from experiments.scenario.fields import (
    MAX_SECONDS,
    Context,
    known_keys,
    mapping,
    number,
    one_of,
    optional,
    rate_mbps,
    seconds,
    sequence,
    shown,
    whole_number,
    with_default,
    word,
)
from experiments.scenario.flow_values import FIRST_PORT, TRANSPORTS, Flow
from experiments.scenario.suggest import suggest
from experiments.scenario.targets import read_host, read_node
from experiments.scenario.tunnel_values import (
    QUEUES,
    Expected,
    Rerun,
    TunnelConfiguration,
    WantedFlow,
)
from experiments.scenario.values import Scenario
from mininet_topos.lines import Line
from mininet_topos.topology import MAX_MBPS, Topology
from ryu_apps.plan.choices import DSCP_FIELD, NOTIFIERS, PRIORITIES, SHAPES, TUNNEL_FIELDS, dscp_conflict
from te_solver.choices import MAX_TUNNELS, OBJECTIVES, TE_SOLVERS, TUNNEL_KINDS

TUNNEL_KEYS = (
    "demands", "tunnels", "tunnel_kind", "objective", "te_solver", "low_to_high", "queues", "shape", "split",
    "capacity_mbps", "flows", "expect", "reoptimise", "notified_by", "tunnel_field",
)  # fmt: skip
_FLOW_KEYS = ("name", "from", "to", "kind", "mbps", "tunnel", "moves_to", "priority", "start_s")
_DEMAND_KEYS = ("src", "dst", "demand_mbps", "priority")
_EXPECT_KEYS = ("flow", "flows", "scheme", "before_mbps", "after_mbps", "after_below_mbps", "within_percent")
_POSITIVE = number(0, exclusive=True)
FindFile = Callable[[str], str]


def read_tunnel_configuration(
    context: Context, fields: Mapping[str, Line], topology: Topology, find_file: FindFile
) -> TunnelConfiguration:
    """How tunnels are planned.

    Raises
    ------
    BadInputError
        A value that cannot be used.
    """
    split = optional(fields, "split", one_of(("ranges", "select")), context)
    if split == "select":
        raise context.error(
            fields["split"], "split select is for 'armor plan' only: no controller installs SELECT groups; remove it"
        )
    demands, given = _demands(context, fields.get("demands"), topology, find_file)
    return TunnelConfiguration(
        demands,
        given,
        tunnels=with_default(fields, "tunnels", whole_number(1, MAX_TUNNELS), context, 3),
        tunnel_kind=with_default(fields, "tunnel_kind", one_of(TUNNEL_KINDS), context, TUNNEL_KINDS[0]),
        objective=with_default(fields, "objective", one_of(OBJECTIVES), context, OBJECTIVES[0]),
        te_solver=with_default(fields, "te_solver", one_of(TE_SOLVERS), context, TE_SOLVERS[0]),
        low_to_high=optional(fields, "low_to_high", _POSITIVE, context),
        shape=with_default(fields, "shape", one_of(SHAPES), context, SHAPES[0]),
        notified_by=with_default(fields, "notified_by", one_of(NOTIFIERS), context, NOTIFIERS[0]),
        tunnel_field=with_default(fields, "tunnel_field", one_of(TUNNEL_FIELDS), context, TUNNEL_FIELDS[0]),
    )


def read_queues(context: Context, fields: Mapping[str, Line]) -> str | None:
    """Name of the set-up of priority queues."""
    return optional(fields, "queues", one_of(QUEUES), context)


def _demands(context: Context, line: Line | None, topology: Topology, find_file: FindFile) -> tuple[str, str]:
    """(specification or file, JSON list): one of the two, or none."""
    if line is None or line.value is None:
        return "", ""
    if not isinstance(line.value, tuple):
        return find_file(word(context, line, "demands")), ""
    return "", json.dumps([_demand(context, entry, topology) for entry in line.value])


def _demand(context: Context, entry: Line, topology: Topology) -> dict[str, object]:
    fields = mapping(context, entry, "a demand")
    known_keys(context, fields, _DEMAND_KEYS, "a demand")
    for key in _DEMAND_KEYS[:3]:
        if key not in fields:
            raise context.error(entry, f"a demand needs {key}; write {{src: s1, dst: s4, demand_mbps: 8}}")
    value: dict[str, object] = {key: read_node(context, fields[key], key, topology) for key in ("src", "dst")}
    value["demand_mbps"] = number(0, highest=MAX_MBPS)(context, fields["demand_mbps"], "demand_mbps")
    priority = optional(fields, "priority", whole_number(1, 6), context)
    return value if priority is None else {**value, "priority": priority}


def read_flows(context: Context, line: Line | None, topology: Topology) -> tuple[tuple[WantedFlow, ...], str | None]:
    """Flows one by one; or the transport of those that are to be made from the demands ("flows: tcp").

    Raises
    ------
    BadInputError
        A flow that cannot be sent, or two of one name.
    """
    if line is None or line.value is None:
        return (), None
    if not isinstance(line.value, tuple):
        return (), one_of(TRANSPORTS)(context, line, "flows")
    entries = sequence(context, line, "flows")
    if not entries:
        raise context.error(line, "flows is empty; name at least one, or write 'flows: tcp' for two a tunnel")
    configuration = tuple(_flow(context, entry, topology, number) for number, entry in enumerate(entries))
    for place, wanted in enumerate(configuration):
        if wanted.flow.name in [other.flow.name for other in configuration[:place]]:
            raise context.error(entries[place], f"flow {wanted.flow.name!r} stands twice; give it another name")
    return configuration, None


def _flow(context: Context, entry: Line, topology: Topology, place: int) -> WantedFlow:
    fields = mapping(context, entry, "a flow")
    known_keys(context, fields, _FLOW_KEYS, "a flow")
    for key in ("from", "to"):
        if key not in fields:
            raise context.error(entry, f"a flow needs '{key}'; name a host, for example '{key}: h1'")
    source, destination = (read_host(context, fields[key], key, topology) for key in ("from", "to"))
    if source == destination:
        raise context.error(entry, f"a flow goes from {source} to itself; choose two hosts")
    transport = with_default(fields, "kind", one_of(TRANSPORTS), context, "tcp")
    mbps = optional(fields, "mbps", rate_mbps, context)
    if transport == "udp" and mbps is None:
        raise context.error(entry, "a flow of kind udp needs mbps, what it sends; add for example 'mbps: 4'")
    flow = Flow(
        name=with_default(fields, "name", word, context, f"f{place + 1}"),
        source=source,
        destination=destination,
        transport=transport,
        offered_mbps=mbps,
        priority=optional(fields, "priority", word, context),
        port=FIRST_PORT + place,
        start_s=with_default(fields, "start_s", seconds, context, 0.0),
    )
    tunnel, via = _tunnel(context, fields.get("tunnel"), topology, flow, "tunnel")
    moves_to, moves_via = _tunnel(context, fields.get("moves_to"), topology, flow, "moves_to")
    return WantedFlow(replace(flow, tunnel=tunnel, moves_to=moves_to), via, moves_via)


def _tunnel(
    context: Context, line: Line | None, topology: Topology, flow: Flow, key: str
) -> tuple[int | None, tuple[str, ...]]:
    """A tunnel by its number among those of the pair, or by its nodes."""
    if line is None or line.value is None:
        return None, ()
    if not isinstance(line.value, tuple):
        return whole_number(0, MAX_TUNNELS - 1)(context, line, key), ()
    nodes = tuple(read_node(context, node, key, topology) for node in line.value)
    if (*nodes[:1], *nodes[-1:]) != (flow.source, flow.destination):
        raise context.error(
            line, f"{key} {' '.join(nodes)} does not lead from {flow.source} to {flow.destination}; name all its nodes"
        )
    return None, nodes


def read_expected(
    context: Context, line: Line | None, flows: Sequence[WantedFlow], schemes: Sequence[str]
) -> tuple[Expected, ...]:
    """What is expected of flows.

    Raises
    ------
    BadInputError
        An unknown flow or scheme, or an entry that expects nothing.
    """
    if line is None or line.value is None:
        return ()
    names = [wanted.flow.name for wanted in flows]
    return tuple(
        each for entry in sequence(context, line, "expect") for each in _expected(context, entry, names, schemes)
    )


def _expected(context: Context, entry: Line, names: Sequence[str], schemes: Sequence[str]) -> tuple[Expected, ...]:
    fields = mapping(context, entry, "an entry of expect")
    known_keys(context, fields, _EXPECT_KEYS, "an entry of expect")
    lines = [fields["flow"]] if "flow" in fields else list(sequence(context, fields.get("flows", entry), "flows"))
    for line in lines:
        if word(context, line, "flow") not in names:
            raise context.error(
                line, f"expect names flow {shown(line)}, which is none; {suggest(str(line.value), names)}"
            )
    scheme = optional(fields, "scheme", one_of(schemes), context)
    before, after, below = (
        optional(fields, key, number(0), context) for key in ("before_mbps", "after_mbps", "after_below_mbps")
    )
    if before is None and after is None and below is None:
        raise context.error(entry, "an entry of expect says nothing; add before_mbps, after_mbps or after_below_mbps")
    within = with_default(fields, "within_percent", _POSITIVE, context, 10.0)
    return tuple(Expected(word(context, line, "flow"), scheme, before, after, below, within) for line in lines)


def read_rerun(context: Context, line: Line | None, topology: Topology) -> Rerun | None:
    """A run of traffic engineering in between: `{at_s: 5, demands: [...]}`.

    Raises
    ------
    BadInputError
        A value that cannot be used.
    """
    if line is None or line.value is None:
        return None
    fields = mapping(context, line, "reoptimise")
    known_keys(context, fields, ("at_s", "demands"), "reoptimise")
    if "at_s" not in fields:
        raise context.error(line, "reoptimise needs at_s, the second at which it begins; add 'at_s: 5'")
    demands = fields.get("demands")
    if demands is not None and not isinstance(demands.value, tuple):
        raise context.error(demands, f"demands of reoptimise must be a list; it is {shown(demands)}")
    _, given = _demands(context, demands, topology, lambda name: name)
    return Rerun(number(0, exclusive=True, highest=MAX_SECONDS)(context, fields["at_s"], "at_s"), given)


def require_capacities(context: Context, line: Line, topology: Topology, default_mbps: float | None) -> None:
    """Refuse links whose capacity nobody states, where flows fill links.

    Raises
    ------
    BadInputError
        One has none, and there is no default.
    """
    unknown = [link for link in topology.links if link.capacity_mbps is None]
    if unknown and default_mbps is None:
        raise context.error(
            line,
            f"link {unknown[0].direction} of {topology.name!r} has no capacity ({len(unknown)} directions have none); "
            "add 'capacity_mbps: 10' for all links, or 'default_capacity_mbps: 10' for those",
        )


def check_tunnel_field(context: Context, fields: Mapping[str, Line]) -> None:
    """Refuse what tunnels in the DSCP do not go together with.

    Raises
    ------
    BadInputError
        Such a key beside `tunnel_field: dscp`.
    """
    line = fields.get("tunnel_field")
    if line is None or line.value != DSCP_FIELD:
        return
    queues, notifier = (
        fields[key].value if key in fields and fields[key].value is not None else choices[0]
        for key, choices in (("queues", PRIORITIES), ("notified_by", NOTIFIERS))
    )
    conflict = dscp_conflict(str(queues), str(notifier))
    if conflict is not None:
        raise context.error(line, conflict)


def check_moment(context: Context, line: Line, scenario: Scenario) -> None:
    """Refuse what is not one moment: flows are compared before and after it.

    Raises
    ------
    BadInputError
        Nothing happens, or things happen at different seconds, or are undone again; or a flow misses the time before.
    """
    failures, rerun = scenario.failures, scenario.rerun
    if not failures and rerun is None:
        raise context.error(line, "flows are compared before and after something; add failures, or reoptimise")
    for failure in failures:
        if rerun is not None or failure.at_s != failures[0].at_s:
            raise context.error(
                failure.line,
                f"with flows only one thing may happen; the failure of {failure.what} is another: remove it",
            )
        if failure.end_s is not None:
            raise context.error(
                failure.line, f"with flows the failure of {failure.what} must last until the end; remove its repair"
            )
    if failures and failures[0].at_s <= 0:
        raise context.error(
            failures[0].line, "with flows a failure needs time before it, to compare with; give at_s above 0"
        )
    late = next((each.flow for each in scenario.flows if each.flow.start_s > scenario.settle_s), None)
    if late is not None:
        raise context.error(
            line,
            f"flow {late.name!r} begins at {late.start_s:g} s, after the warm-up (settle_s {scenario.settle_s:g}), so "
            "its rate before is not known; begin it earlier, or make settle_s longer",
        )
