"""Settings of the PSO service: group [pso] of the configuration file, or ARMOR_PSO_<NAME>."""

from __future__ import annotations

from dataclasses import dataclass

from ryu_apps.control.decide.setting_group import (
    Setting,
    SettingGroup,
    database_of,
    port,
    seconds,
    text,
    whole_between,
)


@dataclass(frozen=True)
class PsoSettings:
    """Settings of the service; `PSO` says what each value means."""

    pmt: str = ""
    receive_queue: int = 4096
    app_queue: int = 1024
    send_queue: int = 1024
    metrics_host: str = "127.0.0.1"
    metrics_port: int = 9653
    metrics_token_file: str = ""
    report_s: float = 0.0
    switch_db: str = ""

    def database_of(self, control_ip: str) -> str:
        """Database of the switch with an address ("" when none is to be written)."""
        return self.switch_db.format(control_ip=control_ip)


_QUEUE = whole_between(1, 1_000_000)
PSO = SettingGroup(
    "pso",
    "ARMOR_PSO_",
    (
        Setting("pmt", text, "", "Policy Map Table (YAML or JSON file); empty: plain Ryu"),
        Setting("receive_queue", _QUEUE, "4096", "messages of all switches that may wait before they are parsed"),
        Setting("app_queue", _QUEUE, "1024", "events that may wait for one app"),
        Setting("send_queue", _QUEUE, "1024", "messages that may wait for one switch"),
        Setting("metrics_host", text, "127.0.0.1", "address of GET /metrics and GET /pso"),
        Setting("metrics_port", port, "9653", "its port; 0: none"),
        Setting(
            "metrics_token_file", text, "", "token of requests; empty: none on loopback, else ~/.armor/rest-PORT.token"
        ),
        Setting("report_s", seconds, "0", "seconds between tables of counters in the log; 0: none"),
        Setting(
            "switch_db",
            database_of("control_ip"),
            "",
            "database of a switch that gets the table, e.g. tcp:{control_ip}:6641; empty: none",
        ),
    ),
    PsoSettings,
)
