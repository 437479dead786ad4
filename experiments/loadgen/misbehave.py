"""One switch that misbehaves, in a process of its own, so that it cannot disturb the generator of the others.

`python -m experiments.loadgen.misbehave KIND SEED SWITCH TARGET ...` goes on until it is ended. SWITCH is what
`RogueSwitch.to_text` gives, a TARGET what `Target.to_text` gives. The first target is that of the connection for
everything, the others are of classes.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from experiments.loadgen.behaviours import BEHAVIOUR_OF
from experiments.loadgen.connection import Target
from experiments.loadgen.decide.load import LOW
from experiments.loadgen.decide.misbehave import BEHAVIOURS
from experiments.loadgen.decide.packets import controller_id_of
from experiments.loadgen.rogue import SENT, TAKEN, Rogue, RogueSwitch
from machine.places import child, inside
from mininet_topos.errors import ArmorError, BadInputError

if TYPE_CHECKING:
    from experiments.loadgen.controllers import Controller, Watched
    from experiments.loadgen.link import ControlLink

SETTLE_S = 1.0
_START_S = 20.0
_MOST_SAID_BYTES = 1 << 16
_UNKNOWN = RogueSwitch()


class RogueEndedError(ArmorError):
    """The process of a rogue switch has ended by itself: what was measured beside it was measured beside nothing."""


@contextmanager
def misbehaving(
    pid: int | None, targets: Sequence[Target], behaviour: str, seed: int, switch: RogueSwitch = _UNKNOWN
) -> Iterator[subprocess.Popen[str] | None]:
    """A misbehaving switch while the block runs, as its process; none with "none". The caller waits until it has begun.

    Parameters
    ----------
    pid
        A process in whose network namespace it lives; None: here.
    behaviour
        One of `BEHAVIOURS`.

    Raises
    ------
    BadInputError
        No such behaviour.
    RogueEndedError
        Its process has ended before the block.
    """
    if behaviour not in BEHAVIOURS:
        raise BadInputError(f"behaviour {behaviour!r} is not known; use one of {', '.join(BEHAVIOURS)}")
    if behaviour == "none":
        yield None
        return
    texts = [target.to_text() for target in targets]
    command = [sys.executable, "-m", "experiments.loadgen.misbehave", behaviour, str(seed), switch.to_text(), *texts]
    with child(command if pid is None else inside(pid, command)) as process:
        yield process
        if process.poll() is not None:
            raise RogueEndedError(f"the rogue switch of kind {behaviour!r} has ended (exit code {process.returncode})")


def has_begun(process: subprocess.Popen[str], wait_s: float) -> bool:
    """Wait so long at the most for a rogue switch to begin; whether it has begun, or ended."""
    assert process.stdout is not None
    return bool(select.select([process.stdout], (), (), wait_s)[0])


@dataclass(frozen=True, slots=True)
class RogueReport:
    """What a rogue switch has said of itself.

    Attributes
    ----------
    ids_taken
        Datapath ids of other switches for which the controller has served it.
    n_sent
        Messages or connections that its behaviour has sent or opened, to a hundredth.
    """

    ids_taken: tuple[int, ...]
    n_sent: int


def report_of(process: subprocess.Popen[str]) -> RogueReport:
    """What a rogue switch has said since it began; asked once."""
    assert process.stdout is not None
    os.set_blocking(process.stdout.fileno(), False)
    said = os.read(process.stdout.fileno(), _MOST_SAID_BYTES).decode() if has_begun(process, 0.0) else ""
    lines = [line.split() for line in said.splitlines()]
    numbers = {name: [int(words[1]) for words in lines if words[:1] == [name]] for name in (TAKEN, SENT)}
    return RogueReport(tuple(sorted(numbers[TAKEN])), max(numbers[SENT], default=0))


def rogue_beside(
    controller: Controller, behaviour: str, seed: int
) -> Callable[[ControlLink | None, Watched], AbstractContextManager[None]]:
    """What `LoadContext.beside` takes: a misbehaving switch of a controller, at the switches' end of its link."""
    switch = RogueSwitch(controller_id=controller_id_of(controller.table, LOW))

    @contextmanager
    def beside(link: ControlLink | None, watched: Watched) -> Iterator[None]:
        targets = controller.targets(watched.host, watched.port)
        with misbehaving(None if link is None else link.switch_pid, targets, behaviour, seed, switch) as process:
            if process is not None:
                has_begun(process, _START_S)
                time.sleep(SETTLE_S)
            yield

    return beside


def main(arguments: Sequence[str]) -> None:
    """Run as a process."""
    behaviour, seed, text, *targets = arguments
    switch = RogueSwitch.from_text(text)
    if switch.processor is not None:
        os.sched_setaffinity(0, {switch.processor})

    def say(n_sent: int) -> None:
        print(f"{SENT} {n_sent}", flush=True)

    rogue = Rogue(switch.targets(targets), int(seed), switch, say)
    print("begins", flush=True)
    try:
        BEHAVIOUR_OF[behaviour](rogue)
    finally:
        rogue.close()


if __name__ == "__main__":
    main(sys.argv[1:])
