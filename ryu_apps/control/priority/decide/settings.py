"""Settings of the PSO service: names, defaults, meaning, and the check of what the user gave.

An environment variable ARMOR_PSO_<NAME> wins over the group [pso] of ryu-manager's configuration file.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from mininet_topos.errors import BadInputError
from ryu_apps.control.decide.texts import check_template, whole_number
from ryu_apps.control.priority.decide.policies import POLICIES

ENVIRONMENT_PREFIX = "ARMOR_PSO_"


class Setting(NamedTuple):
    """One setting: name, default as text, meaning."""

    name: str
    default: str
    meaning: str


SETTINGS = (
    Setting("pmt", "", "Policy Map Table (YAML or JSON file); empty: plain Ryu"),
    Setting("scheduler", "strict", f"{', '.join(POLICIES)}"),
    Setting("shares", "", "weights, or percents of min-rate, by class: 1:8,2:4,0:1"),
    Setting("receive_queue", "4096", "messages of all switches that may wait before they are parsed"),
    Setting("app_queue", "1024", "events that may wait for one app"),
    Setting("send_queue", "1024", "messages that may wait for one switch"),
    Setting("metrics_host", "127.0.0.1", "address of GET /metrics and GET /pso"),
    Setting("metrics_port", "9653", "its port; 0: none"),
    Setting("report_s", "0", "seconds between tables of counters in the log; 0: none"),
    Setting("switch_db", "", "database of a switch that gets the table, e.g. tcp:{control_ip}:6641; empty: none"),
)
MAX_QUEUE = 1_000_000


@dataclass(frozen=True)
class PsoSettings:
    """Settings of the service; `SETTINGS` says what each value means."""

    pmt: str = ""
    scheduler: str = "strict"
    shares: Mapping[int, float] = field(default_factory=dict)
    receive_queue: int = 4096
    app_queue: int = 1024
    send_queue: int = 1024
    metrics_host: str = "127.0.0.1"
    metrics_port: int = 9653
    report_s: float = 0.0
    switch_db: str = ""

    def database_of(self, control_ip: str) -> str:
        """Database of the switch with an address ("" when none is to be written)."""
        return self.switch_db.format(control_ip=control_ip)


def read_pso_settings(configured: Mapping[str, str | None], environment: Mapping[str, str]) -> PsoSettings:
    """Settings from the configuration file's texts and the environment.

    Parameters
    ----------
    configured
        By setting name; None or missing: not given.

    Raises
    ------
    BadInputError
        A name or a value cannot be used.
    """
    known = {ENVIRONMENT_PREFIX + each.name.upper(): each for each in SETTINGS}
    for name in environment:
        if name.startswith(ENVIRONMENT_PREFIX) and name not in known:
            raise BadInputError(f"{name} is no setting of PSO; known: {', '.join(known)}")
    texts = {
        each.name: (environment.get(name) or configured.get(each.name) or each.default).strip()
        for name, each in known.items()
    }
    if texts["scheduler"] not in POLICIES:
        raise BadInputError(f"scheduler {texts['scheduler']!r} is not known; use {', '.join(POLICIES)}")
    return PsoSettings(
        pmt=texts["pmt"],
        scheduler=texts["scheduler"],
        shares=_shares(texts["shares"]),
        receive_queue=whole_number("receive_queue", texts["receive_queue"], MAX_QUEUE, lowest=1),
        app_queue=whole_number("app_queue", texts["app_queue"], MAX_QUEUE, lowest=1),
        send_queue=whole_number("send_queue", texts["send_queue"], MAX_QUEUE, lowest=1),
        metrics_host=texts["metrics_host"],
        metrics_port=whole_number("metrics_port", texts["metrics_port"], 65535),
        report_s=_seconds("report_s", texts["report_s"]),
        switch_db=_database(texts["switch_db"]),
    )


def _seconds(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e9:
        raise BadInputError(f"{name} is {text!r}; give seconds, at least 0")
    return value


def _shares(text: str) -> dict[int, float]:
    shares: dict[int, float] = {}
    for part in text.split(",") if text else ():
        class_id, _, share = part.partition(":")
        try:
            shares[int(class_id)] = float(share)
        except ValueError:
            share = "nan"
        if not 0 < float(share) < math.inf:
            raise BadInputError(f"shares has {part!r}; write CLASS:SHARE,CLASS:SHARE, for example 1:8,2:4")
    return shares


def _database(text: str) -> str:
    filled = check_template("switch_db", text, ("control_ip",))
    if filled and not filled.startswith(("unix:", "tcp:")):
        raise BadInputError(f"switch_db is {text!r}; write unix:PATH or tcp:HOST:PORT")
    return text
