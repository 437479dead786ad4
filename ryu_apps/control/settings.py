"""Settings from where Ryu keeps configuration (oslo.config, group [armor]) and from the environment."""

from __future__ import annotations

import os

from ryu_apps.control.configuration import configured_texts
from ryu_apps.control.decide.settings import SETTINGS, Settings, read_settings

GROUP = "armor"


def load_settings() -> Settings:
    """What the user gave to this ryu-manager.

    Raises
    ------
    BadInputError
        The topology is missing, a value cannot be used, or the group [armor] holds a name that is no setting.
    """
    return read_settings(configured_texts(GROUP, {one.name: one.meaning for one in SETTINGS}), os.environ)
