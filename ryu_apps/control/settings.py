"""Settings from where Ryu keeps configuration (oslo.config, group [armor]) and from the environment."""

from __future__ import annotations

import os

from ryu import cfg

from ryu_apps.control.configuration import refuse_unknown_names
from ryu_apps.control.decide.settings import SETTINGS, Settings, read_settings

GROUP = "armor"


def load_settings() -> Settings:
    """What the user gave to this ryu-manager.

    Raises
    ------
    BadInputError
        The topology is missing, a value cannot be used, or the group [armor] holds a name that is no setting.
    """
    configuration = cfg.CONF
    configuration.register_opts([cfg.StrOpt(one.name, help=one.meaning) for one in SETTINGS], group=GROUP)
    for path in configuration.config_file or ():
        refuse_unknown_names(path, GROUP, [one.name for one in SETTINGS])
    return read_settings({one.name: configuration[GROUP][one.name] for one in SETTINGS}, os.environ)
