"""The Ryu side of the PSO service: reads its settings, installs it, answers about it."""

from __future__ import annotations

import logging
import sys
from typing import Any

from ryu.base import app_manager
from ryu.lib import hub

from mininet_topos.errors import ArmorError
from mininet_topos.wording import sentence
from ryu_apps.control.decide.settings import ARMOR
from ryu_apps.control.listening import listen_address, prepare_listening
from ryu_apps.control.priority.decide.channels import class_order
from ryu_apps.control.priority.decide.counters import live_table
from ryu_apps.control.priority.decide.settings import PSO, PsoSettings
from ryu_apps.control.priority.metrics import serve_metrics
from ryu_apps.control.priority.service import PsoService
from ryu_apps.control.settings import load_allow_list, load_setting, load_settings
from ryu_apps.pmt.parse import load_pmt
from ryu_apps.pmt.rules import PolicyMapTable

LOG = logging.getLogger("pso")


class PsoApp(app_manager.RyuApp):
    """Installs the service when there is a table with rules; else Ryu stays as it is."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.service: PsoService | None = None
        try:
            prepare_listening()
            settings = load_settings(PSO)
            table = read_table(settings)
            if table.rules:
                allow_list = load_allow_list(load_setting(ARMOR, "allowed_switches"))
                self.service = PsoService(table, settings, listen_address(), allow_list)
                self.service.install()
                if settings.metrics_port:
                    serve_metrics(self.service, settings)
        except ArmorError as error:
            _leave(error)

    def start(self) -> None:
        """Start Ryu's event loop, and what serves the classes."""
        super().start()
        if self.service is None:
            return
        try:
            self.service.start()
        except ArmorError as error:
            _leave(error)
        if self.service.settings.report_s:
            hub.spawn(self._report, self.service)

    def _report(self, service: PsoService) -> None:
        while True:
            hub.sleep(service.settings.report_s)
            LOG.info("classes\n%s", live_table(service.counters, service.table.class_names, class_order(service.table)))


def read_table(settings: PsoSettings) -> PolicyMapTable:
    """The table that the settings name; one without rules when they name none.

    Raises
    ------
    BadInputError
        The file cannot be read or is no PMT.
    """
    if not settings.pmt:
        return PolicyMapTable()
    return load_pmt(settings.pmt, f"ARMOR_PSO_PMT: the PMT {settings.pmt}")


def _leave(error: ArmorError) -> None:
    print(f"armor: {sentence(error)}", file=sys.stderr)
    raise SystemExit(error.exit_code) from error
