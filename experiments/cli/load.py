"""Load a controller with OpenFlow 1.3 packet-ins from emulated switches; what became of each, class by class.

  armor load --controller 127.0.0.1:6653 --switches 16 --rate 2000 --seconds 20
  armor load --app simple_switch_13 --rate 500
  armor load --against stock,pso --switches 16 --rate 400 --repetitions 5
  sudo armor load --app experiments/loadgen/responder.py --link-mbps 2 --rate 1200 --buffered
  armor load --misbehave all --app sdfast --seconds 10

Delays count from the instant at which a packet was due (docs/load.md). The exit code is 1 when a controller that it
started ended under the load, and, with --against, when a variant's throughput differs from the first one's by more than
--within per cent. --misbehave measures any app, with echo requests instead of packet-ins; with it the exit code is 1
when the controller ended, good switches lost answers or connections, or none was asked.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from experiments.cli.load_pmt import DEFAULT_PMT, pmt_path, read_pmt
from experiments.cli.parser import add_choices, choice, positive_number, refuse_given, whole_number
from experiments.terminal.output import emit, progress, table
from mininet_topos.endpoints import host_and_port
from mininet_topos.errors import BadInputError
from mininet_topos.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from experiments.campaign.values import Json
    from experiments.loadgen.controllers import Controller
    from experiments.loadgen.decide.load import Load
    from experiments.loadgen.testbed import LoadContext

MAX_SECONDS = 3600.0
VARIANTS = ("stock", "pso")
KINDS = (
    *("flood", "malformed", "endless", "connections", "stall", "zero-length", "truncated", "oversized"),
    *("wrong-version", "half-open", "slow-reader", "port-lies", "description-lies", "claims-id"),
)
BEHAVIOURS = ("none", *KINDS)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `armor load`."""
    _add_controller_arguments(parser.add_argument_group("controller (one of the first three)"))
    load = parser.add_argument_group("load")
    load.add_argument("--switches", type=whole_number("--switches", 1, 500), default=1, metavar="N")
    load.add_argument("--rate", type=positive_number("--rate"), default=500.0, metavar="R", help="packet-ins a second")
    load.add_argument("--seconds", type=positive_number("--seconds", MAX_SECONDS), default=10.0, metavar="S")
    load.add_argument(
        "--high-share", type=_share, default=0.1, metavar="X", help="share of class 'high', UDP port 20000"
    )
    add_choices(load, ("arrivals", ("poisson", "constant"), "gaps between arrivals"))
    load.add_argument("--frame-bytes", type=whole_number("--frame-bytes", 60, 1514), default=126, metavar="B")
    load.add_argument("--buffered", action="store_true", help="switches keep packets and name them by buffer id")
    _add_switch_arguments(parser.add_argument_group("switches"))
    _add_misbehave_arguments(parser.add_argument_group("any app beside a rogue switch (with --app)"))


def _add_switch_arguments(switch: argparse._ArgumentGroup) -> None:
    switch.add_argument(
        "--queue-pkts", type=whole_number("--queue-pkts", 1), default=100, metavar="N", help="packet-ins that may wait"
    )
    switch.add_argument("--patience-s", type=positive_number("--patience-s", MAX_SECONDS), default=2.0, metavar="S")
    switch.add_argument(
        "--retransmit-s",
        type=positive_number("--retransmit-s", MAX_SECONDS),
        metavar="S",
        help="send a packet-in that found the queue full again after S seconds (default: not, as Open vSwitch)",
    )
    switch.add_argument("--stall", metavar="A:B", help="switches read nothing from second A to second B")
    switch.add_argument(
        "--link-mbps",
        type=positive_number("--link-mbps", 10_000.0, 0.01),
        metavar="M",
        help="a control link of that rate, in namespaces (needs root, --app or --against)",
    )
    switch.add_argument(
        "--rogue",
        type=choice("rogue", BEHAVIOURS),
        default="none",
        metavar="KIND",
        help="one more switch, which misbehaves (with --app or --against); kinds as of --misbehave",
    )
    switch.add_argument(
        "--realtime", action="store_true", help="generator and controller before other processes (root)"
    )


def _add_misbehave_arguments(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--misbehave",
        type=choice("misbehave", (*KINDS, "all")),
        metavar="KIND",
        help=f"time of echo replies in a quiet window and beside a rogue switch; {', '.join(KINDS)}; all: each in turn",
    )
    group.add_argument(
        "--topo", metavar="TOPO", help="topology of the switches, the last one is rogue (default figure2)"
    )
    group.add_argument(
        "--rogue-rate",
        type=positive_number("--rogue-rate", 1e6),
        metavar="R",
        help="messages or connections a second of the rogue switch (default: usual for its kind)",
    )


def _add_controller_arguments(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--controller", metavar="HOST:PORT", help="a controller that runs already")
    group.add_argument("--app", metavar="NAMES", help="start ryu-manager with these apps, and stop it afterwards")
    group.add_argument("--against", metavar="VARIANTS", help="stock,pso: the same loads for both, taking turns")
    group.add_argument("--pmt", metavar="FILE", help=f"classes of the variant pso (default {DEFAULT_PMT})")
    group.add_argument("--channels", metavar="FILE", help="a connection for each class of this Policy Map Table")
    group.add_argument("--repetitions", type=whole_number("--repetitions", 1, 1000), default=1, metavar="N")
    group.add_argument("--within", type=positive_number("--within"), default=5.0, metavar="P", help="per cent")


def run(arguments: argparse.Namespace) -> int:
    """Run `armor load`."""
    if arguments.misbehave:
        from experiments.cli.load_misbehave import run_misbehave

        return run_misbehave(arguments, KINDS)
    refuse_given(arguments, ("topo", "rogue_rate"), "is for --misbehave; leave it out, or use --rogue")
    asked = [name for name in ("controller", "app", "against") if getattr(arguments, name)]
    if asked not in (["controller"], ["app"], ["against"], ["app", "against"]):
        raise BadInputError("name what is loaded: --controller HOST:PORT, --app NAMES, or --against stock,pso")
    if arguments.controller:
        needs = "needs a controller of its own; use --app or --against"
        refuse_given(arguments, ("rogue", "link_mbps", "pmt", "within", "realtime"), needs)
        return _load_running(arguments)
    if not arguments.against:
        refuse_given(arguments, ("pmt", "within"), "is for --against; leave it out, or use --channels")
    variants = _variants(arguments.against) if arguments.against else ("pso" if arguments.channels else "stock",)
    controllers = {variant: _controller(arguments, variant) for variant in variants}
    runs = _measure_all(arguments, controllers)
    return _tell(arguments, runs)


def _load_running(arguments: argparse.Namespace) -> int:
    """Load a controller that runs already."""
    from experiments.loadgen.controllers import Controller
    from experiments.loadgen.generator import SwitchRegistry, run_load

    host, port = host_and_port(arguments.controller, "--controller")
    pmt = read_pmt(arguments.channels) if arguments.channels else None
    controller = Controller((), pmt)
    registry = SwitchRegistry(
        controller.targets(host, port),
        pmt,
        arguments.queue_pkts,
        arguments.patience_s,
        _stall(arguments.stall),
        arguments.retransmit_s,
    )
    runs: list[Json] = []
    for number in range(1, arguments.repetitions + 1):
        with progress(None, "armor", "") as bar:
            runs.append(run_load(_load(arguments, number), registry, progress=bar.set_description_str).to_json())
    return _tell(arguments, {arguments.controller: runs})


def _measure_all(arguments: argparse.Namespace, controllers: dict[str, Controller]) -> dict[str, list[Json]]:
    from experiments.loadgen.decide.compare import orders
    from experiments.loadgen.testbed import measure

    runs: dict[str, list[Json]] = {variant: [] for variant in controllers}
    with progress(None, "armor", "") as bar:
        for number, variant in orders(tuple(controllers), arguments.repetitions):
            say = _prefixed(f"{variant}, {number} of {arguments.repetitions}: ", bar.set_description_str)
            controller = controllers[variant]
            found = measure(_load(arguments, number), controller, _load_context(arguments, controller), say)
            runs[variant].append(found.to_json())
    return runs


def _prefixed(prefix: str, say: Callable[[str], object]) -> Callable[[str], None]:
    def tell(text: str) -> None:
        say(prefix + text)

    return tell


def _load(arguments: argparse.Namespace, number: int) -> Load:
    """The load of a repetition; every variant gets the same one."""
    from experiments.loadgen.decide.load import Load

    return Load(
        switches=arguments.switches,
        rate_pps=arguments.rate,
        seconds=arguments.seconds,
        arrivals=arguments.arrivals,
        high_share=arguments.high_share,
        seed=arguments.seed + number - 1,
        frame_bytes=arguments.frame_bytes,
        buffered=arguments.buffered,
    )


def _controller(arguments: argparse.Namespace, variant: str) -> Controller:
    from experiments.loadgen.controllers import PSO_APP, RESPONDER, Controller, app_file

    apps = tuple(arguments.app.split(",")) if arguments.app else (RESPONDER,)
    for name in apps:
        app_file(name)
    if variant == "stock":
        return Controller(apps)
    path = arguments.pmt or arguments.channels or DEFAULT_PMT
    return Controller((PSO_APP, *apps), read_pmt(path), pmt_path(path))


def _load_context(arguments: argparse.Namespace, controller: Controller) -> LoadContext:
    from experiments.loadgen.generator import SwitchRegistry
    from experiments.loadgen.link import LinkShape
    from experiments.loadgen.misbehave import rogue_beside
    from experiments.loadgen.testbed import LoadContext

    shape = None
    if arguments.link_mbps:
        shape = LinkShape(arguments.link_mbps, controller.link_classes())
    stall = _stall(arguments.stall)
    registry = SwitchRegistry((), None, arguments.queue_pkts, arguments.patience_s, stall, arguments.retransmit_s)
    beside = None if arguments.rogue == "none" else rogue_beside(controller, arguments.rogue, arguments.seed)
    return LoadContext(shape, registry, beside=beside, realtime=arguments.realtime)


def _tell(arguments: argparse.Namespace, runs: dict[str, list[Json]]) -> int:
    """Print tables; tell whether the variants' throughput is close enough."""
    from experiments.loadgen.decide.compare import (
        HEADER,
        result_rows,
        spreads,
        throughput_changes,
        throughputs,
        with_interval,
    )

    lines = []
    for variant, each in runs.items():
        for number, found in enumerate(each, 1):
            lines += [
                f"{variant}, repetition {number}: {_what(found)}",
                table(result_rows(found), HEADER, range(1, 11)),
            ]
            lines += [f"warning: {warning}" for warning in found["warnings"]] + [""]
    answers, cpu = spreads(runs, "answers_pps"), spreads(runs, "controller_cpu_percent")
    for variant, estimate in throughputs(runs).items():
        used = f"; controller {cpu[variant]} % of a core" if variant in cpu else ""
        lines.append(f"{variant}: {with_interval(estimate, 'answers/s')}; median {answers[variant]}{used}")
    changes = throughput_changes(runs, arguments.seed) if len(runs) > 1 else {}
    held = all(change is not None and abs(change.value) <= arguments.within for change in changes.values())
    for variant, change in changes.items():
        verdict = "within" if change and abs(change.value) <= arguments.within else "not within"
        first = next(iter(runs))
        lines.append(f"{variant} against {first}: {with_interval(change, '%')}, {verdict} {arguments.within:g} %")
    ended = [variant for variant, each in runs.items() if any(found.get("controller_ended") for found in each)]
    lines += [f"{variant}: the controller ended under the load" for variant in ended]
    value = {
        "runs": runs,
        "throughput_pps": {variant: estimate._asdict() for variant, estimate in throughputs(runs).items()},
        "median_answers_pps": {variant: spread._asdict() for variant, spread in answers.items()},
        "median_cpu_percent": {variant: spread._asdict() for variant, spread in cpu.items()},
        "throughput_change_percent": {variant: change and change._asdict() for variant, change in changes.items()},
        "held": held,
        "controllers_ended": ended,
    }
    emit(arguments, value, "\n".join(lines))
    return 0 if held and not ended else 1


def _what(found: Json) -> str:
    links = found["channels_per_switch"]
    shown = (
        f"{counted(found['switches'], 'switch', 'switches')}, {counted(links, 'connection')} each, "
        f"{found['rate_pps']:g} packet-ins/s ({found['arrivals']}) for {found['seconds']:g} s"
    )
    if "controller_cpu_percent" not in found:
        return shown
    cpu = f"controller {found['controller_cpu_percent']:.0f} % of a core, {found['controller_rss_mb']:.0f} MB"
    return f"{shown}; {cpu}"


def _variants(text: str) -> tuple[str, ...]:
    variants = tuple(part.strip() for part in text.split(","))
    for variant in variants:
        if variant not in VARIANTS or variants.count(variant) > 1:
            raise BadInputError(f"--against is {text!r}; use stock,pso")
    return variants


def _share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise BadInputError(f"--high-share is {text!r}; give a number from 0 to 1")
    return value


def _stall(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    try:
        start_s, end_s = map(float, text.split(":"))
    except ValueError:
        start_s, end_s = 1.0, 0.0
    if not 0 <= start_s < end_s < float("inf"):
        raise BadInputError(f"--stall is {text!r}; write A:B in seconds, as 2:4")
    return start_s, end_s
