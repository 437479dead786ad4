"""A PMT file as nodes with line numbers: scalars stay text, so that YAML cannot turn a MAC address into a number."""

from __future__ import annotations

from enum import Enum
from typing import TypeVar

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from ryu_apps.pmt.rules import PmtError

MAX_TEXT_BYTES = 65536  # a PMT is kept in one OVSDB value on every switch
_MAX_DEPTH = 8
_Choice = TypeVar("_Choice", bound=Enum)
_NOT_CUT = "a PMT is at most {limit} bytes, this has {size}; merge rules"


class Place:
    """Where in which file: makes the errors."""

    def __init__(self, source: str, line: int) -> None:
        self.source, self.line = source, line

    def error(self, sentence: str) -> PmtError:
        """An error that names file and line."""
        return PmtError(f"{self.source}:{self.line}: {sentence}")


def place_of(node: Node, source: str) -> Place:
    """Place of a node."""
    return Place(source, node.start_mark.line + 1)


def read_nodes(text: str, source: str) -> Node | None:
    """The root node of a YAML (or JSON) text; None when it is empty.

    Raises
    ------
    PmtError
        Not YAML, too long, too deep, or with aliases, which a PMT has no use for.
    """
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > MAX_TEXT_BYTES:
        raise PmtError(f"{source}: {_NOT_CUT.format(limit=MAX_TEXT_BYTES, size=size)}")
    try:
        _check_events(text, source)
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = 1 if mark is None else mark.line + 1
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise Place(source, line).error(f"this is not YAML: {problem}; see docs/pmt.md for an example") from error
    except (OverflowError, ValueError) as error:  # an escape such as "\\U00110000" names no character
        raise PmtError(
            f"{source}: this is no YAML that a PMT needs ({error}); see docs/pmt.md for an example"
        ) from error
    is_empty = isinstance(root, ScalarNode) and root.value == ""
    return None if is_empty else root


def _check_events(text: str, source: str) -> None:
    """Refuse what a PMT never needs and what would cost the reader much time: aliases, deep nesting."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        if isinstance(event, yaml.AliasEvent):
            raise PmtError(f"{source}: the alias *{event.anchor} is not understood in a PMT; write the value out")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _MAX_DEPTH:
            raise PmtError(f"{source}: more than {_MAX_DEPTH} levels of lists and mappings are no PMT; see docs/pmt.md")


def read_mapping(node: Node, source: str, what: str) -> dict[str, tuple[Node, Place]]:
    """Keys of a mapping, in order, each with its value node and its place.

    Raises
    ------
    PmtError
        Not a mapping, a key that is no word, or a key given twice.
    """
    if not isinstance(node, MappingNode):
        raise place_of(node, source).error(f"{what} must be a mapping of keys to values, not {_shown(node)}")
    found: dict[str, tuple[Node, Place]] = {}
    for key_node, value_node in node.value:
        place = place_of(key_node, source)
        if not isinstance(key_node, ScalarNode):
            raise place.error(f"a key of {what} must be a word")
        if key_node.value in found:
            raise place.error(f"{key_node.value!r} stands twice in {what}; keep one")
        found[key_node.value] = (value_node, place)
    return found


def read_items(node: Node, source: str, what: str) -> list[Node]:
    """Items of a list.

    Raises
    ------
    PmtError
        Not a list.
    """
    if not isinstance(node, SequenceNode):
        raise place_of(node, source).error(f"{what} must be a list, not {_shown(node)}")
    return list(node.value)


def read_text(node: Node, source: str, what: str) -> str:
    """Text of a scalar.

    Raises
    ------
    PmtError
        Not a scalar.
    """
    if not isinstance(node, ScalarNode):
        raise place_of(node, source).error(f"{what} must be one value, not {_shown(node)}")
    return str(node.value)


def read_choice(node: Node, place: Place, key: str, choices: type[_Choice]) -> _Choice:
    """One of some words.

    Raises
    ------
    PmtError
        Another word.
    """
    text = read_text(node, place.source, key)
    try:
        return choices(text)
    except ValueError:
        known = " or ".join(choice.value for choice in choices)
        raise place.error(f"{key}: {text} is not known; write {known}") from None


def _shown(node: Node) -> str:
    if isinstance(node, ScalarNode):
        return repr(node.value)
    return "a list" if isinstance(node, SequenceNode) else "a mapping"
