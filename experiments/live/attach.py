"""Looks at a running controller over its REST interface, and shows its network; changes nothing."""

from __future__ import annotations

import http.client
import json
import threading
import time
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from http import HTTPStatus
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit

from dataplane.model.marking import Marking
from experiments.analysis.crankback import longest_crankback
from experiments.live.decide.document import Document, RunView, changes, to_json
from experiments.live.decide.places import topology_view
from experiments.live.decide.rest_seen import away, is_same_network, seen, topology_of
from experiments.live.decide.running import PathsOf, Seen, advanced, first_view
from experiments.live.hub import Hub
from experiments.live.walks import PlanWalks, network_walks
from experiments.scenario.targets import read_pair
from mininet_topos import toy
from mininet_topos.catalogue import CATALOGUE
from mininet_topos.errors import BadInputError, MissingRequirementError, TopologyError
from mininet_topos.topology import Topology
from ryu_apps.plan.options import PlanOptions

Json = dict[str, Any]
LOOK_S = 0.5
_ANSWER_S = 5.0
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_ODD = (LookupError, TypeError, AttributeError, ValueError, TopologyError)  # what answers of another shape lead to
_RESOURCES = {"topology": "topology", "knowledge": "knowledge", "ports": "statistics/ports"}


class ControllerGoneError(MissingRequirementError):
    """The controller does not answer."""


class Controller:
    """The REST interface of a controller.

    Parameters
    ----------
    url
        Such as http://127.0.0.1:8080.
    headers
        Sent with each request: the token.

    Raises
    ------
    BadInputError
        It is no HTTP address.
    """

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        try:
            parts = urlsplit(url)
        except ValueError:  # brackets of IPv6 that do not close
            parts = urlsplit("")
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise BadInputError(f"--attach {url!r} is no address; write it as http://127.0.0.1:8080")
        self.is_local = parts.hostname in _LOOPBACK
        self.url, self._headers = url.rstrip("/"), dict(headers)

    def get(self, resource: str) -> Json:
        """JSON of /armor/RESOURCE.

        Raises
        ------
        ControllerGoneError
            It does not answer, or not with a JSON object.
        """
        address = f"{self.url}/armor/{resource}"
        try:
            request = urllib.request.Request(address, headers=self._headers)
            with urllib.request.urlopen(request, timeout=_ANSWER_S) as answer:
                value = json.load(answer)
        except HTTPError as error:
            if error.code != HTTPStatus.UNAUTHORIZED:
                raise ControllerGoneError(
                    f"{address} answers {error.code} {error.reason}; is it an Armor app?"
                ) from error
            raise ControllerGoneError(f"{address} asks for its token; give the right one with --token-file") from error
        except (OSError, ValueError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", error)
            raise ControllerGoneError(f"{address} does not answer ({reason}); is a controller app running?") from error
        if not isinstance(value, dict):
            raise ControllerGoneError(f"{address} gives no JSON object; is it an Armor app?")
        return value


class Attached:
    """A page that follows a controller.

    Parameters
    ----------
    pairs
        Hosts whose paths are shown, as "h4,h10"; none: the pair whose packets can backtrack farthest, both directions.
    """

    def __init__(self, controller: Controller, pairs: Sequence[str]) -> None:
        self._controller, self._zero_s = controller, time.monotonic()
        state = controller.get("state")
        try:
            reported = controller.get("topology")
            self._topology = _known_topology(topology_of(reported))
            walks = _walks(self._topology, state)
        except _ODD as error:
            raise _unexpected(controller, error) from error
        self._before = Seen(0.0, away=away(reported))
        shown = shown_pairs(self._topology, pairs)
        options = state.get("options", {})
        self._paths_of: PathsOf = walks.one
        paths = {pair: walks.every(pair) for pair in shown}
        self._run = first_view("attached", str(state["scheme"]), str(options.get("mode", "")), paths)
        view = topology_view(self._topology)
        document = Document(controller.url, "attached", view, (self._run,), (("controller", controller.url),))
        self.hub = Hub(to_json(document))

    def look(self) -> None:
        """Look once, and let the pages know what has changed.

        Raises
        ------
        ControllerGoneError
            The controller does not answer, or not as this version expects.
        """
        answers = {name: self._controller.get(resource) for name, resource in _RESOURCES.items()}
        t_ms = 1000 * (time.monotonic() - self._zero_s)
        try:
            now = seen(self._topology, answers, t_ms, self._zero_s if self._controller.is_local else None)
        except _ODD as error:
            raise _unexpected(self._controller, error) from error
        self._show(advanced(self._run, self._topology, self._before, now, self._paths_of))
        self._before = now

    def _show(self, run: RunView) -> None:
        self.hub.publish(changes(self._run, run))
        self._run = run

    def follow(self, ended: threading.Event) -> None:
        """Look again and again until `ended`; a controller that does not answer is waited for."""
        while not ended.wait(LOOK_S):
            error = self._try()
            self._show(replace(self._run, error=error))

    def _try(self) -> str:
        """Look; returns why that was not possible, or nothing."""
        try:
            self.look()
        except ControllerGoneError as error:
            return str(error)
        return ""


def _unexpected(controller: Controller, error: Exception) -> ControllerGoneError:
    what = f"{type(error).__name__}: {error}"
    return ControllerGoneError(f"{controller.url} answers in a shape that this version does not know ({what})")


def _known_topology(reported: Topology) -> Topology:
    """The catalogue's topology of this name, which has places and capacities, if it is the same network."""
    build = CATALOGUE.get(reported.name) or toy.TOYS.get(reported.name)
    known = reported if build is None else build()
    return known if is_same_network(known, reported) else reported


def _walks(topology: Topology, state: Json) -> PlanWalks:
    names = {each.name for each in fields(PlanOptions)} - {"protection"}
    given = {name: value for name, value in state.get("options", {}).items() if name in names}
    given["replayed"] = tuple(given.get("replayed", ()))
    given["marked"] = Marking(**{name: tuple(values) for name, values in given.get("marked", {}).items()})
    return PlanWalks(network_walks(topology, str(state["scheme"]), PlanOptions(**given)))


def shown_pairs(topology: Topology, given: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Switches of the pairs that a page shows, both directions of each.

    Parameters
    ----------
    given
        Hosts, as "h4,h10"; none: the pair whose packets can backtrack farthest.

    Raises
    ------
    BadInputError
        There is no such host, or no pair can recover from a failure.
    """
    pairs = [read_pair("--pair", each, topology) for each in given]
    if not pairs:
        case = longest_crankback(topology)
        pairs = [(case.source, case.destination)]
    return tuple(dict.fromkeys(each for one, other in pairs for each in ((one, other), (other, one))))
