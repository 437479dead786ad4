"""The process in which a controller has traffic engineering computed (engineer.py).

python -m ryu_apps.control.engineer_process < question.json

A controller of an emulation has real-time priority, which its children inherit. A solver computes for seconds, on
several processors, and would keep switches and hosts from them; so it leaves that priority before it loads anything.
"""

from __future__ import annotations

import os
import sys

from machine.ending import end_with_parent


def take_ordinary_turns() -> None:
    """Leave a real-time priority, if there is one."""
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def main() -> int:
    """Answer the question on standard input."""
    take_ordinary_turns()
    end_with_parent(os.getppid())  # the caller may be killed, and then nobody limits the time of the solver
    from ryu_apps.control.engineer import main as answer  # seconds of loading, already at ordinary priority

    return answer()


if __name__ == "__main__":
    sys.exit(main())
