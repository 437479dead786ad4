"""Break an emulated network at random, again and again, and look after each calm what is not right (needs root).

  sudo armor torture darkstrand --minutes 60 --seed 7
  sudo armor torture usnet --scheme protect --minutes 10 --json

A round is a storm of overlapping faults (links silent, one-way, lossy, without carrier, flapping; switches; control
links failed or slow; a full disk; kill -9 and SIGSTOP of agents, daemons and controller), and a calm. After it each
pair of hosts has to answer, no packet may run in a loop, switches hold exactly their plans, acknowledged backup rows
are there, and memory and files of processes are bounded. docs/torture.md says more. The exit code is 1 after a
violation.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

from experiments.cli.parser import positive_number, whole_number
from experiments.terminal.output import emit, release_notes
from mininet_topos.wording import counted

_MOST_MINUTES = 10_080.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `armor torture`."""
    parser.add_argument("topology", metavar="TOPO", help="topology")
    parser.add_argument("--minutes", type=positive_number("--minutes", _MOST_MINUTES), default=5.0, metavar="M")
    parser.add_argument("--scheme", default="sdfast", help="default: sdfast")
    parser.add_argument("--mode", help="of the scheme; default: learned")
    parser.add_argument("--tls", action="store_true", help="control channels use TLS")
    storm = parser.add_argument_group("storms")
    storm.add_argument(
        "--storm-s", type=positive_number("--storm-s", 3600.0), default=20.0, metavar="S", help="default 20"
    )
    storm.add_argument("--faults", type=whole_number("--faults", 1, 1000), default=12, metavar="N", help="default 12")
    parser.add_argument("--no-replay", action="store_true", help="do not look for the cause of a violation")
    parser.add_argument(
        "--first-round", type=whole_number("--first-round", 1), default=1, metavar="N", help="repeat or go on from it"
    )


def run(arguments: argparse.Namespace) -> int:
    """Run `armor torture`."""
    from experiments.testbed.runs.folder import ResultFolder
    from experiments.testbed.runs.parts import require_programs
    from experiments.testbed.runs.run import plan_scenario
    from experiments.torture.decide.faults import draw_faults
    from experiments.torture.record import Record
    from experiments.torture.run import Session, Torture
    from experiments.torture.scenario import torture_scenario

    scenario = torture_scenario(arguments.topology, arguments.scheme, arguments.mode, arguments.seed, tls=arguments.tls)
    ((variation, planned),) = plan_scenario(scenario).items()
    require_programs()
    folder = ResultFolder(Path(arguments.out)) if arguments.out else ResultFolder.new(f"torture-{variation.name}")
    torture = Torture(
        arguments.minutes,
        partial(draw_faults, seconds=arguments.storm_s, count=arguments.faults),
        not arguments.no_replay,
        arguments.first_round,
    )
    record = Record(scenario, (variation, planned), arguments.seed, folder)
    release_notes()
    value = Session(record, torture).run()
    arguments.out = None  # the folder is written; what was found goes to the terminal
    emit(arguments, value, torture_text(value))
    return 1 if value["violations"] else 0


def torture_text(value: dict[str, object]) -> str:
    """What a torture found, for people."""
    violations = value["violations"]
    assert isinstance(violations, list)
    lines = [
        f"{value['run']} on {value['topology']}, seed {value['seed']}: {value['rounds']} storms with {value['faults']} "
        f"faults in {value['minutes']} minutes, {value['recoveries']} recoveries",
        f"longest calm until all was right: {value['longest_calm_s']} s; "
        f"{value['lost_rows']} of {value['acknowledged_rows']} acknowledged backup rows lost",
    ]
    for each in violations:
        cause = "shortest prefix that brings a violation again" if each["replayed"] else "faults of its storm"
        lines.append(f"violation after round {each['round']}: {each['what']}" + (f"; {cause}:" * bool(each["faults"])))
        lines += [f"  {f['at_s']:7.3f} s  {f['kind']} {f['target']} for {f['for_s']:g} s" for f in each["faults"]]
    lines.append(f"{counted(len(violations), 'violation')}; rows, logs and events are in {value['folder']}")
    return "\n".join(lines)
