"""A live session: one network or two side by side, and the page that shows and fails them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack

from emulation.scratch import scratch
from experiments.live.decide.document import Document, to_json
from experiments.live.decide.places import topology_view
from experiments.live.network import LiveNetwork, work_in
from experiments.live.web_process import WebProcess
from experiments.scenario.values import Scenario
from experiments.testbed.runs.run import Planned

Say = Callable[[str], None]
LOOK_S = 0.5
_NAP_S = 0.02


def run_session(
    scenario: Scenario, planned: Planned, pairs: Sequence[tuple[str, str]], port: int, announce: Say, *, say: Say
) -> None:
    """Build the networks, and serve their page until Ctrl-C.

    Parameters
    ----------
    planned
        From `plan_scenario`: a network for each.
    pairs
        Switches whose hosts ping each other.
    announce
        Called with the page's address, before anything is built.
    say
        Called with what is going on.

    Raises
    ------
    ArmorError
        A network cannot be built, or the web server has ended.
    """
    with scratch("armor live") as place, ExitStack() as stack:
        networks = [
            LiveNetwork(scenario, entry, work_in(place.folder, entry[0].name), pairs) for entry in planned.items()
        ]
        views = tuple(network.view for network in networks)
        title = " beside ".join(view.name for view in views)
        document = to_json(Document(title, "live", topology_view(scenario.topology), views))
        web = stack.enter_context(WebProcess(document, port))
        announce(web.url)
        for network in networks:
            stack.callback(network.close)
            network.start(say)
        say("running; Ctrl-C ends it")
        _refuse_waiting(web)
        while True:
            _look(networks, web)
            _act_until(time.monotonic() + LOOK_S, networks, web)


def _look(networks: Sequence[LiveNetwork], web: WebProcess) -> None:
    for number, network in enumerate(networks):
        web.publish(number, network.look())


def _act_until(end_s: float, networks: Sequence[LiveNetwork], web: WebProcess) -> None:
    """Carry out what pages ask for, in every network alike."""
    while time.monotonic() < end_s:
        asked = web.asked()
        if asked is None:
            time.sleep(_NAP_S)
            continue
        errors = [error for network in networks if (error := network.act(asked.wanted))]
        web.answer(asked.number, errors[0] if errors else "")


def _refuse_waiting(web: WebProcess) -> None:
    """What was asked while nothing was there is not done later."""
    while (asked := web.asked()) is not None:
        web.answer(asked.number, "the network was still being built; ask again")
