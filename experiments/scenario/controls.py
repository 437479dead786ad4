"""The key `controls` of a scenario: runs that must lose packets, or what it breaks was not met at all."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from experiments.scenario.fields import (
    Context,
    known_keys,
    mapping,
    number,
    one_of,
    optional,
    sequence,
    whole_number,
    word,
)
from experiments.scenario.replay import SETTINGS, with_settings
from experiments.scenario.values import Control, Variation
from mininet_topos.lines import Line

KEYS = ("scheme", "name", "packets", "outage_percent", *SETTINGS)
_VARIANT_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,30}")
MAX_PERCENT = 1000.0

Controls = tuple[tuple[Control, ...], tuple[Variation, ...]]


def read_controls(context: Context, line: Line | None, variations: Sequence[Variation]) -> Controls:
    """Controls of a scenario, and its variations with the runs that controls add.

    A control with settings of SQR is a run of its own beside that of its scheme, and is called by its name.

    Raises
    ------
    BadInputError
        A control of a scheme that does not run, without a number that says what it loses, or with settings and no name.
    """
    controls: list[Control] = []
    found = list(variations)
    for entry in () if line is None else sequence(context, line, "controls"):
        control, variants = _control(context, entry, variations)
        if any((each.scheme, each.variant) == (control.scheme, control.variant) for each in controls):
            raise context.error(entry, f"a control of {control.run!r} stands twice; keep one of them")
        controls.append(control)
        found += variants
    return tuple(controls), tuple(found)


def control_to_document(control: Control) -> dict[str, object]:
    """The entry that gives a control back."""
    document: dict[str, object] = {"scheme": control.scheme, "packets": control.packets}
    if control.outage_percent is not None:
        document["outage_percent"] = list(control.outage_percent)
    if control.replay is not None:
        document |= {"name": control.variant, **{key: getattr(control.replay, key) for key in SETTINGS}}
    return {key: value for key, value in document.items() if value is not None}


def _control(context: Context, entry: Line, variations: Sequence[Variation]) -> tuple[Control, list[Variation]]:
    fields = mapping(context, entry, "a control")
    known_keys(context, fields, KEYS, "a control")
    if "scheme" not in fields:
        raise context.error(entry, "a control needs the scheme that must lose; add for example 'scheme: shortest'")
    schemes = tuple(dict.fromkeys(each.scheme for each in variations))
    scheme = one_of(schemes)(context, fields["scheme"], "scheme")
    packets = optional(fields, "packets", whole_number(1), context)
    percent = _percent(context, fields.get("outage_percent"))
    if (packets is None) == (percent is None):
        raise context.error(entry, "a control says what is lost; give either packets or outage_percent")
    changed = [key for key in SETTINGS if key in fields]
    if not changed:
        if "name" in fields:
            raise context.error(fields["name"], f"a name is for settings of SQR; give one of {', '.join(SETTINGS)}")
        return Control(scheme, packets=packets, outage_percent=percent), []
    alike = [each for each in variations if each.scheme == scheme and each.replay is not None]
    if not alike or alike[0].replay is None:
        raise context.error(fields[changed[0]], f"{changed[0]} is for schemes that keep packets, not for {scheme!r}")
    kept = with_settings(context, fields, alike[0].replay)
    control = Control(scheme, _name(context, entry, fields.get("name")), kept, packets, percent)
    return control, [replace(each, variant=control.variant, replay=kept) for each in alike]


def _name(context: Context, entry: Line, line: Line | None) -> str:
    if line is None:
        raise context.error(entry, "a control with settings is a run of its own; give it a name")
    name = word(context, line, "name")
    if not _VARIANT_NAME.fullmatch(name):
        raise context.error(line, f"name {name!r} becomes the name of a folder; use small letters, digits and '-'")
    return name


def _percent(context: Context, line: Line | None) -> tuple[float, float] | None:
    if line is None:
        return None
    entries = sequence(context, line, "outage_percent")
    if len(entries) != 2:
        raise context.error(line, f"outage_percent has {len(entries)} entries; give the lowest and the highest")
    low, high = (number(0, highest=MAX_PERCENT)(context, entry, "outage_percent") for entry in entries)
    if not 0 < low <= high:
        raise context.error(
            line, f"outage_percent is {low:g} to {high:g}; give two numbers above 0, the lower one first"
        )
    return low, high
