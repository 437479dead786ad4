"""Settings from where Ryu keeps configuration (oslo.config) and from the environment."""

from __future__ import annotations

import os
from typing import TypeVar

from ryu_apps.control.configuration import configured_texts
from ryu_apps.control.decide.setting_group import SettingGroup

Value = TypeVar("Value")


def load_settings(group: SettingGroup[Value]) -> Value:
    """What the user gave to this ryu-manager.

    Raises
    ------
    BadInputError
        A required setting is missing, a value cannot be used, or the file's group holds a name that is no setting.
    """
    return group.read(configured_texts(group.name, group.meanings), os.environ)
