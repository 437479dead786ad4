"""Protected flows of a running controller of scheme protect: show them, add some, remove some.

  armor protect list
  armor protect add --from h4 --to h10 --protocol udp --to-port 5000
  armor protect add --from h4 --to h10 --to-prefix 10.0.0.8/29 --protocol tcp --to-port 8000-8099
  armor protect add flows.yaml
  armor protect remove --from h4 --to h10
  armor protect stats

The controller is asked over its REST interface (--url). That of an emulated network listens inside its controller's
namespace: without --url, the one network that runs on this machine is taken. docs/protect.md describes flows.
"""

from __future__ import annotations

import argparse
import http.client
import json
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from experiments.cli.parser import choice, refuse_given, whole_number
from experiments.terminal.output import emit, table
from experiments.terminal.token import add_token_option, token_headers
from mininet_topos.errors import ArmorError, BadInputError
from mininet_topos.input_files import read_text

ACTIONS = ("list", "add", "remove", "stats")
DEFAULT_URL = "http://127.0.0.1:8080"
PATH = "/armor/protect"
ANSWER_S = 60.0
_FLOW = ("source", "to", "from_prefix", "to_prefix", "protocol", "from_port", "to_port", "via", "number", "one_way")


class ControllerError(ArmorError):
    """The controller does not answer, or answers nonsense."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `armor protect`."""
    parser.add_argument("action", metavar="|".join(ACTIONS), type=choice("action", ACTIONS), help="what to do")
    parser.add_argument("file", metavar="FILE", nargs="?", help="add, remove: YAML or JSON file of flows")
    group = parser.add_argument_group("one flow, for add and remove")
    group.add_argument("--from", dest="source", metavar="HOST", help="as h4, or by its switch s4")
    group.add_argument("--to", metavar="HOST")
    group.add_argument("--protocol", metavar="tcp|udp", type=choice("protocol", ("tcp", "udp")), help="default both")
    group.add_argument("--from-prefix", metavar="A.B.C.D/N", help="addresses in place of the sending host's")
    group.add_argument("--to-prefix", metavar="A.B.C.D/N", help="addresses in place of the receiving host's")
    group.add_argument("--from-port", metavar="N|N-M", help="a port, or a range of ports")
    group.add_argument("--to-port", metavar="N|N-M")
    group.add_argument("--via", metavar="S,S,...", help="switches where connections begin and end")
    group.add_argument("--number", type=whole_number("--number", 0, (1 << 24) - 1), metavar="N", help="of connections")
    group.add_argument("--one-way", action="store_true", help="not the answers")
    parser.add_argument("--url", metavar="URL", help=f"REST interface of the controller, as {DEFAULT_URL}")
    add_token_option(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run `armor protect`."""
    if arguments.action in ("add", "remove"):
        flows = flows_of(arguments)
        ask = asker(arguments)
        value = ask("POST", json.dumps({arguments.action: flows}))
    else:
        refuse_given(arguments, _FLOW, "is for 'armor protect add' and 'remove'; leave it out")
        ask = asker(arguments)
        if arguments.file is not None:
            raise BadInputError(f"armor protect {arguments.action} takes no file; leave {arguments.file!r} out")
        value = ask("GET", "")
    text = stats_text(value) if arguments.action == "stats" else list_text(value)
    emit(arguments, value, text)
    return 0


def flows_of(arguments: argparse.Namespace) -> Any:
    """Flows of the file or of the options, as plain data.

    Raises
    ------
    BadInputError
        Both or neither are given, or the file cannot be read.
    """
    from mininet_topos.lines import plain, read_lines
    from ryu_apps.plan.protect.document import MAX_FLOWS_BYTES

    one = {
        "from": arguments.source,
        "to": arguments.to,
        "from_prefix": arguments.from_prefix,
        "to_prefix": arguments.to_prefix,
        "protocol": arguments.protocol,
        "from_port": _port(arguments.from_port),
        "to_port": _port(arguments.to_port),
        "via": arguments.via.split(",") if arguments.via else None,
        "number": arguments.number,
        "both_ways": False if arguments.one_way else None,
    }
    given = {key: value for key, value in one.items() if value is not None}
    if bool(given) == (arguments.file is not None):
        raise BadInputError(f"armor protect {arguments.action} needs flows: give a file, or --from and --to")
    if given:
        return [given]
    return plain(read_lines(read_text(arguments.file, repr(arguments.file), MAX_FLOWS_BYTES), arguments.file))


def _port(text: str | None) -> int | str | None:
    """A port as a number; a range, and anything else that the controller is to refuse, as text."""
    return int(text) if text is not None and text.isascii() and text.isdigit() else text


def asker(arguments: argparse.Namespace) -> Callable[[str, str], Any]:
    """How the controller is asked: over the given URL, or from inside the one emulated network that runs.

    Raises
    ------
    BadInputError
        A URL that is none; or no URL, and not exactly one network runs here; or no token file of that name.
    """
    url, headers = arguments.url, token_headers(arguments.token_file)
    if url is None:
        from machine.places import call_inside

        pid = controller_pid()
        return lambda method, body: call_inside(pid, lambda: request(DEFAULT_URL, method, body, headers))
    if not _is_address(url):
        raise BadInputError(f"--url {url!r} is no address of a controller; write for example {DEFAULT_URL}")
    return lambda method, body: request(url, method, body, headers)


def _is_address(url: str) -> bool:
    """Whether a URL names a host, and a port that there can be."""
    try:
        parts = urlsplit(url)
        return (
            parts.scheme == "http"
            and bool(parts.hostname)
            and parts.port != 0
            and re.fullmatch(r"[!-~]+", url) is not None
        )
    except ValueError:  # no port number, or a bracket that is not closed
        return False


def controller_pid() -> int:
    """A process in the controller's namespace of the one network that runs here.

    Raises
    ------
    BadInputError
        None runs, or several.
    """
    from emulation.decide.wiring import CONTROLLER
    from emulation.runfile import list_runs

    live = [run for run in list_runs() if run.is_live()]
    processes = [process for run in live for process in run.of_kind("process")]
    found = [int(each["pid"]) for each in processes if (each["name"], each["place"]) == ("shell", CONTROLLER)]
    if len(found) != 1:
        if not found:
            raise BadInputError("no emulated network runs here; say with --url which controller to ask")
        raise BadInputError(
            f"{len(found)} emulated networks run here, and each controller answers in its own namespace only; "
            "end all but one of them"
        )
    return found[0]


def request(url: str, method: str, body: str, headers: dict[str, str]) -> Any:
    """Ask a controller.

    Raises
    ------
    BadInputError
        It refuses what was asked for; the message is its own.
    ControllerError
        It does not answer.
    """
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port or 80, timeout=ANSWER_S)
    try:
        connection.request(method, PATH, body, {"Content-Type": "application/json", **headers})
        answer = connection.getresponse()
        value = json.loads(answer.read())
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise ControllerError(
            f"no controller answers at {url} ({error}); is it running, with rest_port set?"
        ) from error
    finally:
        connection.close()
    if answer.status >= http.client.BAD_REQUEST:
        raise (BadInputError if answer.status < 500 else ControllerError)(str(value.get("error", value)))
    return value


def list_text(value: dict[str, Any]) -> str:
    """Protected flows for people."""
    if not value["flows"]:
        return "no flow is protected"
    return "\n".join(f"  {flow['text']}" for flow in value["flows"])


def stats_text(value: dict[str, Any]) -> str:
    """Counters of all connections for people."""
    header = ("connection", "sent", "accepted", "copies dropped", "out of window")
    rows = [
        (
            f"{row['number']}: {row['from']} to {row['to']}",
            *(
                "-" if row[key] is None else f"{row[key]:,}"
                for key in ("sent", "accepted", "duplicate", "out_of_window")
            ),
        )
        for row in value["connections"]
    ]
    return table(rows, header, right=(1, 2, 3, 4)) if rows else "no flow is protected"
