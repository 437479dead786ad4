"""No module but a scheme's own knows the scheme by its name, and modes are asked what they do.

`complaints` looks for names of schemes and modes in text constants that decide something: compared, looked up, listed,
matched, or kept under a name. A name that is only handed on - `Variant("sdfast", "agent")` - decides nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from ryu_apps.plan.choices import MODES
from ryu_apps.plan.scheme_names import scheme_names

NAMES = frozenset(scheme_names())
# Where these stand, a scheme or a mode says what it is; and the controller apps say which scheme is theirs.
OWN = ("ryu_apps/schemes/", "ryu_apps/plan/choices.py", *(f"ryu_apps/{name}.py" for name in NAMES))
# Figures compare schemes that the papers name: there names may stand in tables, but nothing may be decided by them.
SUBJECTS = ("experiments/figures/", "experiments/testbed/packet_cost/")
# Words that mean something else there, which is called as a scheme is.
OTHER_MEANINGS = {
    "dataplane/": {"protect", "sqr"},  # packet programs
    "experiments/cli/main.py": {"agent", "protect", "te"},  # commands
    "experiments/scenario/": {"protect", "sqr"},  # keys of a scenario file
    "ryu_apps/control/": {"protect", "te"},  # REST resources
}
_TEXT_TESTS = frozenset("startswith endswith removeprefix removesuffix get index count pop setdefault".split())


def is_exempt(path: PurePosixPath) -> bool:
    """Whether a module may name schemes as it likes."""
    return str(path).startswith(OWN)


def complaints(path: PurePosixPath, source: str) -> list[str]:
    """Names of schemes or modes that decide something, one sentence each."""
    if is_exempt(path):
        return []
    deciding = _comparing if str(path).startswith(SUBJECTS) else _deciding
    other = {word for place, words in OTHER_MEANINGS.items() if str(path).startswith(place) for word in words}
    found = sorted({(node.lineno, word) for node in ast.walk(ast.parse(source)) for word in deciding(node)})
    return [f"{path}:{line}: {word!r} decides by name; ask the scheme" for line, word in found if word not in other]


def _comparing(node: ast.AST) -> Iterator[str]:
    """Names that something is compared with in one syntax node."""
    if isinstance(node, ast.Compare):
        sides = (node.left, *node.comparators)
        about_mode = any("mode" in _last_name(each) for each in sides)
        listed = [each for side in sides if isinstance(side, ast.Tuple | ast.List | ast.Set) for each in side.elts]
        yield from _named((*sides, *listed), modes=about_mode)
    elif isinstance(node, ast.MatchValue):
        yield from _named([node.value], modes=True)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _TEXT_TESTS:
        yield from _named(node.args, modes="mode" in _last_name(node.func.value))


def _deciding(node: ast.AST) -> Iterator[str]:
    """Names in the constants of one syntax node that decides by them, or from which decisions are looked up."""
    yield from _comparing(node)
    if isinstance(node, ast.Dict):
        yield from _named([key for key in node.keys if key is not None], modes=True)
    elif isinstance(node, ast.Tuple | ast.List | ast.Set):
        yield from _named(node.elts, modes=False)
        if len(words := set(_words(node.elts)) & MODES.keys()) > 1:
            yield from words
    elif isinstance(node, ast.Subscript):
        yield from _named([node.slice], modes=False)
    elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
        yield from _named([node.value], modes=False)


def _named(nodes: Iterable[ast.expr], *, modes: bool) -> Iterator[str]:
    known = NAMES | MODES.keys() if modes else NAMES
    return (word for word in _words(nodes) if word in known)


def _words(nodes: Iterable[ast.expr]) -> Iterator[str]:
    return (node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))


def _last_name(node: ast.expr) -> str:
    """`mode` of `variation.mode`, `variant_mode` and `row["mode"]`."""
    if isinstance(node, ast.Subscript):
        return next(_words([node.slice]), "")
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
