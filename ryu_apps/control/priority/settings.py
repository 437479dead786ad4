"""Settings of the PSO service from where Ryu keeps configuration (group [pso]) and from the environment."""

from __future__ import annotations

import os

from ryu import cfg

from ryu_apps.control.configuration import refuse_unknown_names
from ryu_apps.control.priority.decide.settings import SETTINGS, PsoSettings, read_pso_settings

GROUP = "pso"


def load_pso_settings() -> PsoSettings:
    """What the user gave to this ryu-manager.

    Raises
    ------
    BadInputError
        A value cannot be used, or the group [pso] holds a name that is no setting.
    """
    configuration = cfg.CONF
    configuration.register_opts([cfg.StrOpt(one.name, help=one.meaning) for one in SETTINGS], group=GROUP)
    names = [one.name for one in SETTINGS]
    for path in configuration.config_file or ():
        refuse_unknown_names(path, GROUP, names)
    return read_pso_settings({name: configuration[GROUP][name] for name in names}, os.environ)
