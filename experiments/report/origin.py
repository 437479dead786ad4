"""Where results come from: command, commit, machine, versions, in a paragraph and in full."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from experiments.report.blocks import Block, Facts, Fold, Grid, Part, Text
from experiments.report.words import command_line, label, number, value_text

Json = dict[str, Any]

_SHOWN_APART = ("command", "emulation", "format_version", "packages", "resumed")
_EMULATION = (
    "datapath",
    "datapath_reason",
    "bfd_interval_ms",
    "bfd_flaps",
    "realtime",
    "mtu_bytes",
    "capacity_scale",
    "default_capacity_mbps",
    "netem",
    "start_seconds",
    "warnings",
)


def origin_text(environment: Json) -> str:
    """When, where and with what code: one or two sentences; what was not recorded is left out."""
    stamp = next((environment[key] for key in ("started", "finished", "at") if environment.get(key)), None)
    when = f"Measured on {moment(str(stamp))}" if stamp else "Measured"
    commit = environment.get("commit")
    code = f" with commit {str(commit)[:12]}{' (changed)' if str(commit).endswith('+') else ''}" if commit else ""
    parts = []
    if environment.get("cores"):
        parts.append(f"{number(environment['cores'])} cores")
    if environment.get("processor"):
        parts.append(str(environment["processor"]))
    if environment.get("kernel"):
        parts.append(f"kernel {environment['kernel']}")
    if environment.get("open_vswitch"):
        paths = ", ".join(datapaths(environment))
        parts.append(f"Open vSwitch {environment['open_vswitch']}" + (f" ({paths} datapath)" if paths else ""))
    machine = f" on a machine with {', '.join(parts)}" if parts else ""
    return f"{when}{code}{machine}."


def moment(stamp: str) -> str:
    """A time as people read it.

    Examples
    --------
    >>> moment("2026-11-21T06:38:27+0000")
    '2026-11-21 06:38 UTC'
    """
    shown = stamp[:16].replace("T", " ")
    zone = stamp[19:].lstrip(".0123456789") if len(stamp) > 19 else ""
    return f"{shown} UTC" if zone in ("+0000", "+00:00", "Z") else f"{shown} {zone}".strip()


def datapaths(environment: Json) -> list[str]:
    """Datapaths of all emulated networks."""
    return sorted({str(facts["datapath"]) for facts in emulations(environment).values() if facts.get("datapath")})


def emulations(environment: Json) -> dict[str, Json]:
    """Facts about the emulated networks, by run; a campaign has one entry for all."""
    found = environment.get("emulation") or {}
    if all(isinstance(facts, dict) for facts in found.values()):
        return dict(found)
    return {"all": found}


def environment_part(environment: Json) -> Part:
    """Everything that was recorded about the machine."""
    if not environment:
        return Part("Environment", (Text("No environment was recorded.", "warning"),))
    facts = [(label(key), value_text(value)) for key, value in environment.items() if key not in _SHOWN_APART]
    packages = environment.get("packages") or {}
    if packages:
        # Names of packages are no words of ours.
        shown = ", ".join(f"{name} {version or 'not installed'}" for name, version in packages.items())
        facts.append(("Python packages", shown))
    blocks: list[Block] = [Facts(tuple(facts))]
    networks = emulations(environment)
    if networks:
        rows = tuple(
            (label(key), *(value_text(facts.get(key)) for facts in networks.values()))
            for key in _EMULATION
            if any(key in facts for facts in networks.values())
        )
        if rows:
            blocks.append(Grid("Emulated networks", ("what", *networks), rows))
    return Part("Environment", (Fold("Machine, versions and emulated networks", tuple(blocks)),))


def repeat_part(path: Path, environment: Json, scenario: str | None = None) -> Part:
    """The command that made the folder, and the scenario if there is one."""
    command = command_line(environment)
    blocks: list[Block] = [Text(command, "command") if command else Text("The command was not recorded.", "warning")]
    commit = environment.get("commit")
    if commit:
        blocks.append(Text(f"Code: commit {str(commit).rstrip('+')}. Results: folder {path.name}."))
    blocks += [
        Text(f"Gone on with at {moment(str(again.get('at')))}: {command_line(again)}")
        for again in environment.get("resumed") or ()
    ]
    if scenario is not None:
        blocks.append(Fold("The scenario, as a file for 'armor run'", (Text(scenario.rstrip("\n"), "listing"),)))
    return Part("How to repeat", tuple(blocks))
