"""Arguments: argparse whose complaints are one sentence with a repair, and whose typos get a suggestion."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from experiments.scenario.suggest import suggest
from machine.arguments import OneLineParser
from mininet_topos.errors import BadInputError
from ryu_apps.plan.choices import DEFAULT_NOTIFICATION, MODES, NOTIFICATIONS
from ryu_apps.plan.scheme_names import scheme_names
from te_solver.choices import METRICS, PLANNERS, ROUTES

if TYPE_CHECKING:
    from mininet_topos.topology import Topology
    from ryu_apps.plan.options import PlanOptions
    from ryu_apps.plan.protection import ProtectedFlow


# Of `add_plan_options`, what only schemes of rows by destination read; all read the metric.
PLAN_OPTIONS = ("mode", "planner", "routes", "max_failures", "notification", "hard_timeout_s")


class ArmorParser(OneLineParser):
    """Parser of a command of `armor`."""

    def add_common_arguments(self) -> None:
        """--json, --seed and --out, which every command with a result takes."""
        group = self.add_argument_group("common")
        group.add_argument("--json", action="store_true", help="print one JSON value instead of text")
        group.add_argument(
            "--seed", type=whole_number("--seed", 0), default=1, help="seed of whatever is drawn at random"
        )
        group.add_argument("--out", metavar="PATH", help="where the output goes: a file, or the folder of many")

    def parse_strictly(self, argv: Sequence[str]) -> argparse.Namespace:
        """Parse all of `argv`.

        Raises
        ------
        BadInputError
            A missing, unknown or unusable argument.
        """
        given = self._given(argv)
        arguments, unknown = self.parse_known_args(list(argv))
        if unknown:
            word = unknown[0].partition("=")[0]
            options = [option for option in self._option_string_actions if option.startswith("--")]
            if word.startswith("-"):
                raise BadInputError(f"{self.prog} has no option {word!r}; {suggest(word, options)}")
            raise BadInputError(f"{self.prog} has no use for the argument {word!r}; remove it")
        arguments.given = given
        return arguments

    def _given(self, argv: Sequence[str]) -> dict[str, str]:
        """Options in `argv`, by the names of their values; what argparse would misread or pass over is refused."""
        given: dict[str, str] = {}
        for place, word in enumerate(argv):
            if word == "--":
                break
            option, equals, value = word.partition("=")
            action = self._option_string_actions.get(option)
            if action is None:
                continue
            if action.nargs != 0:
                value = value if equals else "".join(argv[place + 1 : place + 2])
                if (not value.strip() and (equals or len(argv) > place + 1)) or (equals and value == "--"):
                    raise BadInputError(f"{option} is {value!r}; give it a value, or leave it out")
                if action.dest in given and not isinstance(action, argparse._AppendAction):
                    raise BadInputError(f"{option} stands twice; keep one of them")
            given[action.dest] = option
        return given


def refuse_given(arguments: argparse.Namespace, names: Sequence[str], reason: str) -> None:
    """Refuse options that would be passed over in silence.

    Raises
    ------
    BadInputError
        One of them stands on the command line; `reason` ends the sentence that its name begins.
    """
    for name in names:
        if name in arguments.given:
            raise BadInputError(f"{arguments.given[name]} {reason}")


def choice(name: str, choices: Sequence[str]) -> Callable[[str], str]:
    """Argument type: one word out of `choices`."""

    def read(text: str) -> str:
        if text not in choices:
            raise BadInputError(f"{name} {text!r} is not known; {suggest(text, choices)}")
        return text

    return read


def whole_number(name: str, lowest: int, highest: int = 2**63 - 1) -> Callable[[str], int]:
    """Argument type: a whole number in lowest..highest."""

    def read(text: str) -> int:
        # int() takes other digits, underscores and more than a machine word, too
        value = int(text) if re.fullmatch(r"[-+]?[0-9]{1,19}", text) else lowest - 1
        if not lowest <= value <= highest:
            bound = f"of at least {lowest}" if highest >= 2**31 else f"from {lowest} to {highest}"
            raise BadInputError(f"{name} is {text!r}; give a whole number {bound}")
        return value

    return read


def positive_number(name: str, highest: float = math.inf, lowest: float = 0.0) -> Callable[[str], float]:
    """Argument type: a finite number above 0, in lowest..highest."""

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = 0.0
        if not (0 < value < math.inf and lowest <= value <= highest):
            least = f", at least {lowest:g}" if lowest else ""
            most = f", at most {highest:g}" if highest < math.inf else ""
            raise BadInputError(f"{name} is {text!r}; give a number above 0{least}{most}")
        return value

    return read


def add_plan_arguments(parser: argparse.ArgumentParser) -> None:
    """SCHEME, TOPO and how the plan is made."""
    add_scheme_argument(parser)
    add_topology_argument(parser)
    add_plan_options(parser)


def add_scheme_argument(parser: argparse.ArgumentParser) -> None:
    """SCHEME."""
    parser.add_argument("scheme", metavar="SCHEME", help=", ".join(scheme_names()))


def add_topology_argument(parser: argparse.ArgumentParser) -> None:
    """TOPO."""
    parser.add_argument(
        "topology",
        metavar="TOPO",
        help="a name that 'armor topo list' shows, or a GraphML, GML or JSON file",
    )


def add_choices(group: argparse._ArgumentGroup, *options: tuple[str, Sequence[str], str]) -> None:
    """Options (name, choices, what it is about) that take one of a few words; the first is the default."""
    for name, choices, about in options:
        group.add_argument(
            f"--{name}",
            type=choice(name, choices),
            default=choices[0],
            metavar="|".join(choices),
            help=f"{about} (default {choices[0]})",
        )


def add_plan_options(parser: argparse.ArgumentParser) -> None:
    """--mode, --planner, --routes, --metric, --max-failures, --notification, --hard-timeout-s."""
    group = parser.add_argument_group("plan")
    add_choices(
        group,
        ("mode", tuple(MODES), "who ends the backtracking: the data plane, or the switch-local agent"),
        ("planner", PLANNERS, "routes by destination, the paper's two per pair, or te_solver's tunnels"),
        ("routes", ROUTES, "shortest-path trees, or one minimum spanning tree"),
        ("metric", METRICS, "cost of a link"),
    )
    group.add_argument(
        "--max-failures",
        type=whole_number("--max-failures", 1),
        metavar="K",
        help="links that a tag can name as failed",
    )
    add_notification(group)
    group.add_argument(
        "--hard-timeout-s",
        type=whole_number("--hard-timeout-s", 0, 0xFFFF),
        default=0,
        metavar="S",
        help="life of learned rows (default 0: until the link returns)",
    )


def add_notification(group: argparse._ActionsContainer) -> None:
    """`--notification`, for an argument parser or a group of its arguments."""
    group.add_argument(
        "--notification",
        type=choice("--notification", NOTIFICATIONS),
        default=DEFAULT_NOTIFICATION,
        metavar="|".join(NOTIFICATIONS),
        help=f"whether the first packet that meets a failure notifies all switches (default {DEFAULT_NOTIFICATION})",
    )


def refuse_plan_options(arguments: argparse.Namespace, names: Sequence[str]) -> None:
    """Refuse options of `add_plan_options` that what is planned has no use for (`BadInputError`)."""
    refuse_given(arguments, names, f"is not for {arguments.scheme!r}; leave it out")


def add_protect_argument(parser: argparse.ArgumentParser, default: str) -> None:
    """--protect FILE; `default` says what happens without it."""
    parser.add_argument(
        "--protect", metavar="FILE", help=f"schemes that protect flows: which (docs/protect.md); without it {default}"
    )


def read_protected_flows(
    arguments: argparse.Namespace, topology: Topology, *, protects: bool
) -> tuple[ProtectedFlow, ...] | None:
    """Flows of --protect; None when it is not given. `protects`: whether the scheme protects flows.

    Raises
    ------
    BadInputError
        The file cannot be read or used, or the scheme protects none.
    """
    from ryu_apps.plan.protect.document import load_flows

    if arguments.protect is None:
        return None
    if not protects:
        raise BadInputError(
            f"--protect is for schemes that protect flows, not for {arguments.scheme!r}; leave one of them out"
        )
    return load_flows(arguments.protect, f"--protect {arguments.protect!r}", topology)


def plan_options(arguments: argparse.Namespace) -> PlanOptions:
    """Plan options from the arguments that `add_plan_options` declared."""
    from ryu_apps.plan.options import PlanOptions

    return PlanOptions(
        mode=arguments.mode,
        planner=arguments.planner,
        routes=arguments.routes,
        metric=arguments.metric,
        max_failures=arguments.max_failures,
        notification=arguments.notification,
        hard_timeout_s=arguments.hard_timeout_s,
    )
