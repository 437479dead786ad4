"""The switch-local agent: `python -m ovsdb_backup.agent --bridge s1 --database unix:db.sock --management unix:s1.mgmt`.

A shell around `decide.agent.step`: one OpenFlow connection to the bridge's management socket, the backup
database, and the liveness columns of Open_vSwitch as a second liveness source. It keeps nothing on disk: after kill -9,
or when either daemon of Open vSwitch was restarted, it reads the plan and the switch again and goes on.
"""

from __future__ import annotations

import signal

if __name__ == "__main__" and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C during the imports ends the process, and not in a traceback

import argparse
import os
import sys
from collections.abc import Sequence

from machine.arguments import OneLineParser, add_identity, take_identity
from machine.event_log import EventLog
from mininet_topos.endpoints import host_and_port
from mininet_topos.errors import ArmorError, BadInputError, MissingRequirementError
from ovsdb_backup.agent_loop import Agent, AgentOptions
from ryu_apps.plan.damping import DEFAULT_WAIT_S


def parse_options(arguments: Sequence[str]) -> AgentOptions:
    """Options of a command line.

    Raises
    ------
    BadInputError
        A missing, unknown or impossible option.
    """
    parser = OneLineParser(prog="python -m ovsdb_backup.agent", description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--bridge", required=True, help="name of the bridge, in Open vSwitch and in the backup database"
    )
    parser.add_argument(
        "--database",
        required=True,
        help="ovsdb-server with the backup database: unix:PATH, tcp:HOST:PORT or ssl:HOST:PORT",
    )
    parser.add_argument("--management", required=True, help="management socket of the bridge: unix:PATH")
    parser.add_argument("--node", help="name in the event log (default: the bridge)")
    parser.add_argument("--second-source", help="ovsdb-server with Open_vSwitch (default: as --database)")
    parser.add_argument(
        "--wait-to-restore-s", type=float, default=DEFAULT_WAIT_S, help="how long a port must be up before it is used"
    )
    parser.add_argument(
        "--hard-timeout-s", type=int, default=0, help="life of the agent's rows (default 0: until repair)"
    )
    parser.add_argument(
        "--realtime", action="store_true", help="meet failures with real-time priority, where the system permits it"
    )
    add_metrics_option(parser)
    add_identity(parser)
    given = parser.parse_args(arguments)
    check_wait(given.wait_to_restore_s)
    if not 0 <= given.hard_timeout_s <= 0xFFFF:
        raise BadInputError(f"--hard-timeout-s is {given.hard_timeout_s}; give 0 (never) to 65535")
    second_source = given.second_source or given.database
    for address in (given.database, second_source):
        if not address.startswith(("unix:", "tcp:", "ssl:")):
            raise BadInputError(f"{address!r} is no database address; write unix:PATH, tcp:HOST:PORT or ssl:HOST:PORT")
    take_identity(given)
    return AgentOptions(
        given.node or given.bridge,
        given.bridge,
        given.database,
        given.management,
        second_source,
        given.wait_to_restore_s,
        given.hard_timeout_s,
        given.realtime,
        metrics_address(given.metrics),
    )


def add_metrics_option(parser: argparse.ArgumentParser) -> None:
    """The option that both agents have."""
    parser.add_argument("--metrics", help="answer GET /metrics (Prometheus) at HOST:PORT (default: nowhere)")


def metrics_address(given: str | None) -> tuple[str, int] | None:
    """Host and port of the option (BadInputError: neither)."""
    return None if given is None else host_and_port(given, "--metrics")


def event_log_of(node: str, metrics: tuple[str, int] | None) -> EventLog:
    """Event log of a switch's agent; its events are counted where metrics are asked for.

    Raises
    ------
    BadInputError
        Metrics cannot be served at that address.
    """
    log = EventLog(f"agent:{node}")
    if metrics is not None:
        from machine.event_metrics import serve_metrics_of  # long to import, for every agent

        serve_metrics_of(log, *metrics)
    return log


def check_wait(wait_to_restore_s: float) -> None:
    """Refuse a wait that is none (BadInputError)."""
    if not 0 <= wait_to_restore_s < float("inf"):
        raise BadInputError(f"--wait-to-restore-s is {wait_to_restore_s}; give a number of at least 0")


def without_eventlet() -> None:
    """Keep `ovs` from importing eventlet: the agent has a loop of its own, and it saves 15 MB and a notice."""
    for name in ("eventlet", "gevent"):
        sys.modules.setdefault(name, None)  # type: ignore[arg-type]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run an agent until SIGTERM or SIGINT; exit code 0, or 2 for options that cannot be used."""
    try:
        options = parse_options(sys.argv[1:] if arguments is None else arguments)
        without_eventlet()
        try:
            from ovsdb_backup.database_watch import PlanWatch, PortWatch
        except ImportError as error:
            raise MissingRequirementError(
                "the Python package ovs is not installed; pip install '.[agent]' in Armor's folder"
            ) from error
        plans = PlanWatch(options.database, options.bridge)
        ports = PortWatch(options.second_source, options.bridge)
        agent = Agent(options, plans, ports, event_log_of(options.node, options.metrics))
    except ArmorError as error:
        print(f"armor agent: {error}", file=sys.stderr)
        return error.exit_code
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, agent.stop)
    agent.run()
    return os.EX_OK


if __name__ == "__main__":
    sys.exit(main())
