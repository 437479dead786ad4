"""Settings from where Ryu keeps configuration (oslo.config, group [armor]) and from the environment."""

from __future__ import annotations

import configparser
import difflib
import os

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
        _refuse_unknown_names(path)
    return read_settings({one.name: configuration[GROUP][one.name] for one in SETTINGS}, os.environ)


def _refuse_unknown_names(path: str) -> None:
    """oslo.config takes a misspelt name in silence; we do not."""
    # Ryu's own settings stand in [DEFAULT]; they are not to be read into every group.
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True, default_section="no default")
    parser.read(path, encoding="utf-8")
    known = [one.name for one in SETTINGS]
    for name in parser.options(GROUP) if parser.has_section(GROUP) else ():
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}"
            raise BadInputError(f"{path}: [armor] has no setting {name!r}; {hint}")
