"""Scenario files: text in, a checked `Scenario` out. Every complaint is one sentence that names file and line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from experiments.scenario.controls import read_controls
from experiments.scenario.failure import Failure
from experiments.scenario.failures import read_failures
from experiments.scenario.fields import (
    MAX_RATE_MBPS,
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
    yes_or_no,
)
from experiments.scenario.in_band import read_control
from experiments.scenario.message_classes import read_pmt
from experiments.scenario.protection import read_protection
from experiments.scenario.replay import read_replay
from experiments.scenario.stream import Traffic
from experiments.scenario.traffic import read_traffic
from experiments.scenario.tunnel_values import Rerun, WantedFlow
from experiments.scenario.tunnels import (
    TUNNEL_KEYS,
    check_moment,
    check_tunnel_field,
    read_expected,
    read_flows,
    read_queues,
    read_rerun,
    read_tunnel_configuration,
    require_capacities,
)
from experiments.scenario.values import Scenario, Variation
from mininet_topos.catalogue import is_topology_file
from mininet_topos.errors import BadInputError
from mininet_topos.lines import Line, read_lines
from mininet_topos.topology import Topology, with_capacity, with_link_delays
from ryu_apps.plan.choices import DEFAULT_MODE, DEFAULT_NOTIFICATION, MODES, NO_MODE, NOTIFICATIONS
from ryu_apps.plan.damping import DEFAULT_WAIT_S
from ryu_apps.plan.scheme import Scheme
from te_solver.choices import METRICS, PLANNERS, ROUTES

KEYS = (
    "topology", "scheme", "schemes", "mode", "modes", "planner", "routes", "metric", "max_failures",
    "notification", "seed", "duration_s", "settle_s",
    "bfd_interval_ms", "default_capacity_mbps", "control_delay_ms", "delay_ms", "jitter_ms",
    "link_delays", "wait_to_restore_s", "protect", "sqr", "pmt", "control", "control_at", "tls",
    "controls",
    "traffic", "failures", *TUNNEL_KEYS,
)  # fmt: skip
_KEYS_OF_TUNNELS = (
    "demands", "tunnels", "tunnel_kind", "objective", "te_solver", "low_to_high", "shape", "split", "notified_by",
    "reoptimise", "tunnel_field",
)  # fmt: skip
MIN_TAIL_S = 3.0
MIN_CAPACITY_MBPS = 0.1  # less does not carry BFD
FLOWS_TAIL_S = 15.0  # TCP takes seconds to share a link anew
_CAPACITY_MBPS = number(MIN_CAPACITY_MBPS, highest=MAX_RATE_MBPS)
MAX_CONTROL_DELAY_MS = 10_000.0  # as long as the emulation can make it; a test compares them
MAX_LINK_DELAY_MS = 10_000.0


@dataclass(frozen=True)
class ScenarioContext:
    """What the parser cannot know by itself.

    Attributes
    ----------
    load_topology
        Name or path to topology; raises BadInputError.
    schemes
        Known schemes; one without modes runs once, whatever modes are asked for.
    find_file
        Path of a file that the scenario names.
    read_file
        Text of a file that the scenario names; raises BadInputError.
    """

    load_topology: Callable[[str], Topology]
    schemes: Mapping[str, Scheme]
    find_file: Callable[[str], str] = str
    read_file: Callable[[str], str] = str


def parse_scenario(text: str, file_name: str, scenario_context: ScenarioContext) -> Scenario:
    """Read a scenario file.

    Parameters
    ----------
    text
        YAML or JSON; the format is in docs/scenario_format.md.
    file_name
        Name that messages begin with.
    scenario_context : Scenario context
        Topology loader and the known schemes.

    Raises
    ------
    BadInputError
        Anything that cannot be run as written.
    """
    context = Context(file_name)
    root = read_lines(text, file_name)
    fields = mapping(context, root, "a scenario")
    known_keys(context, fields, KEYS, "a scenario")
    network = _network(context, fields, root, scenario_context)
    variations = _with_packet_programs(
        context,
        fields,
        root,
        scenario_context.schemes,
        network.topology,
        variations=_variations(context, fields, root, scenario_context),
    )
    controls, variations = read_controls(context, fields.get("controls"), variations)
    events = _events(context, fields, network.topology)
    _check_together(context, fields, scenario_context, variations)
    scenario = Scenario(
        topology_name=network.name,
        topology=network.topology,
        variations=variations,
        traffic=events.traffic,
        failures=events.failures,
        duration_s=_duration(context, fields, events),
        delay_ms=network.delay_ms,
        jitter_ms=network.jitter_ms,
        capacity_mbps=network.capacity_mbps,
        link_delays=network.link_delays,
        flows=events.flows,
        aggregates=events.aggregates,
        rerun=events.rerun,
        controls=controls,
    )
    scenario = _with_settings(context, fields, scenario, scenario_context)
    if scenario.measures_flows:
        check_moment(context, fields["flows"], scenario)
    _check_rates(context, fields, scenario, scenario_context)
    return scenario


@dataclass(frozen=True)
class _Network:
    """The network of a scenario, and what of it the scenario states itself."""

    name: str
    topology: Topology
    delay_ms: float | None
    jitter_ms: float | None
    capacity_mbps: float | None
    link_delays: bool | None


def _network(context: Context, fields: Mapping[str, Line], root: Line, scenario_context: ScenarioContext) -> _Network:
    name, topology = _topology(context, fields, root, scenario_context)
    delay_ms, jitter_ms = (_link_time(context, fields, key) for key in ("delay_ms", "jitter_ms"))
    capacity_mbps = optional(fields, "capacity_mbps", _CAPACITY_MBPS, context)
    link_delays = _link_delays(context, fields, name, {delay_ms, jitter_ms})
    topology = with_capacity(with_link_delays(topology, delay_ms, jitter_ms), capacity_mbps)
    for link in topology.links:
        if link.capacity_mbps is not None and not MIN_CAPACITY_MBPS <= link.capacity_mbps <= MAX_RATE_MBPS:
            raise context.error(
                fields["topology"],
                f"link {link.direction} of {topology.name!r} has {link.capacity_mbps:g} Mbit/s, which is not emulated; "
                f"give all links one from {MIN_CAPACITY_MBPS:g} to {MAX_RATE_MBPS:g} by capacity_mbps",
            )
    return _Network(name, topology, delay_ms, jitter_ms, capacity_mbps, link_delays)


@dataclass(frozen=True)
class _Events:
    """What is sent and what happens meanwhile."""

    traffic: tuple[Traffic, ...]
    failures: tuple[Failure, ...]
    flows: tuple[WantedFlow, ...]
    aggregates: str | None
    rerun: Rerun | None

    @property
    def measures_flows(self) -> bool:
        """Whether throughput of flows is measured, in place of single packets."""
        return bool(self.flows or self.aggregates)


def _events(context: Context, fields: Mapping[str, Line], topology: Topology) -> _Events:
    failures = read_failures(context, fields.get("failures"), topology)
    flows, aggregates = read_flows(context, fields.get("flows"), topology)
    rerun = read_rerun(context, fields.get("reoptimise"), topology)
    traffic = () if flows or aggregates else read_traffic(context, fields.get("traffic"), topology)
    return _Events(traffic, failures, flows, aggregates, rerun)


def _with_packet_programs(
    context: Context,
    fields: Mapping[str, Line],
    root: Line,
    schemes: Mapping[str, Scheme],
    topology: Topology,
    *,
    variations: Sequence[Variation],
) -> tuple[Variation, ...]:
    """Variations with what 1+1 protects and what SQR keeps."""
    chosen = [schemes[each.scheme] for each in variations]
    protection = read_protection(context, fields, root, topology, chosen)
    replay = read_replay(context, fields, root, topology, chosen)
    variations = [
        replace(each, protection=protection) if schemes[each.scheme].protects else each for each in variations
    ]
    return tuple(replace(each, replay=replay) if schemes[each.scheme].buffers else each for each in variations)


def _with_settings(
    context: Context, fields: Mapping[str, Line], scenario: Scenario, scenario_context: ScenarioContext
) -> Scenario:
    """The scenario with the values of keys that mean the same whatever the others say."""
    return replace(
        scenario,
        seed=with_default(fields, "seed", whole_number(0), context, 1),
        bfd_interval_ms=optional(fields, "bfd_interval_ms", whole_number(1, 10_000), context),
        wait_to_restore_s=with_default(fields, "wait_to_restore_s", seconds, context, DEFAULT_WAIT_S),
        default_capacity_mbps=optional(fields, "default_capacity_mbps", _CAPACITY_MBPS, context),
        control_delay_ms=with_default(
            fields, "control_delay_ms", number(0, highest=MAX_CONTROL_DELAY_MS), context, 0.0
        ),
        settle_s=with_default(fields, "settle_s", number(0.5, highest=MAX_SECONDS), context, 2.0),
        tunnels=read_tunnel_configuration(context, fields, scenario.topology, scenario_context.find_file),
        queues=read_queues(context, fields),
        expected=read_expected(
            context, fields.get("expect"), scenario.flows, [each.scheme for each in scenario.variations]
        ),
        tls=with_default(fields, "tls", yes_or_no, context, False),
        pmt=read_pmt(context, fields.get("pmt"), scenario_context.read_file),
        control_at=read_control(
            context, fields, scenario.topology, _of_tunnels(scenario.variations, scenario_context.schemes)
        ),
    )


def _check_rates(
    context: Context, fields: Mapping[str, Line], scenario: Scenario, scenario_context: ScenarioContext
) -> None:
    """Refuse links without a capacity where something fills links, or plans by their capacity."""
    plans_tunnels = bool(_of_tunnels(scenario.variations, scenario_context.schemes))
    by_classes = scenario.control_at is not None and scenario.pmt is not None
    asking = {"flows": scenario.measures_flows, "queues": scenario.queues is not None, "pmt": by_classes}
    rated = _key_that_needs_rates(asking, fields, plans_tunnels)
    if rated is not None:
        require_capacities(context, fields[rated], scenario.topology, scenario.default_capacity_mbps)


def _key_that_needs_rates(filled: Mapping[str, bool], fields: Mapping[str, Line], plans_tunnels: bool) -> str | None:
    """Return the key whose value asks for the capacity of every link, to fill it or to plan tunnels by it."""
    asking = [key for key, is_filled in filled.items() if is_filled]
    asking += [key for key in ("scheme", "schemes") if plans_tunnels and key in fields]
    return asking[0] if asking else None


def _check_together(
    context: Context, fields: Mapping[str, Line], scenario_context: ScenarioContext, variations: Sequence[Variation]
) -> None:
    """Refuse keys that the other keys leave without a meaning."""
    of_tunnels = _of_tunnels(variations, scenario_context.schemes)
    of_routes = [each.scheme for each in variations if each.scheme not in of_tunnels]
    if "flows" in fields and "traffic" in fields:
        raise context.error(fields["traffic"], "traffic and flows are both given; measure one of them at a time")
    if "queues" in fields and ((fields["queues"].value == "low-queue") if of_tunnels else False):
        raise context.error(fields["queues"], f"queues low-queue is not for {of_tunnels[0]}; use single, four or eight")
    for key in _KEYS_OF_TUNNELS:
        if key in fields and of_routes:
            raise context.error(fields[key], f"{key} is for schemes of tunnels, not for {of_routes[0]!r}; remove it")
    if "reoptimise" in fields and "notified_by" in fields and fields["notified_by"].value == "agent":
        raise context.error(fields["reoptimise"], "agents keep the tunnels that they know; remove it, or notified_by")
    check_tunnel_field(context, fields)
    if "flows" in fields and "controls" in fields:
        raise context.error(fields["controls"], "controls count packets, which flows do not; use expect")
    for key in ("expect", "reoptimise"):
        if key in fields and "flows" not in fields:
            raise context.error(fields[key], f"{key} needs flows to look at; add 'flows'")


def _of_tunnels(variations: Sequence[Variation], schemes: Mapping[str, Scheme]) -> list[str]:
    return [each.scheme for each in variations if schemes[each.scheme].tunnels is not None]


def _link_time(context: Context, fields: Mapping[str, Line], key: str) -> float | None:
    return optional(fields, key, number(0, highest=MAX_LINK_DELAY_MS), context)


def _link_delays(
    context: Context, fields: Mapping[str, Line], topology_name: str, stated: set[float | None]
) -> bool | None:
    """Whether links are delayed: asked for, or else when the scenario or a file of the user's states the delays."""
    asked = optional(fields, "link_delays", yes_or_no, context)
    if asked is None and (stated != {None} or is_topology_file(topology_name)):
        return True
    return asked


def _topology(
    context: Context, fields: Mapping[str, Line], root: Line, scenario_context: ScenarioContext
) -> tuple[str, Topology]:
    line = fields.get("topology")
    if line is None:
        raise context.error(root, "a scenario needs a topology; add a line such as 'topology: darkstrand'")
    name = word(context, line, "topology")
    try:
        return name, scenario_context.load_topology(name)
    except BadInputError as error:
        raise context.error(line, str(error)) from error


def _words(context: Context, fields: Mapping[str, Line], single: str, plural: str) -> tuple[Line, ...]:
    """Entries of `single: x` or of `plural: [x, y]`; none when neither is given."""
    one, many = fields.get(single), fields.get(plural)
    if one is not None and many is not None:
        raise context.error(many, f"{single} and {plural} are both given; keep one of them")
    if many is not None:
        entries = sequence(context, many, plural)
        if not entries:
            raise context.error(many, f"{plural} is empty; name at least one")
        return entries
    if one is None:
        return ()
    if isinstance(one.value, tuple):
        raise context.error(one, f"{single} takes one word; for several write '{plural}: [...]'")
    return (one,)


def _variations(
    context: Context, fields: Mapping[str, Line], root: Line, scenario_context: ScenarioContext
) -> tuple[Variation, ...]:
    scheme_lines = _words(context, fields, "scheme", "schemes")
    if not scheme_lines:
        raise context.error(root, "a scenario needs a scheme; add a line such as 'scheme: sdfast'")
    read_scheme = one_of(tuple(scenario_context.schemes))
    schemes = [(line, read_scheme(context, line, "scheme")) for line in scheme_lines]
    for index, (line, scheme) in enumerate(schemes):
        if scheme in [earlier for _, earlier in schemes[:index]]:
            raise context.error(line, f"scheme {scheme!r} stands twice; keep one")
    read_mode = one_of(tuple(MODES))
    modes = [read_mode(context, line, "mode") for line in _words(context, fields, "mode", "modes")] or [DEFAULT_MODE]
    planner = with_default(fields, "planner", one_of(PLANNERS), context, PLANNERS[0])
    routes = with_default(fields, "routes", one_of(ROUTES), context, ROUTES[0])
    metric = with_default(fields, "metric", one_of(METRICS), context, METRICS[0])
    max_failures = optional(fields, "max_failures", whole_number(1, 4), context)
    notification = with_default(fields, "notification", one_of(NOTIFICATIONS), context, DEFAULT_NOTIFICATION)
    return tuple(
        Variation(scheme, mode, planner, routes, metric, max_failures, notification=notification)
        for _, scheme in schemes
        for mode in dict.fromkeys(modes if scenario_context.schemes[scheme].modes else [NO_MODE])
    )


def _duration(context: Context, fields: Mapping[str, Line], events: _Events) -> float:
    """Length of the run; by default until some seconds after the last planned event."""
    failures = events.failures
    ends = [failure.at_s for failure in failures] + [failure.end_s or 0.0 for failure in failures]
    ends += [entry.stop_s or entry.start_s for entry in events.traffic]
    ends += [] if events.rerun is None else [events.rerun.at_s]
    last_s = max(ends, default=0.0)
    line = fields.get("duration_s")
    duration_s = optional(fields, "duration_s", number(0, exclusive=True, highest=MAX_SECONDS), context)
    if duration_s is None:
        if last_s > MAX_SECONDS:
            raise context.error(1, f"the last event is after {last_s:g} s; a run takes at most {MAX_SECONDS:g} s")
        return last_s + (FLOWS_TAIL_S if events.measures_flows else MIN_TAIL_S)
    for failure in failures:
        if failure.at_s >= duration_s or (failure.end_s or 0.0) > duration_s:
            raise context.error(
                failure.line, f"failure of {failure.what} reaches beyond duration_s {shown_of(line)}; make it longer"
            )
    begins = [(f"traffic from {stream.source} begins", stream.start_s) for stream in events.traffic]
    begins += [] if events.rerun is None else [("reoptimise begins", events.rerun.at_s)]
    stops = [(f"traffic from {stream.source} stops", stream.stop_s or 0.0) for stream in events.traffic]
    late = [*(each for each in begins if each[1] >= duration_s), *(each for each in stops if each[1] > duration_s)]
    if late and line is not None:
        what, at_s = late[0]
        raise context.error(line, f"duration_s {duration_s:g} ends before {what}, at {at_s:g} s; make it longer")
    return duration_s


def shown_of(line: Line | None) -> str:
    """A value for a message; empty when there is none."""
    return "" if line is None else shown(line)
