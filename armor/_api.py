"""What `import armor` offers: names of other modules, and thin functions over them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike, fspath

from armor._results import comparison_frame, load_claims, load_probes, load_rows, redraw, reproduce, run
from experiments.comparison.compare import Compared, compare_schemes, modes_of, schemes_named
from experiments.comparison.decide.row import Row
from experiments.verify.result import VerifyResult
from experiments.verify.verify import Request, masks_of, verify_scheme
from mininet_topos import catalogue
from mininet_topos.catalogue import list_topologies
from mininet_topos.connectivity import require_connected
from mininet_topos.errors import ArmorError, BadInputError, MissingRequirementError
from mininet_topos.topology import Direction, Link, LinkId, Node, Topology
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.rows import FlowRow, GroupRow, RulePlan
from ryu_apps.plan.scheme import Scheme
from ryu_apps.schemes import all_schemes, find_scheme, plan_network

__all__ = [
    "ArmorError",
    "BadInputError",
    "Compared",
    "Direction",
    "FlowRow",
    "GroupRow",
    "Link",
    "LinkId",
    "MissingRequirementError",
    "Node",
    "PlanOptions",
    "Row",
    "RulePlan",
    "Scheme",
    "Topology",
    "VerifyResult",
    "all_schemes",
    "compare",
    "comparison_frame",
    "find_scheme",
    "list_topologies",
    "load_claims",
    "load_probes",
    "load_rows",
    "load_topology",
    "plan",
    "redraw",
    "reproduce",
    "run",
    "verify",
]

Network = Topology | str | PathLike[str]
"""A topology, or what `load_topology` takes."""
_DEFAULT = PlanOptions()


def load_topology(name_or_path: str | PathLike[str]) -> Topology:
    """Topology of a name, a generator's specification, or a file.

    Parameters
    ----------
    name_or_path
        "darkstrand", "grid:4x5", or a .graphml, .json or .gml file; `list_topologies` shows names and generators.

    Raises
    ------
    BadInputError
        Unknown name (close names are suggested), or a file that is missing, unreadable, broken or no topology.
    """
    return catalogue.load_topology(fspath(name_or_path))


def plan(topology: Network, scheme: str = "sdfast", options: PlanOptions = _DEFAULT) -> dict[str, RulePlan]:
    """Rows and groups of each switch, by the names of the nodes, as `armor plan` prints them.

    Raises
    ------
    BadInputError
        Unknown scheme, one of tunnels (`armor plan kuijia` takes their demands), options that do not go together, or a
        topology in parts.
    """
    plans = plan_network(scheme, _connected(topology), options)
    return {each.node: each for each in plans.values()}


def verify(
    topology: Network,
    scheme: str = "sdfast",
    options: PlanOptions = _DEFAULT,
    *,
    failures: int = 1,
    nodes: bool = False,
    sample: int | None = None,
    seed: int = 1,
    jobs: int | None = None,
) -> VerifyResult:
    """Walk every failure case of a scheme through the interpreter, as `armor verify`.

    Parameters
    ----------
    failures
        Links that fail at once, or switches.
    nodes
        Switches fail, each with all its links.
    sample
        Sets of failed links to draw; None = all.
    seed
        Seed of the draw.
    jobs
        Processes at most; None: as many as pay. The result is the same for any number.

    Raises
    ------
    BadInputError
        As `plan`; failures or sample out of range; a scheme of single flows or links, such as "protect".
    """
    (found,) = schemes_named([scheme])
    request = Request(_connected(topology), found.name, options, failures, sample, seed, nodes)
    return verify_scheme(request, jobs)


def compare(
    topology: Network,
    schemes: Sequence[str] = (),
    options: PlanOptions = _DEFAULT,
    *,
    mode: str | None = None,
    failures: Sequence[int] = (1,),
    sample: int | None = None,
    seed: int = 1,
    jobs: int | None = None,
) -> Compared:
    """Put recovery schemes side by side, as `armor compare` does.

    Parameters
    ----------
    schemes
        Their names; empty: all that serve pairs of hosts.
    mode
        One of a scheme's modes; None: each.
    failures
        Numbers of links that fail at once.
    sample, seed, jobs
        As of `verify`.

    Returns
    -------
    A row for each scheme, mode, number of failures and stage, and sentences about broken promises.

    Raises
    ------
    BadInputError
        As `verify`.
    """
    request = Request(_connected(topology), "", options, sample=sample, seed=seed)
    masks = {each: masks_of(replace(request, failures=each)) for each in failures}
    requests = [each for scheme in schemes_named(schemes) for each in modes_of(scheme, request, mode)]
    return compare_schemes(requests, masks, jobs)


def _connected(topology: Network) -> Topology:
    found = topology if isinstance(topology, Topology) else load_topology(topology)
    require_connected(found)
    return found
