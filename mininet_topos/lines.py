"""YAML or JSON text as values that know their line, so that every complaint can say "FILE:12: ...".

Only plain data is accepted: no tags, no anchors, no duplicate keys, since each of them can make a file mean
something else than it shows. Numbers and words are read by the YAML 1.2 core schema: `on` and `no` are words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from mininet_topos.errors import BadInputError

Scalar = str | int | float | bool | None

MAX_DEPTH = 20
_CORE_TAG = "tag:yaml.org,2002:"
_KNOWN_TAGS = frozenset(("map", "seq", "str", "int", "float", "bool", "null", "timestamp", "merge", "value"))
_INT = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.?(inf|Inf|INF|nan|NaN|NAN)")
_WORDS: dict[str, bool | None] = {
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False,
    "null": None, "Null": None, "NULL": None, "~": None, "": None,
}  # fmt: skip


@dataclass(frozen=True)
class Line:
    """A value and the line (from 1) on which it begins."""

    number: int
    value: Scalar | tuple[Line, ...] | dict[str, Line]


def read_lines(text: str, file_name: str) -> Line:
    """Parse YAML or JSON.

    Parameters
    ----------
    text
        Content of the file.
    file_name
        Name for messages.

    Returns
    -------
    The root value; mappings are dicts in file order, sequences are tuples.

    Raises
    ------
    BadInputError
        Nothing, broken syntax, more than one document, duplicate keys, keys that are not words, tags, anchors.
    """
    if text.lstrip().startswith("{"):
        text = text.replace("\t", " ")  # JSON may be indented by tabs, YAML may not
    try:
        loader = _Loader(text, file_name)
        root = loader.get_single_node()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = (error.problem or error.context or "unreadable").replace("\n", " ")
        raise BadInputError(
            f"{file_name}:{mark.line + 1 if mark else 1}: this is not YAML ({problem}); "
            "check the indentation and quotes near that line"
        ) from error
    except (yaml.YAMLError, ValueError) as error:  # ValueError: an escape such as "\U00110000" names no character
        raise BadInputError(
            f"{file_name}: this is not text ({str(error).splitlines()[0]}); save it as UTF-8"
        ) from error
    if root is None:
        raise BadInputError(f"{file_name} is empty; the examples in examples/ show what such a file holds")
    return _to_line(root, file_name)


class _Loader(yaml.SafeLoader):
    """Composes nodes, and refuses on the way what is not read or would cost the reader much time."""

    def __init__(self, text: str, file_name: str) -> None:
        super().__init__(text)
        self._file_name = file_name
        self._depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Compose one node (called by PyYAML)."""
        event = self.peek_event()  # type: ignore[no-untyped-call]
        where = f"{self._file_name}:{event.start_mark.line + 1}"
        if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
            raise BadInputError(f"{where}: anchors (&) and aliases (*) are not read; write the value out")
        if self._depth >= MAX_DEPTH:
            raise BadInputError(f"{where}: nested more than {MAX_DEPTH} deep; make it flatter")
        self._depth += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node


def _to_line(node: yaml.Node, file_name: str) -> Line:
    number = node.start_mark.line + 1
    if node.tag.removeprefix(_CORE_TAG) not in _KNOWN_TAGS:
        raise BadInputError(f"{file_name}:{number}: tag {node.tag.removeprefix(_CORE_TAG)!r} is not read; remove it")
    if isinstance(node, yaml.MappingNode):
        return Line(number, dict(_items(node, file_name)))
    if isinstance(node, yaml.SequenceNode):
        return Line(number, tuple(_to_line(child, file_name) for child in node.value))
    return Line(number, _scalar(node))


def _items(node: yaml.MappingNode, file_name: str) -> Iterator[tuple[str, Line]]:
    seen: dict[str, int] = {}
    for key, value in node.value:
        number = key.start_mark.line + 1
        if not isinstance(key, yaml.ScalarNode):
            raise BadInputError(f"{file_name}:{number}: a key must be a word; this one is a list or a mapping")
        name = str(key.value)
        if name in seen:
            raise BadInputError(
                f"{file_name}:{number}: key {name!r} stands twice (also on line {seen[name]}); keep one of them"
            )
        seen[name] = number
        yield name, _to_line(value, file_name)


def _scalar(node: yaml.Node) -> Scalar:
    text = str(node.value)
    if getattr(node, "style", None) is not None:
        return text  # quoted
    if text in _WORDS:
        return _WORDS[text]
    if _INT.fullmatch(text) and len(text) < 20:
        return int(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    if _NOT_FINITE.fullmatch(text):
        return float(text.replace(".", ""))
    return text


def plain(line: Line) -> Any:
    """A value without its lines."""
    if isinstance(line.value, dict):
        return {key: plain(value) for key, value in line.value.items()}
    if isinstance(line.value, tuple):
        return [plain(value) for value in line.value]
    return line.value
