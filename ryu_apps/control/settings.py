"""Settings from where Ryu keeps configuration (oslo.config) and from the environment."""

from __future__ import annotations

import os
from typing import Any, TypeVar

from mininet_topos.input_files import read_text
from ryu_apps.control.configuration import configured_texts
from ryu_apps.control.decide.peers import MAX_ALLOWED_BYTES, AllowList, read_allow_list
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


def load_setting(group: SettingGroup[Any], name: str) -> Any:
    """One setting of a group whose required settings nobody may have given, since its app does not run here.

    Raises
    ------
    BadInputError
        The value cannot be used, or the file's group holds a name that is no setting.
    """
    return group.read_one(name, configured_texts(group.name, group.meanings), os.environ)


def load_allow_list(path: str) -> AllowList | None:
    """The allow-list of a file; None without a file (`BadInputError` as `read_allow_list`, or it cannot be read)."""
    what = f"setting allowed_switches = {path!r}"
    return read_allow_list(read_text(path, what, MAX_ALLOWED_BYTES), path) if path else None
