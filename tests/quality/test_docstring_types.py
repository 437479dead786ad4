"""Docstrings say what types cannot, and the check that says so finds the others."""

from __future__ import annotations

import pytest

from tests.quality import layers
from tests.quality.docstring_types import complaints

FUNCTION = '''
def f({signature}) -> {returned}:
    """Say something.

    Parameters
    ----------
    {entry}
        What it is for.

    Returns
    -------
    {result}
    """
'''
CLASS = '''
class C:
    """Something.

    Attributes
    ----------
    {entry}
    """

    {signature}

    @property
    def total(self) -> float:
        """Sum."""

    def __init__(self, first: Path) -> None: ...
'''
MUTANTS = (
    ("x: int", "x : int"),
    ("x: int = 5", "x : int, default 5"),
    ("x: int | None = None", "x : int, optional"),
    ("x: float | None", "x : float or None"),
    ("x: Sequence[float]", "x : sequence of float"),
    ("x: tuple[str, ...]", "x : tuple of str"),
    ("x: Mapping[int, PortHealth]", "x : mapping of int to PortHealth"),
    ("x: Callable[[str], None]", "x : callable"),
    ("x: dict[int, RulePlan]", "x : dict"),
    ("x: Json", "x : dict"),
    ("x: Ints", "x : int array"),
    ("*x: Path", "*x : Path"),
    ("x: int, y: int", "x, y : int"),
)
HARMLESS = (
    ("x: int", "x"),
    ("x: int", "x : {1, 2}"),
    ("x: str", 'x : "tcp" or "udp"'),
    ("x: FloatArray", "x : float array, shape (arcs,)"),
    ("x: Mapping[str, Host]", "x : mapping of switch name to its host"),
    ("x: Sequence[tuple[float, float]]", "x : sequence of (time, rate)"),
    ("x: Any", "x : plain data"),
    ("x, y: int", "x : int"),
    ("x: int, y: str", "x, y : int"),
)


def function(signature: str = "x: int", entry: str = "x", returned: str = "int", result: str = "Its sum.") -> str:
    return FUNCTION.format(signature=signature, entry=entry, returned=returned, result=result)


def test_the_source_says_a_type_once() -> None:
    paths = layers.source_files()
    assert len(paths) > 1000
    assert [line for path in paths for line in complaints(str(path), (layers.ROOT / path).read_text())] == []


@pytest.mark.parametrize(("signature", "entry"), MUTANTS)
def test_an_entry_that_repeats_its_annotation_is_refused(signature: str, entry: str) -> None:
    assert len(list(complaints("a.py", function(signature, entry)))) == 1


@pytest.mark.parametrize(("signature", "entry"), HARMLESS)
def test_units_shapes_and_meanings_stay(signature: str, entry: str) -> None:
    assert not list(complaints("a.py", function(signature, entry)))


@pytest.mark.parametrize(
    ("returned", "result"), [("int", "int"), ("tuple[int, ...]", "tuple of int"), ("Path | None", "Path or None")]
)
def test_what_is_returned_is_said_once_too(returned: str, result: str) -> None:
    assert len(list(complaints("a.py", function(returned=returned, result=result)))) == 1
    assert not list(complaints("a.py", function(returned=returned, result="Milliseconds since the failure.")))


def test_what_an_iterator_yields_is_said_once_too() -> None:
    source = (
        function(returned="Iterator[Path]", result="Path").replace("Returns", "Yields").replace("-------\n", "------\n")
    )
    assert len(list(complaints("a.py", source))) == 1


@pytest.mark.parametrize("entry", ["first : Path", "second : int", "total : float"])
def test_attributes_of_classes_count(entry: str) -> None:
    assert len(list(complaints("a.py", CLASS.format(entry=entry, signature="second: int")))) == 1
    assert not list(complaints("a.py", CLASS.format(entry=entry.split(" ")[0], signature="second: int")))
