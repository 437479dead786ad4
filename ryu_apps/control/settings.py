"""Settings from where Ryu keeps configuration (oslo.config, group [armor]) and from the environment."""

from __future__ import annotations

import configparser
import difflib
import os
from collections.abc import Sequence

from ryu import cfg

from mininet_topos.errors import BadInputError
from ryu_apps.control.settings_core import SETTINGS, Settings, read_settings

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


def refuse_unknown_names(path: str, group: str, known: Sequence[str]) -> None:
    """Complain of a name in a group of a configuration file; oslo.config takes a misspelt one in silence.

    Raises
    ------
    BadInputError
        The name is no setting.
    """
    # Ryu's own settings stand in [DEFAULT]; they are not to be read into every group.
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True, default_section="no default")
    parser.read(path, encoding="utf-8")
    for name in parser.options(group) if parser.has_section(group) else ():
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}"
            raise BadInputError(f"{path}: [{group}] has no setting {name!r}; {hint}")
