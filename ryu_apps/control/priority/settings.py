"""Settings of the PSO service from where Ryu keeps configuration (group [pso]) and from the environment."""

from __future__ import annotations

import os

from ryu_apps.control.configuration import configured_texts
from ryu_apps.control.priority.decide.settings import SETTINGS, PsoSettings, read_pso_settings

GROUP = "pso"


def load_pso_settings() -> PsoSettings:
    """What the user gave to this ryu-manager.

    Raises
    ------
    BadInputError
        A value cannot be used, or the group [pso] holds a name that is no setting.
    """
    return read_pso_settings(configured_texts(GROUP, {one.name: one.meaning for one in SETTINGS}), os.environ)
