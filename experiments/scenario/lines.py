"""YAML or JSON text as values that know their line, so that every complaint can say "FILE:12: ...".

Only plain data is accepted: no tags, no anchors, no duplicate keys, since each of them can make a file mean
something else than it shows. Numbers and words are read by the YAML 1.2 core schema: `on` and `no` are words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import yaml

from mininet_topos.errors import BadInputError

Scalar = str | int | float | bool | None

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
    text : str
        Content of the file.
    file_name : str
        Name for messages.

    Returns
    -------
    Line
        The root value; mappings are dicts in file order, sequences are tuples.

    Raises
    ------
    BadInputError
        Broken syntax, more than one document, duplicate keys, keys that are not words, tags, anchors.
    """
    if text.lstrip().startswith("{"):
        text = text.replace("\t", " ")  # JSON may be indented by tabs, YAML may not
    try:
        _refuse_anchors(text, file_name)
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = (error.problem or error.context or "unreadable").replace("\n", " ")
        raise BadInputError(
            f"{file_name}:{mark.line + 1 if mark else 1}: this is not YAML ({problem}); "
            "check the indentation and quotes near that line"
        ) from error
    except yaml.YAMLError as error:
        raise BadInputError(
            f"{file_name}: this is not text ({str(error).splitlines()[0]}); save it as UTF-8"
        ) from error
    except RecursionError as error:
        raise BadInputError(f"{file_name}: nested too deeply; a scenario has three levels") from error
    if root is None:
        raise BadInputError(f"{file_name} is empty; a scenario needs at least topology and scheme")
    return _to_line(root, file_name)


def _refuse_anchors(text: str, file_name: str) -> None:
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            where = f"{file_name}:{event.start_mark.line + 1}" if event.start_mark else file_name
            raise BadInputError(f"{where}: anchors (&) and aliases (*) are not read; write the value out")


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
