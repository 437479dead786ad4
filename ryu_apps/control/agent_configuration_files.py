"""Writes what the agents of switches have to know about tunnels: a file for each switch (docs/controller.md)."""

from __future__ import annotations

from pathlib import Path

from mininet_topos.errors import BadInputError
from ryu_apps.plan.kuijia.agent_configuration import configuration_text
from ryu_apps.plan.kuijia.plan import TunnelPlanner


def write_configurations(planner: TunnelPlanner, folder: Path) -> None:
    """Write FOLDER/NODE.json for every switch; an agent that reads meanwhile gets the old file or the new one.

    Parameters
    ----------
    planner
        Notified by agents.
    folder
        Made if need be.

    Raises
    ------
    BadInputError
        It cannot be written to.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for node in planner.topology.node_names:
            draft = folder / f".{node}.json.new"
            draft.write_text(configuration_text(planner, node), encoding="utf-8")
            draft.replace(folder / f"{node}.json")
    except OSError as error:
        raise BadInputError(
            f"agent configurations cannot be written to {str(folder)!r} ({error.strerror}); name a folder"
        ) from error
