"""The key `protect` of a scenario: which flows 1+1 protection protects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from experiments.scenario.fields import Context
from mininet_topos.lines import Line
from mininet_topos.topology import Topology
from ryu_apps.plan.protect.document import flow_to_data, flows_of_lines
from ryu_apps.plan.protect.values import Protection, protection_of

SCHEME = "protect"


def read_protection(
    context: Context, fields: Mapping[str, Line], root: Line, topology: Topology, schemes: Sequence[str]
) -> Protection | None:
    """Protected flows of a scenario; None without scheme protect.

    Raises
    ------
    BadInputError
        The scheme without flows, flows without the scheme, or flows that cannot be protected.
    """
    line = fields.get("protect")
    if line is None:
        if SCHEME in schemes:
            raise context.error(root, "scheme protect needs flows; add 'protect: [{from: h1, to: h3}]'")
        return None
    if SCHEME not in schemes:
        raise context.error(line, "protect is for scheme protect, which is not among the schemes; add it")
    return protection_of(topology, flows_of_lines(line, context.file_name, topology))


def protection_to_document(protection: Protection | None, topology: Topology) -> list[dict[str, Any]] | None:
    """The key's value that gives the protection back."""
    return None if protection is None else [flow_to_data(flow, topology) for flow in protection.flows]
