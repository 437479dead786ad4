"""When the agent goes before other processes: while it may have to meet a failure, not while it prepares for one.

A switch that forwards in user space with real-time priority leaves an ordinary process nothing while packets come
in bursts, and a failure is such a burst: every tagged packet waits for the agent. So the agent asks for the lowest
real-time priority too, and lays it down for work that takes long and can wait.
"""

from __future__ import annotations

import os


class Urgency:
    """Priority of this process.

    Parameters
    ----------
    wanted
        Whether to ask for real-time priority; `is_granted` says whether the system allows it (CAP_SYS_NICE).
    """

    def __init__(self, wanted: bool) -> None:
        self._is_urgent = False
        self.is_granted = wanted
        if wanted:
            try:
                self.set(True)
                self.set(False)
            except PermissionError:
                self.is_granted = False

    def set(self, urgent: bool) -> None:
        """Take real-time priority up, or lay it down; nothing happens where it is not granted."""
        if self.is_granted and urgent != self._is_urgent:
            policy, priority = (os.SCHED_RR, 1) if urgent else (os.SCHED_OTHER, 0)
            os.sched_setscheduler(0, policy, os.sched_param(priority))
            self._is_urgent = urgent
