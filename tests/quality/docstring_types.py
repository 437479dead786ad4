"""Entries of numpydoc sections whose type is only the annotation again; the signature says it already."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

_NAMED, _UNNAMED = ("Parameters", "Attributes"), ("Returns", "Yields")
# Words of numpydoc -> what an annotation says.
_WORDS = (
    (r"\b(Callable|callable|function)\b", "callable"),
    (r"\b(Ints|IntArray|int array)\b", "int array"),
    (r"\b(Floats|FloatArray|float array)\b", "float array"),
    (r"\b(Bools|BoolArray|bool array)\b", "bool array"),
    (r"\b(Json|dict)\b", "dict"),
    (r"\b(Sequence|sequence|list|tuple)\b", "sequence"),
    (r"\b(Iterable|iterable|Iterator|iterator|Generator|Collection|collection)\b", "iterable"),
    (r"\b(Mapping|mapping)\b", "mapping"),
    (r"\b(AbstractSet|Set|set|frozenset)\b", "set"),
    (r"(, optional|, default .*|\bClassVar|\bFinal| \| None| or None)", ""),
)


@dataclass(frozen=True)
class Entry:
    """Names with the text after the colon; `line` counts from 0 in the file, `names` is empty for what is returned."""

    line: int
    owner: str
    names: tuple[str, ...]
    text: str
    annotations: tuple[str | None, ...]

    @property
    def is_repetition(self) -> bool:
        """Whether the text says nothing that each annotation does not."""
        return all(each is not None and _repeats(self.text, each) for each in self.annotations)


def complaints(path: str, source: str) -> Iterator[str]:
    """Entries that repeat the signature."""
    for each in entries(source):
        if each.is_repetition:
            name = ", ".join(each.names) or "returned"
            yield f"{path}:{each.line + 1}: {each.owner}: {name}: the signature says {each.text!r} already"


def entries(source: str) -> Iterator[Entry]:
    """Entries of all docstrings of functions and classes."""
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and ast.get_docstring(node):
            given = _annotations(node)
            for number, section in _heads(lines, node):
                line = lines[number].strip()
                if section in _UNNAMED:
                    yield Entry(number, node.name, (), line, (_returned(node, section),))
                elif found := re.fullmatch(r"([\w*]+(?:, [\w*]+)*) : (.*)", line):
                    names = tuple(found[1].split(", "))
                    yield Entry(number, node.name, names, found[2], tuple(given.get(name.strip("*")) for name in names))


def _annotations(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> dict[str, str]:
    if not isinstance(node, ast.ClassDef):
        arguments = [each for each in ast.walk(node.args) if isinstance(each, ast.arg)]
        return {each.arg: ast.unparse(each.annotation) for each in arguments if each.annotation}
    found: dict[str, str] = {}
    for each in node.body:
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
            found[each.target.id] = ast.unparse(each.annotation)
        elif isinstance(each, ast.FunctionDef) and each.name == "__init__":
            found |= _annotations(each)
        elif isinstance(each, ast.FunctionDef) and each.returns:
            found[each.name] = ast.unparse(each.returns)
    return found


def _heads(lines: list[str], node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> Iterator[tuple[int, str]]:
    """Lines of a docstring that begin an entry, each with its section."""
    docstring = node.body[0]
    end = docstring.end_lineno or docstring.lineno
    section = ""
    for number in range(docstring.lineno, end):
        indent = len(lines[number]) - len(lines[number].lstrip())
        if indent != docstring.col_offset or lines[number].strip() in ("", '"""') or _is_rule(lines[number]):
            continue
        if number + 1 < end and _is_rule(lines[number + 1]):
            section = lines[number].strip()
        elif section in (*_NAMED, *_UNNAMED):
            yield number, section


def _is_rule(line: str) -> bool:
    return re.fullmatch(r"\s*-{3,}", line) is not None


def _returned(node: ast.AST, section: str) -> str | None:
    """Annotation of what a function returns, or of what its iterator yields."""
    returns = getattr(node, "returns", None)
    annotation = ast.unparse(returns) if returns else None
    item = re.fullmatch(r"(?:Iterator|Iterable|Generator)\[(.*?)(?:, None, None)?\]", annotation or "")
    return item[1] if item and section == "Yields" else annotation


def _repeats(text: str, annotation: str) -> bool:
    """Whether a numpydoc type says what an annotation says, or less.

    Examples
    --------
    >>> _repeats("sequence of int", "Sequence[int]"), _repeats("int or None", "int | None"), _repeats("dict", "Json")
    (True, True, True)
    >>> _repeats("int array, shape (arcs,)", "IntArray"), _repeats("sequence of (time, rate)", "Sequence[Point]")
    (False, False)
    """
    said, known = _plain(text), _plain(annotation)
    return said == known or re.fullmatch(re.escape(said) + r" of .*", known) is not None


def _plain(text: str) -> str:
    """A type in one spelling, brackets as "of" and "to"."""
    plain = text.strip("`'\".").replace("...", "")
    for pattern, word in _WORDS:
        plain = re.sub(pattern, word, plain)
    plain = re.sub(r"\bof\b|\bto\b|\bor\b|[\[\](),|'\"]", " ", plain)
    words = plain.split()
    return " of ".join([words[0], " ".join(words[1:])]) if len(words) > 1 else "".join(words)
