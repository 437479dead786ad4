"""Check Policy Map Tables (PSO), put them on switches, and show what a switch has.

armor pmt check examples/pmt/out_of_band.yaml
armor pmt push s1 examples/pmt/out_of_band.yaml
armor pmt show s1
armor pmt show s1 examples/pmt/out_of_band.yaml

SWITCH is a switch of the running emulation, or a database: unix:PATH or tcp:HOST:PORT. `show` prints the same text as
`check` when the switch has the table of the file; given a file too it compares them (exit code 1: they differ).
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from experiments.cli.parser import choice, refuse_given
from experiments.scenario.suggest import suggest
from experiments.terminal.output import emit, hold_note
from mininet_topos.errors import BadInputError

if TYPE_CHECKING:
    from ryu_apps.pmt.rules import PolicyMapTable

ACTIONS = ("check", "push", "show")
_DATABASE_TIMEOUT_S = 10.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `armor pmt`."""
    parser.add_argument("action", metavar="check|push|show", type=choice("action", ACTIONS))
    parser.add_argument("names", metavar="SWITCH FILE", nargs="*", help="check: FILE; push: SWITCH FILE; show: SWITCH")
    parser.add_argument("--bridge", metavar="NAME", default="", help="bridge of a database that holds several")


def run(arguments: argparse.Namespace) -> int:
    """Run `armor pmt`."""
    act = {"check": _check, "push": _push, "show": _show}[arguments.action]
    usage = {"check": ((1,), "FILE"), "push": ((2,), "SWITCH FILE"), "show": ((1, 2), "SWITCH, and a FILE to compare")}
    counts, words = usage[arguments.action]
    if len(arguments.names) not in counts:
        raise BadInputError(f"'armor pmt {arguments.action}' takes {words}; {len(arguments.names)} names were given")
    if arguments.action == "check":
        refuse_given(arguments, ("bridge",), "is not for 'armor pmt check'; leave it out")
    return act(arguments)


def read_pmt_file(name: str) -> PolicyMapTable:
    """The table in a file.

    Raises
    ------
    BadInputError
        The file cannot be read or is no PMT.
    """
    from ryu_apps.pmt.parse import load_pmt

    return load_pmt(name, f"PMT {name!r}")


def _check(arguments: argparse.Namespace) -> int:
    from ryu_apps.control.priority.decide.channels import connections
    from ryu_apps.pmt.flows import limits, punt_rows
    from ryu_apps.pmt.serial import show
    from ryu_apps.pmt.validate import notes

    table = read_pmt_file(arguments.names[0])
    rows = connections(table, 6653)
    punt_rows(table)
    remarks = (*notes(table), *limits(table))
    for remark in remarks:
        hold_note(f"note: {remark}")
    value = _value(table) | {
        "connections": [
            {"class_id": row.class_id, "port": row.port, "dscp": row.dscp, "home": row.is_main} for row in rows
        ],
        "notes": list(remarks),
    }
    emit(arguments, value, show(table).rstrip("\n"))
    return 0


def _push(arguments: argparse.Namespace) -> int:
    from machine.json_rpc import connected
    from ryu_apps.control.priority.switch_table import SwitchTable

    switch, file = arguments.names
    table = read_pmt_file(file)
    remote, bridge = find_switch(switch, arguments.bridge)
    with connected(remote, _DATABASE_TIMEOUT_S) as client:
        is_changed = SwitchTable(client, bridge).push(table)
    text = f"{switch}: {len(table.rules)} rules" + ("" if is_changed else ", as before")
    emit(arguments, {"switch": switch, "rules": len(table.rules), "changed": is_changed}, text)
    return 0


def _show(arguments: argparse.Namespace) -> int:
    from machine.json_rpc import connected
    from ryu_apps.control.priority.switch_table import SwitchTable
    from ryu_apps.pmt.serial import show

    switch, *files = arguments.names
    wanted = read_pmt_file(files[0]) if files else None
    remote, bridge = find_switch(switch, arguments.bridge)
    with connected(remote, _DATABASE_TIMEOUT_S) as client:
        table = SwitchTable(client, bridge).read().table
    if table is None:
        raise BadInputError(f"{switch} has no PMT; give it one with 'armor pmt push {switch} FILE'")
    value = {"switch": switch, **_value(table)}
    if wanted is not None:
        value["equal"] = table == wanted
        hold_note(f"{switch} has {'the table' if table == wanted else 'another table than that'} of {files[0]}")
    emit(arguments, value, show(table).rstrip("\n"))
    return 0 if wanted in (None, table) else 1


def _value(table: PolicyMapTable) -> dict[str, Any]:
    import json

    from ryu_apps.pmt.serial import to_json

    value: dict[str, Any] = json.loads(to_json(table))
    return value


def find_switch(name: str, bridge: str) -> tuple[str, str]:
    """Database of a switch, and its bridge there ("": the only one).

    Raises
    ------
    BadInputError
        No running emulation has such a switch, or several have.
    """
    if name.startswith(("unix:", "tcp:")):
        return name, bridge
    from emulation.runfile import list_runs

    switches = [record for run in list_runs() if run.is_live() for record in run.of_kind("switch")]
    found = [record for record in switches if record["name"] == name]
    if len(found) == 1:
        return f"unix:{found[0]['database']}", str(found[0]["bridge"])
    if found:
        raise BadInputError(f"{len(found)} running emulations have a switch {name!r}; name its database: unix:PATH")
    known = [str(record["name"]) for record in switches]
    hint = suggest(name, known) if known else "no emulation runs; start one, or name a database: unix:PATH"
    raise BadInputError(f"no switch {name!r} is running; {hint}")
