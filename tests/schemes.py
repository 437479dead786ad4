"""What tests ask about schemes: numbers of their rows, and the modes to plan in."""

from __future__ import annotations

from ryu_apps.plan.choices import DEFAULT_MODE
from ryu_apps.plan.scheme import Scheme
from ryu_apps.schemes import find_scheme

FIRST_OUTSIDE = 128  # numbers of schemes that installed packages bring


def number_of(name: str) -> int:
    """Owner of a scheme's rows."""
    number = find_scheme(name).number
    assert number is not None
    return number


def modes_of(scheme: Scheme) -> tuple[str, ...]:
    """Modes that change a scheme's plans; the default where none does."""
    return tuple(mode.name for mode in scheme.modes) or (DEFAULT_MODE,)


SDFAST, FFG, SHORTEST, CB, CBC, KUIJIA, RESCALING, RESTORATION, FFG_RESTORATION = map(
    number_of,
    ("sdfast", "ffg", "shortest", "cb", "cbc", "kuijia", "rescaling", "restoration", "ffg_restoration"),
)
