"""The Ryu side of a scheme's controller: an app of a few lines names its scheme, this class does the rest."""

from __future__ import annotations

import pkgutil
import sys
from typing import Any, ClassVar

from ryu import cfg
from ryu.controller import ofp_event
from ryu.controller.handler import DEAD_DISPATCHER, MAIN_DISPATCHER, set_ev_cls

from mininet_topos.errors import ArmorError
from mininet_topos.wording import sentence
from ryu_apps.control import rest
from ryu_apps.control.controller import Controller
from ryu_apps.control.datapath import MessageApp, MessageReceived, MessageRefused
from ryu_apps.control.decide.settings import ARMOR
from ryu_apps.control.faults import surfaced
from ryu_apps.control.listening import prepare_listening
from ryu_apps.control.metrics import metrics_registry
from ryu_apps.control.settings import load_settings
from ryu_apps.schemes import find_scheme


class PlanApp(MessageApp):
    """Installs the plans of one scheme and keeps the network at them.

    A subclass says which scheme, or else the setting `scheme`. Settings: ryu_apps/control/decide/settings.py and
    docs/controller.md.
    """

    scheme: ClassVar[str] = ""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        # A switch that has fallen silent is given up after some 20 s; Ryu alone would wait for ever.
        cfg.CONF.set_default("maximum_unreplied_echo_requests", 3)
        cfg.CONF.set_default("echo_request_interval", 5.0)
        try:
            prepare_listening()
            settings = load_settings(ARMOR)
            scheme = find_scheme(self.scheme or settings.scheme)
            controller_class: type[Controller] = pkgutil.resolve_name(scheme.controller)
            self.controller = controller_class(scheme, settings, self.logger)
            self.faults = self.controller.faults
            if settings.rest_port:
                resources = [pkgutil.resolve_name(each) for each in scheme.resources]
                registry = metrics_registry(self.controller, self.controller.events)
                self._rest = rest.serve(self.controller, resources, registry, settings)
        except ArmorError as error:
            print(f"armor: {sentence(error)}", file=sys.stderr)
            raise SystemExit(error.exit_code) from error

    def start(self) -> None:
        """Start Ryu's event loop and what the controller does by itself."""
        super().start()
        self.controller.start()

    @set_ev_cls(ofp_event.EventOFPStateChange, [MAIN_DISPATCHER, DEAD_DISPATCHER])
    @surfaced
    def switch_state_changed(self, event: Any) -> None:
        """A switch has connected, or its connection is gone."""
        if event.state == MAIN_DISPATCHER:
            self.controller.switch_connected(event.datapath)
        else:
            self.controller.switch_gone(event.datapath)

    @surfaced
    def message_received(self, event: MessageReceived) -> None:
        """A switch has sent something."""
        self.controller.message_received(event.datapath, event.received)

    def message_refused(self, event: MessageRefused) -> None:
        """A switch has sent what cannot be used."""
        self.controller.message_refused(event.datapath, event.what, event.text)
