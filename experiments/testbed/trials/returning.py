"""How a network comes back after a trial: BFD up everywhere, and every switch with the rows of its plan."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from emulation.network import EmulatedNetwork
from experiments.testbed.instruments.dump import fingerprint
from experiments.testbed.runs.readiness import missing_after, unlike_plan
from mininet_topos.errors import ArmorError
from ryu_apps.plan.rows import RulePlan

_RETURN_S, _RETURN_POLL_S = 25.0, 0.1


@dataclass(frozen=True)
class Return:
    """How a network returned after a trial: seconds from the repair on, and what is wrong (empty: nothing)."""

    seconds: float
    wrong: str = ""


class Returning:
    """Knows what the switches of a network held when nothing was broken yet.

    Parameters
    ----------
    network
        Entered, with its plans installed.
    """

    def __init__(self, network: EmulatedNetwork, plans: Mapping[int, RulePlan]) -> None:
        self._network, self._plans = network, plans
        self._clean = {node: fingerprint(site.mgmt_socket) for node, site in network.sites.items()}

    def wait(self) -> Return:
        """Wait until BFD is up and every switch holds its plan again, after a repair.

        A network that does not return is no fault of the trial before: it is reported, not raised.
        """
        began_s = time.monotonic()
        try:
            self._network.wait_bfd_up(_RETURN_S)
            wrong = self._wait_clean(began_s)
        except ArmorError as error:
            wrong = str(error)
        return Return(time.monotonic() - began_s, wrong)

    def _wait_clean(self, began_s: float) -> str:
        """What is wrong with the switches' rows in the end; empty: nothing."""
        left_s = began_s + _RETURN_S - time.monotonic()
        wrong = missing_after(self._not_returned, left_s, _RETURN_POLL_S)
        return f"{', '.join(wrong[:5])} did not return to their plans in {_RETURN_S:.0f} s" if wrong else ""

    def _not_returned(self) -> list[str]:
        return [node for node in self._network.sites if not self._is_clean(node)]

    def _is_clean(self, node: str) -> bool:
        """Equal bytes are equal rows; the same rows in other words are compared as values."""
        site = self._network.sites[node]
        now = fingerprint(site.mgmt_socket)
        if now == self._clean[node]:
            return True
        if len(now) != len(self._clean[node]):
            return False
        return not unlike_plan(site, self._plans[site.dpid])
