"""The key `protect` of a scenario: which flows 1+1 protection protects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from experiments.scenario.fields import Context
from mininet_topos.lines import Line
from mininet_topos.topology import Topology
from ryu_apps.plan.protect.document import flow_to_data, flows_of_lines
from ryu_apps.plan.protection import Protection, protection_of
from ryu_apps.plan.scheme import Scheme


def read_protection(
    context: Context, fields: Mapping[str, Line], root: Line, topology: Topology, schemes: Sequence[Scheme]
) -> Protection | None:
    """Protected flows of a scenario; None without a scheme that protects flows.

    Raises
    ------
    BadInputError
        The scheme without flows, flows without the scheme, or flows that cannot be protected.
    """
    line = fields.get("protect")
    if line is None:
        needing = next((scheme.name for scheme in schemes if scheme.protects), None)
        if needing is not None:
            raise context.error(root, f"scheme {needing} needs flows; add 'protect: [{{from: h1, to: h3}}]'")
        return None
    if not any(scheme.protects for scheme in schemes):
        raise context.error(line, "protect is for schemes that protect flows, and none of them is asked for; add one")
    return protection_of(topology, flows_of_lines(line, context.file_name, topology))


def protection_to_document(protection: Protection | None, topology: Topology) -> list[dict[str, Any]] | None:
    """The key's value that gives the protection back."""
    return None if protection is None else [flow_to_data(flow, topology) for flow in protection.flows]
