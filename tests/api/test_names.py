"""The public names of `armor` and what they take change only together with names.txt.

After a change that is meant: `python -m tests.api.test_names > tests/api/names.txt`, and a line in CHANGELOG.md.
"""

from __future__ import annotations

import enum
import inspect
import subprocess
import sys
from collections.abc import Iterator
from types import ModuleType

import pytest

import armor
from armor import schemes
from tests.quality.layers import ROOT

NAMES = ROOT / "tests" / "api" / "names.txt"


def described() -> Iterator[str]:
    """A line for each name: what kind of thing it is, and what it takes."""
    yield "# armor"
    for name in sorted(armor.__all__):
        yield from _described(name, getattr(armor, name))
    yield "# armor.schemes"
    for name in sorted(schemes.__all__):
        value = getattr(schemes, name)
        is_same = name in armor.__all__ and getattr(armor, name) is value
        yield from [f"{name}: as in armor"] if is_same else _described(name, value)


def _described(name: str, value: object) -> Iterator[str]:
    yield f"{name}: {_kind(value)}{_signature(value)}"
    if inspect.isclass(value):
        yield from (f"    {name}.{each}{_signature(getattr(value, each))}" for each in _members(value))


def _kind(value: object) -> str:
    if not inspect.isclass(value):
        return "function" if inspect.isroutine(value) else "module" if isinstance(value, ModuleType) else "value"
    return "error" if issubclass(value, Exception) else "class"


def _signature(value: object) -> str:
    is_plain = inspect.isclass(value) and issubclass(value, (Exception, enum.Enum))
    if is_plain or not callable(value) or not (inspect.isroutine(value) or inspect.isclass(value)):
        return ""
    signature = inspect.signature(value)
    result = "" if signature.return_annotation is signature.empty else f" -> {_type(signature.return_annotation)}"
    return f" ({', '.join(map(_parameter, signature.parameters.values()))}){result}"


def _parameter(parameter: inspect.Parameter) -> str:
    name = f"{parameter.name} by keyword" if parameter.kind is parameter.KEYWORD_ONLY else parameter.name
    kind = "" if parameter.annotation is parameter.empty else f": {_type(parameter.annotation)}"
    if parameter.default is parameter.empty:
        return f"{name}{kind}"
    return f"{name}{kind} = {getattr(parameter.default, '__name__', repr(parameter.default))}"


def _type(annotation: object) -> str:
    """Text of an annotation, the same under each version of Python."""
    return annotation if isinstance(annotation, str) else getattr(annotation, "__forward_arg__", str(annotation))


def _members(value: type) -> list[str]:
    if issubclass(value, enum.Enum):
        return list(value.__members__)
    own = (base for base in value.__mro__ if base.__module__.partition(".")[0] != "builtins")
    return sorted({name for base in own for name in vars(base) if not name.startswith("_")})


def test_names_and_signatures_are_those_that_are_written_down():
    assert list(described()) == NAMES.read_text(encoding="utf-8").splitlines()


def test_each_name_says_what_it_is():
    for name in armor.__all__:
        documentation = getattr(armor, name).__doc__
        assert documentation, name
        assert not documentation.startswith(f"{name}("), name


def test_star_import_and_completion_give_the_public_names():
    names: dict[str, object] = {}
    exec("from armor import *", names)
    assert set(armor.__all__) == set(names) - {"__builtins__"} == set(dir(armor))


@pytest.mark.parametrize("name", ["verfy", "_api_of_nobody", "replace"])
def test_other_names_are_refused(name):
    with pytest.raises(AttributeError, match=name):
        getattr(armor, name)


def test_the_command_line_loads_nothing_of_the_functions():
    program = "import sys, armor.__main__; print({'networkx', 'numpy', 'armor._api'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


if __name__ == "__main__":
    print("\n".join(described()))
