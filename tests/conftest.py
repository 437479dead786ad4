"""What every test can rely on: tools that are there, a test count that never falls, hypothesis settings."""

from __future__ import annotations

import gc
import importlib.util
import os
import shutil
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings

MINIMUM_FILE = Path(__file__).parent / "quality" / "minimum_tests.txt"
OVS_TOOLS = ("ovs-vswitchd", "ovsdb-server", "ovsdb-tool", "ovs-vsctl", "ovs-ofctl", "ovs-appctl")

# Tests make millions of small values without cycles: to look for garbage among them as often as usual takes a third of
# the time.
gc.set_threshold(100_000, 50, 100)

# As `ryu_apps/manager.py`: eventlet is imported by python-ovs too, and dnspython is half of its imports.
os.environ.setdefault("EVENTLET_NO_GREENDNS", "yes")

# Debian keeps the daemons in sbin, which an ordinary user's PATH leaves out.
os.environ["PATH"] = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])

# A shell starts background jobs with Ctrl-C ignored, and nohup ignores hang-ups; children inherit both, and tests
# that interrupt need them.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

# Examples of a law that says nothing, by the command that runs it (pytest --hypothesis-profile=NAME); tests/examples.py
# gives the others a share of them. Shared machines stall: no deadline, and no check that examples come quickly. CI
# repeats the same examples; elsewhere each run tries new ones and a failing one prints the decorator that repeats it.
EXAMPLES = {"check": 5, "test": 50, "long": 1000}
for _profile, _count in EXAMPLES.items():
    settings.register_profile(
        _profile,
        max_examples=_count,
        deadline=None,
        print_blob=True,
        derandomize=bool(os.environ.get("CI")),
        suppress_health_check=(HealthCheck.too_slow,),
    )
# Of a mutant nobody wants the smallest example, and its verdict must not change from run to run (tests/mutants).
settings.register_profile(
    "mutants",
    settings.get_profile("test"),
    derandomize=True,
    database=None,
    phases=(Phase.explicit, Phase.generate),
)
settings.load_profile("test")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import no file without emulated networks where only those run: that takes many seconds of processor time."""
    if not config.getoption("markexpr", default="").startswith("emulation") or collection_path.suffix != ".py":
        return None
    return True if "mark.emulation" not in collection_path.read_text(encoding="utf-8") else None


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --update-golden: the expected texts are rewritten only when asked for, and then read as a diff."""
    parser.addoption("--update-golden", action="store_true", help="rewrite tests/golden from what is printed now")


def _missing_tool(names: tuple[str, ...]) -> str | None:
    return next((f"{name} is not installed" for name in names if shutil.which(name) is None), None)


def _missing_module(name: str) -> str | None:
    return None if importlib.util.find_spec(name) else f"Python package {name} is not installed"


def why_not(marker: str) -> str | None:
    """Return why tests of this marker cannot run here; None when they can."""
    if marker == "ovs":
        return _missing_tool(OVS_TOOLS)
    if marker == "ryu":
        return _missing_module("ryu")
    if os.geteuid() != 0:
        return "needs root: run `sudo make test`"
    return _missing_tool((*OVS_TOOLS, "ip", "tc")) or _missing_module("mininet")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip, with the reason, the tests whose tools this machine lacks."""
    for marker in ("emulation", "ryu", "ovs"):
        reason = why_not(marker)
        if reason is None:
            continue
        for item in items:
            if item.get_closest_marker(marker):
                item.add_marker(pytest.mark.skip(reason=f"{marker}: {reason}"))


def minimum_of(markexpr: str, text: str) -> int | None:
    """Return how many tests there have to be at least; None for a selection that has no number.

    Parameters
    ----------
    markexpr
        The marker expression of -m: "" for all tests, or a part that has a line of its own.
    text
        What `minimum_tests.txt` holds: lines of a number and the marker expression that it is for.
    """
    lines = (line.split(maxsplit=1) for line in text.splitlines())
    numbers = {part.strip(): int(number) for number, part in lines}
    return numbers.get(markexpr) if markexpr else sum(numbers.values())


def minimum_here(config: pytest.Config) -> int | None:
    """Return how many tests this run has to have; None when something narrowed the collection down."""
    # An option of a plugin that is switched off does not exist.
    options = ("keyword", "deselect", "ignore", "ignore_glob", "lf")
    narrowed = any(config.getoption(name, default=None) for name in options)
    if narrowed or config.args_source is not pytest.Config.ArgsSource.TESTPATHS:
        return None
    return minimum_of(config.getoption("markexpr", default=""), MINIMUM_FILE.read_text(encoding="utf-8"))


def require_minimum(session: pytest.Session, collected: int) -> None:
    """Refuse a whole run that lost tests: a suite that shrinks in silence protects nothing."""
    minimum = minimum_here(session.config)
    if minimum is not None and not session.testsfailed and collected < minimum:
        raise pytest.UsageError(
            f"{collected} tests collected, but {MINIMUM_FILE.name} says {minimum}: "
            "find the lost tests, or lower the number in the same commit that says why"
        )


def pytest_collection_finish(session: pytest.Session) -> None:
    """Count the tests of a run in one process; a worker of a parallel run leaves that to the one that started it."""
    gc.freeze()  # what was collected stays
    if not hasattr(session.config, "workerinput"):
        require_minimum(session, len(session.items))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node: Any, ids: Sequence[str]) -> None:
    """Count the tests that a worker has collected: every worker collects all of them."""
    require_minimum(node.config.pluginmanager.get_plugin("session"), len(ids))


def pytest_report_collectionfinish(config: pytest.Config, items: list[pytest.Item]) -> str | None:
    """Say how far above the committed minimum the suite is, so that the number gets raised."""
    minimum = minimum_here(config)
    return None if minimum is None else f"{MINIMUM_FILE.name}: {minimum} of {len(items)}"
