"""Memory of plans: known before they are made, bounded while they are."""

from __future__ import annotations

import tracemalloc
from functools import cache, partial
from itertools import pairwise

import pytest

from experiments.cli import memory as options_of_memory
from experiments.cli import verify
from experiments.cli.main import main
from experiments.verify import memory
from experiments.verify.memory import GIB, bounded, forecast, free_bytes, refuse_too_large, shape_of
from mininet_topos.catalogue import load_topology
from mininet_topos.errors import BadInputError
from ryu_apps.plan.options import PlanOptions
from ryu_apps.schemes import find_scheme

NOT_ENOUGH = "0.5 GB of memory were not enough; take a smaller network or fewer failures, or raise --max-memory"


@cache  # so that forecasts of one planner share its plans for the reference networks
def planner(scheme: str, **options: str):
    return partial(_plan, scheme, PlanOptions(max_failures=1, **options))


def _plan(scheme: str, options: PlanOptions, topology):
    return find_scheme(scheme).plan(topology, options)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "scheme", "options"),
    [
        ("random:50:100:1", "sdfast", {}),
        ("random:40:50:1", "sdfast", {}),
        ("random:40:50:1", "sdfast", {"notification": "off"}),
        ("random:40:50:1", "sdfast", {"mode": "agent"}),
        ("random:50:100:1", "cb", {}),
        ("random:40:50:1", "ffg", {}),
    ],
)
def test_rows_are_forecast_within_a_half(name: str, scheme: str, options: dict[str, str]) -> None:
    topology, plan = load_topology(name), planner(scheme, **options)
    rows = sum(len(each.flows) + len(each.groups) + len(each.backups) for each in plan(topology).values())
    assert forecast(topology, plan).rows == pytest.approx(rows, rel=0.5)


def test_a_plan_that_takes_long_is_announced(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(options_of_memory, "_PLANNED_A_SECOND", 1)
    assert main(["verify", "sdfast", "figure2", "--failures", "1", "--max-failures", "1", "--jobs", "1"]) == 0
    assert capsys.readouterr().err == "planning 8 switches for 8 sets of failed links; this takes some 64 s\n"
    monkeypatch.undo()
    assert main(["verify", "sdfast", "figure2", "--failures", "1", "--max-failures", "1", "--jobs", "1"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.slow
def test_larger_networks_are_forecast_to_take_more() -> None:
    plan = planner("sdfast")
    sizes = [
        forecast(load_topology(name), plan) for name in ("random:100:120:1", "random:200:240:1", "random:754:895:1")
    ]
    assert all(first.rows < second.rows and first.n_bytes < second.n_bytes for first, second in pairwise(sizes))
    assert sizes[0].n_bytes < GIB < 10 * GIB < sizes[2].n_bytes


def test_a_ring_shows_what_is_counted() -> None:
    shape = shape_of(load_topology("ring:12"))
    assert (shape.nodes, shape.links) == (12, 12)
    assert shape.hops + shape.bypass == pytest.approx(12)  # one way round and the other
    assert shape_of(load_topology("star")).bypass == 0


@pytest.mark.slow
def test_a_plan_that_does_not_fit_is_refused_before_it_is_made(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "sdfast", "random:754:895:1", "--max-memory", "6"]) == 2
    shown = capsys.readouterr()
    assert (shown.out, shown.err.count("\n")) == ("", 1)
    assert "and 6 GB may be used; take a network of about " in shown.err
    assert "or raise --max-memory" in shown.err


@pytest.mark.parametrize(("setting", "named"), [("flood", True), ("off", False)])
def test_a_refusal_names_the_setting_that_makes_the_plan_smaller(
    setting: str, *, named: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(memory, "forecast", lambda _topology, _plan: memory.Forecast(10**9, 10**12))
    assert main(["verify", "sdfast", "ring:200", "--notification", setting]) == 2
    shown = capsys.readouterr().err
    assert ("nodes, write --notification off, or raise --max-memory" in shown) == named
    assert ("nodes, or raise --max-memory" in shown) != named


@pytest.mark.slow
def test_the_forecast_covers_what_notifications_take_on_a_ring() -> None:
    topology, plan = load_topology("ring:30"), planner("sdfast")
    tracemalloc.start()
    kept = plan(topology)
    taken = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    rows = sum(len(each.flows) + len(each.groups) + len(each.backups) for each in kept.values())
    expected = forecast(topology, plan)
    assert expected.rows == pytest.approx(rows, rel=0.5)
    assert expected.n_bytes > taken


def test_a_small_network_is_not_asked_about() -> None:
    def refuse(_topology: object) -> dict[int, object]:
        raise AssertionError("planned")

    refuse_too_large(load_topology("darkstrand"), refuse, 0)  # type: ignore[arg-type]


def test_a_scheme_that_cannot_plan_every_network_is_not_forecast() -> None:
    def refuse(_topology: object) -> dict[int, object]:
        raise BadInputError("not here")

    refuse_too_large(load_topology("ring:100"), refuse, 0)  # type: ignore[arg-type]


def test_work_that_needs_more_than_it_may_have_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(memory, "SMALLEST_NODES", 10**6)
    monkeypatch.setattr(verify, "_verified", lambda *_arguments: len(bytearray(2 * GIB)))
    assert main(["verify", "shortest", "square", "--max-memory", "0.5"]) == 2
    assert capsys.readouterr() == ("", f"armor: {NOT_ENOUGH}\n")


@pytest.mark.parametrize("given", ["0", "nan", "0.4", "much"])
def test_a_bound_in_which_nothing_runs_is_refused(given: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "shortest", "square", "--max-memory", given]) == 2
    assert f"--max-memory is '{given}'; give a number above 0, at least 0.5" in capsys.readouterr().err


def test_the_bound_is_lifted_again() -> None:
    before = memory.resource.getrlimit(memory.resource.RLIMIT_DATA)
    with pytest.raises(BadInputError, match="not enough"), bounded(GIB):
        raise MemoryError
    assert memory.resource.getrlimit(memory.resource.RLIMIT_DATA) == before
    assert free_bytes() > 0
