"""The texts of settings from where Ryu keeps configuration (oslo.config), for all services."""

from __future__ import annotations

import configparser
import difflib
from collections.abc import Mapping, Sequence

from ryu import cfg

from mininet_topos.errors import BadInputError
from mininet_topos.wording import one_line


def configured_texts(group: str, meanings: Mapping[str, str]) -> dict[str, str | None]:
    """What the configuration file of this ryu-manager gives to settings; None: nothing.

    Parameters
    ----------
    group
        Of the file.
    meanings
        What each setting is, by its name.

    Raises
    ------
    BadInputError
        The group holds a name that is no setting.
    """
    configuration = cfg.CONF
    configuration.register_opts([cfg.StrOpt(name, help=meaning) for name, meaning in meanings.items()], group=group)
    for path in configuration.config_file or ():
        refuse_unknown_names(path, group, list(meanings))
    return {name: configuration[group][name] for name in meanings}


def refuse_unknown_names(path: str, group: str, known: Sequence[str]) -> None:
    """Complain of a name in a group of a configuration file; oslo.config takes a misspelt one in silence.

    Raises
    ------
    BadInputError
        The name is no setting.
    """
    # Ryu's own settings stand in [DEFAULT]; they are not to be read into every group.
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True, default_section="no default")
    try:
        parser.read(path, encoding="utf-8")
    except (configparser.Error, UnicodeDecodeError) as error:
        raise BadInputError(f"{path} is no configuration file ({one_line(str(error))}); correct it") from error
    for name in parser.options(group) if parser.has_section(group) else ():
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}"
            raise BadInputError(f"{path}: [{group}] has no setting {name!r}; {hint}")
