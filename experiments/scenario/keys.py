"""Tables of keys: one row reads a key of a mapping, checks it, and writes it back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from experiments.scenario.fields import Context
from experiments.scenario.targets import read_host, read_link, read_node
from mininet_topos.lines import Line
from mininet_topos.topology import LinkId, Topology

Document = dict[str, object]


@dataclass(frozen=True)
class NetworkContext(Context):
    """The file that is being read, and the topology that its keys point into."""

    topology: Topology


@dataclass(frozen=True, slots=True)
class Key:
    """One key of an entry.

    Attributes
    ----------
    name
        As files give it.
    read
        (context, line, name) to the checked value; raises BadInputError.
    attribute
        Where the value stands; left out: an attribute of the key's name.
    write
        From the value to plain data that `read` takes.
    """

    name: str
    read: Callable[[NetworkContext, Line, str], Any]
    attribute: str = ""
    write: Callable[[Any], object] = lambda value: value

    @property
    def field(self) -> str:
        """Name of the attribute that holds the value."""
        return self.attribute or self.name


def read_keys(context: NetworkContext, fields: Mapping[str, Line], keys: Iterable[Key]) -> dict[str, Any]:
    """Values by attribute; a key that is absent is left out, so that its default holds (`BadInputError`)."""
    return {key.field: key.read(context, fields[key.name], key.name) for key in keys if key.name in fields}


def write_keys(value: object, keys: Iterable[Key]) -> Document:
    """Plain data that `read_keys` reads back; None is left out."""
    values = {key.name: (key, getattr(value, key.field)) for key in keys}
    return {name: key.write(found) for name, (key, found) in values.items() if found is not None}


def a_host(context: NetworkContext, line: Line, name: str) -> str:
    """Node of a host."""
    return read_host(context, line, name, context.topology)


def a_node(context: NetworkContext, line: Line, name: str) -> str:
    """A node."""
    return read_node(context, line, name, context.topology)


def a_link(context: NetworkContext, line: Line, _name: str) -> LinkId:
    """A link."""
    return read_link(context, line, context.topology)
