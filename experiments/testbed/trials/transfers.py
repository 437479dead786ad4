"""TCP by iperf3 between two hosts: pairs of a client and a server at once, each with parallel flows."""

from __future__ import annotations

import subprocess
from contextlib import ExitStack

from experiments.campaign.kinds.paths import GoodputMeasured
from experiments.testbed.trials.decide.paths import PathsError, read_iperf
from machine.places import child, inside

FIRST_PORT = 5201
_SPARE_S = 20.0


def transfer(places: tuple[int, int], address: str, pairs: int, flows: int, seconds: float) -> list[GoodputMeasured]:
    """Goodput of each pair; pair k uses port `FIRST_PORT` + k.

    Parameters
    ----------
    places : (int, int)
        Processes in the namespaces of the clients and of the servers.
    address
        Of the servers.
    flows
        Of each pair.

    Raises
    ------
    PathsError
        iperf3 says no result.
    """
    ports = [str(FIRST_PORT + number) for number in range(pairs)]
    with ExitStack() as stack:
        for port in ports:
            server = ["iperf3", "-s", "-1", "-p", port, "-B", address, "--forceflush"]
            _wait_for_words(stack.enter_context(child(inside(places[1], server))), "listening")
        wanted = ["-t", f"{seconds:g}", "-P", str(flows), "-J"]
        words = [["iperf3", "-c", address, "-p", port, *wanted] for port in ports]
        clients = [stack.enter_context(child(inside(places[0], each))) for each in words]
        return [read_iperf(client.communicate(timeout=seconds + _SPARE_S)[0]) for client in clients]


def _wait_for_words(process: subprocess.Popen[str], words: str) -> None:
    for line in process.stdout or ():
        if words in line:
            return
    raise PathsError(f"iperf3 ended before it said {words!r}; is its port taken?")
