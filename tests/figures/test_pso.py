"""PSO's trials, claims, tables and pictures on rows that are made up, so that what they hold is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from experiments.campaign.computed.classification import FIRST, LAST, table_text
from experiments.campaign.judging import judge_figure
from experiments.campaign.kinds.commands import ACROSS, FLOW_MODS, NONE, PACKET_OUTS
from experiments.campaign.kinds.control import PATH_SETUP, ROWS
from experiments.campaign.order import in_order, trial_row
from experiments.campaign.values import CampaignPlan, Json, Trial
from experiments.campaign.verdicts import BY_CONSTRUCTION, DIFFERS, HOLDS, NO_DATA, UNDECIDED, ClaimResult
from experiments.figures.pso import fig10, setup, x_by_class, x_path_setup
from experiments.figures.pso.measures import HIGH, Choice, knee, knee_interval
from experiments.loadgen.decide import misbehave
from experiments.loadgen.decide.load import FRAME_BYTES
from ryu_apps.pmt.parse import parse_pmt
from tests.figures.found import figures_in

PLAN = CampaignPlan(quick=True, seed=3)
BY_ID = figures_in("pso")
Delay = Callable[[str, float], float]
Lost = Callable[[str, float], float]


def fifo_fills(variant: str, nl: float) -> float:
    return 90.0 if variant == "fifo" and nl > 0.8 else 2.0


def fifo_loses(variant: str, nl: float) -> float:
    return 5.0 if variant == "fifo" and nl > 0.8 else 0.0


def made_up(trial: Trial, delay: Delay = fifo_fills, lost: Lost = fifo_loses) -> Json:
    """A good row: 1,000 packets offered to each class."""
    if trial.kind == "sweep":
        batches = {FIRST: [5.0, 6.0, 7.0], LAST: [8.0, 9.0, 10.0]}
        own: Json = {"batches_us": batches}
    elif trial.kind == "commands":
        own = as_estimated(trial)
    else:
        assert trial.variant is not None
        nl = trial.parameters.nl
        mean_ms = delay(trial.variant.name, nl) + 0.01 * trial.round
        percent = lost(trial.variant.name, nl)
        each = {
            "offered": 1000,
            "answered": round(1000 - 10 * percent),
            "lost_percent": percent,
            "dropped_percent": percent,
            "mean_ms": mean_ms,
            "p50_ms": mean_ms,
            "p99_ms": 2 * mean_ms,
        }
        own = {
            "classes": {"high": dict(each), "low": dict(each)},
            "answers_pps": 1000.0,
            "link_mbps": setup.LINK_MBPS,
            "link_classes": {setup.MAIN_CLASS: {"bytes": 20}, "rest": {"bytes": 80}},
            "frame_bytes": FRAME_BYTES,
            "window_s": 5.0,
            "controller_rss_mb": 80.0,
            "controller_first_rss_mb": 70.0,
            "controller_cpu_percent": 10.0,
            "packet_ins": 2000,
            "flows": 2000,
        }
    return {**trial_row(trial, quick=True), "seconds": 5.0, **own}


def as_estimated(trial: Trial) -> Json:
    """What was expected of commands beside a flood, before any was measured."""
    own, is_main = trial.parameters, trial.variant == x_by_class.MAIN
    waits = own.flood == FLOW_MODS if is_main else (own.stream, own.flood) == (ACROSS, PACKET_OUTS)
    high_ms, low_ms = 400.0 if waits else 6.0, 6.0 if is_main or own.flood == NONE else 600.0
    reply_ms = 500.0 if own.flood != NONE else 2.0 if is_main else 4.0
    times = {"effect": (high_ms, low_ms), "confirmed": (reply_ms, reply_ms)}
    medians = {
        key: {
            name: {"count": 40, "p50_ms": value + 0.01 * trial.round, "p90_ms": value}
            for name, value in zip(("high", "low"), both, strict=True)
        }
        for key, both in times.items()
    }
    reordered = 0 if is_main or own.flood == NONE else 38
    counts = {"sent": 80, "not_taken": 0, "violations": 0, "barriers": 0, "extra_barriers": 0}
    return {**medians, **counts, "reordered": reordered, "to_switch_mbps": 1.8}


def rows_of(name: str, delay: Delay = fifo_fills, lost: Lost = fifo_loses) -> list[Json]:
    return [made_up(trial, delay, lost) for trial in BY_ID[name].trials(PLAN)]


def claim(results: Sequence[ClaimResult], beginning: str) -> ClaimResult:
    (found,) = [result for result in results if result.name.startswith(beginning)]
    return found


@pytest.mark.parametrize("again_s", [None, setup.RETRANSMIT_AFTER_S])
def test_variants_follow_each_other_and_take_turns_in_being_first(again_s: float | None) -> None:
    order = [trial for trial in in_order(BY_ID["pso-fig7"].trials(PLAN)) if trial.parameters.regime == setup.LINK]
    link = [trial for trial in order if trial.parameters.retransmit_after_s == again_s]
    pairs = list(zip(link[::2], link[1::2], strict=True))
    assert all(one.parameters.nl == other.parameters.nl and one.variant != other.variant for one, other in pairs)
    assert all(one.seed == other.seed for one, other in pairs)
    assert {one.variant for one, _ in pairs} == set(setup.VARIANTS)


def test_figures_7_and_8_share_their_trials_of_emulated_switches() -> None:
    link, other = ({trial.trial_id for trial in BY_ID[name].trials(PLAN)} for name in ("pso-fig7", "pso-fig8"))
    assert link & other == {name for name in link if setup.LINK in name and not is_retransmitted(name)}
    assert any(setup.REAL in name for name in other)


def is_retransmitted(trial_id: str) -> bool:
    return f"-{setup.RETRANSMIT_AFTER_S}/" in trial_id


def test_what_the_paper_ran_50_times_a_full_campaign_runs_50_times() -> None:
    full = CampaignPlan(quick=False, seed=3)
    for name, regimes in (("pso-fig7", {setup.LINK}), ("pso-fig8", {setup.LINK, setup.REAL})):
        trials = [trial for trial in BY_ID[name].trials(full) if trial.parameters.regime in regimes]
        points = {
            (trial.parameters.regime, trial.parameters.nl, trial.parameters.retransmit_after_s) for trial in trials
        }
        assert len(trials) == len(points) * len(setup.VARIANTS) * setup.PAPER_REPETITIONS
        for point in points:
            seeds = {
                trial.seed
                for trial in trials
                if (trial.parameters.regime, trial.parameters.nl, trial.parameters.retransmit_after_s) == point
            }
            assert len(seeds) == setup.PAPER_REPETITIONS


def test_a_fifo_whose_switches_drop_as_in_the_paper_holds_and_one_that_drops_nothing_differs() -> None:
    words = "retransmission: high class dropped with FIFO"
    assert claim(BY_ID["pso-fig7"].claims(rows_of("pso-fig7")), words).verdict == HOLDS
    nothing = BY_ID["pso-fig7"].claims(rows_of("pso-fig7", lost=lambda _variant, _nl: 0.0))
    assert claim(nothing, words).verdict == DIFFERS


def test_a_fifo_whose_dropped_share_may_lie_outside_the_papers_interval_is_undecided() -> None:
    rows = rows_of("pso-fig7")
    for row in rows:
        if row["variant"] == "fifo":
            row["classes"]["high"]["dropped_percent"] = 2.0 if row["round"] % 2 else 8.0
    assert claim(BY_ID["pso-fig7"].claims(rows), "retransmission: high class dropped with FIFO").verdict == UNDECIDED


SHARES_APART = [
    ("pso-fig7", "dropped_percent", "retransmission: share of the high class dropped, FIFO less PSO"),
    ("pso-fig8", "answered", "throughput, PSO less FIFO"),
    ("pso-fig9", "lost_percent", "messages lost, FIFO less PSO"),
]


@pytest.mark.parametrize(("name", "key", "words"), SHARES_APART)
@pytest.mark.parametrize(
    ("fifo", "verdict"), [((5.0, 5.2), HOLDS), ((0.4, 0.6), DIFFERS), ((0.0, 0.0), DIFFERS), ((0.0, 4.0), UNDECIDED)]
)
def test_a_pso_that_loses_less_is_judged_beside_the_fifo_of_its_round_and_noise_decides_nothing(
    name: str, key: str, words: str, fifo: tuple[float, float], verdict: str
) -> None:
    rows = rows_of(name, lost=lambda _variant, _nl: 0.0)
    for row in rows:
        percent = fifo[row["round"] % 2] if row["variant"] == "fifo" else 0.0
        row["classes"]["high"][key] = 1000 - round(10 * percent) if key == "answered" else percent
    found = claim(BY_ID[name].claims(rows), words)
    assert (found.measured, found.verdict) == (pytest.approx(sum(fifo) / 2), verdict)


def test_loads_of_the_issue_are_covered() -> None:
    assert (min(setup.LINK_NLS), max(setup.LINK_NLS)) == (0.2, 1.2)
    assert {1.1} <= set(setup.LINK_NLS) & set(setup.CPU_NLS)
    assert set(setup.BEHAVIOURS) <= set(misbehave.BEHAVIOURS)


@pytest.mark.parametrize("name", ["pso-fig7", "pso-fig8", "pso-fig9"])
def test_a_pso_that_keeps_its_promise_holds(name: str) -> None:
    results = BY_ID[name].claims(rows_of(name))
    assert claim(results, "hop delay, PSO / FIFO" if name == "pso-fig7" else "delay, PSO / FIFO, NL >").verdict == HOLDS
    if name == "pso-fig7":
        assert claim(results, "knee of FIFO").measured == 0.8
        assert claim(results, "high class lost with PSO, NL 1.1").verdict == HOLDS
        assert claim(results, "answers of all classes, PSO").verdict == HOLDS
        assert claim(results, "rate of the link in use").verdict == HOLDS
        assert claim(results, "share of the link that ack").measured == 20.0
    if name == "pso-fig8":
        assert claim(results, "throughput with PSO").measured == pytest.approx(100.0)
        assert claim(results, "throughput with FIFO").measured == pytest.approx(95.0)


def test_a_pso_that_is_no_better_differs() -> None:
    results = BY_ID["pso-fig7"].claims(rows_of("pso-fig7", lambda _variant, nl: 90 if nl > 0.8 else 2))
    found = claim(results, "hop delay, PSO / FIFO")
    assert found.verdict == DIFFERS
    assert found.measured == pytest.approx(1.0)


def test_a_lost_high_packet_breaks_the_goal_of_none() -> None:
    results = BY_ID["pso-fig7"].claims(rows_of("pso-fig7", lost=lambda _variant, nl: 0.05 if nl > 1 else 0.0))
    assert claim(results, "high class lost with PSO, NL 1.1").verdict == DIFFERS
    assert claim(results, "high class lost with PSO, NL > 0.8").verdict == HOLDS


def test_a_controller_that_answers_nothing_is_judged_by_its_loss() -> None:
    rows = rows_of("x-misbehaving")
    for row in rows:
        if (row["variant"], row["parameters"]["behaviour"]) == ("fifo", "endless"):
            row["classes"]["high"].update(answered=0, lost_percent=100.0, mean_ms=None, p99_ms=None)
    results = BY_ID["x-misbehaving"].claims(rows)
    assert claim(results, "high class lost, FIFO (stock Ryu), lists without end").measured == 100.0
    assert NO_DATA not in {result.verdict for result in results}


def test_without_rows_there_is_no_data() -> None:
    for figure in BY_ID.values():
        if figure.id == fig10.ID:
            continue
        assert {result.verdict for result in figure.claims([])} == {NO_DATA}


def test_the_knee_is_the_last_load_before_congestion() -> None:
    rows = rows_of("pso-fig7")
    assert knee(ROWS.read(rows), Choice(setup.LINK), HIGH, "fifo") == 0.8
    assert knee(ROWS.read(rows), Choice(setup.LINK), HIGH, "pso") == 1.2
    some = [row for row in rows if not (row["round"] == 3 and row["variant"] == "fifo")]
    assert knee_interval(ROWS.read(some), Choice(setup.LINK), HIGH, "fifo").low is None, "one repetition is whole"
    assert knee_interval(ROWS.read(rows), Choice(setup.LINK), HIGH, "fifo").low is not None
    crowded = rows_of("pso-fig7", lost=lambda _variant, _nl: 1.0)
    assert knee(ROWS.read(crowded), Choice(setup.LINK), HIGH, "fifo") is None


@pytest.mark.parametrize("n_rules", fig10.RULES)
def test_tables_of_figure_10_have_as_many_rules_as_they_say(n_rules: int) -> None:
    assert len(parse_pmt(table_text(n_rules)).rules) == n_rules


def test_the_formula_gives_the_papers_46_us() -> None:
    results = BY_ID[fig10.ID].claims(rows_of(fig10.ID))
    assert [result.verdict for result in results[:2]] == [BY_CONSTRUCTION] * 2
    assert claim(results, "classifying a packet-in, 64 rules, the last").measured == 9.0


@pytest.mark.parametrize("name", list(BY_ID))
def test_every_id_is_judged_tabled_and_drawn(name: str) -> None:
    pytest.importorskip("matplotlib")
    figure, rows = BY_ID[name], rows_of(name)
    for given in (rows, rows[:1]):
        judged = judge_figure(figure, [row["trial"] for row in given], given, None)
        header, lines = figure.table(judged.rows)
        assert lines
        assert all(len(line) == len(header) for line in lines)
        assert figure.draw(judged.rows, judged.caption).axes


def share_rows(high_pps: Callable[[str], float], low_pps: Callable[[str], float]) -> list[Json]:
    rows = []
    for trial in BY_ID["x-shares"].trials(PLAN):
        row = made_up(trial)
        for name, pps in (("high", high_pps), ("low", low_pps)):
            row["classes"][name]["answers_pps"] = pps(row["variant"]) + trial.round / 100
        rows.append({**row, "capacity_pps": 1000.0})
    return rows


def test_classes_that_share_the_link_as_their_scheduler_says_hold() -> None:
    low = {"strict": 10.0, "weighted": 200.0, "min-rate": 300.0}
    kept = BY_ID["x-shares"].claims(share_rows(lambda _variant: 600.0, low.__getitem__))
    assert {each.verdict for each in kept} == {HOLDS}


def test_classes_that_share_the_link_equally_differ() -> None:
    equal = BY_ID["x-shares"].claims(share_rows(lambda _variant: 400.0, lambda _variant: 400.0))
    assert [each.verdict for each in equal[:3]] == [DIFFERS] * 3


def test_commands_beside_a_flood_as_estimated_hold() -> None:
    kept = BY_ID[x_by_class.ID].claims(rows_of(x_by_class.ID))
    assert {each.verdict for each in kept} == {HOLDS}


def test_commands_in_a_wrong_order_and_a_connection_that_changes_nothing_differ() -> None:
    rows = [row | {"violations": int(row["variant"] == "by-class")} for row in rows_of(x_by_class.ID)]
    results = BY_ID[x_by_class.ID].claims(rows)
    wrong = [each for each in results if each.name.startswith("dependent commands in the wrong order")]
    assert [(each.verdict, each.measured) for each in wrong] == [(HOLDS, 0.0), (DIFFERS, len(rows) / 2)]
    same = {(row["trial"].rpartition("/")[0]): row for row in rows if row["variant"] == "main"}
    measured = ("effect", "confirmed", "reordered")
    alike = [row | {key: same[row["trial"].rpartition("/")[0]][key] for key in measured} for row in rows]
    results = BY_ID[x_by_class.ID].claims(alike)
    bounds = [each for each in results if each.unit == "ratio" and str(each.band).startswith("at ")]
    assert bounds
    assert not [each for each in bounds if each.verdict == HOLDS]


def path_rows(packet_ins: Callable[[str], float], delay: Delay) -> list[Json]:
    rows = []
    for trial in BY_ID[x_path_setup.ID].trials(PLAN):
        assert trial.variant is not None
        row = made_up(trial, delay)
        rows.append(row | {"packet_ins": round(row["flows"] * packet_ins(trial.variant.name))})
    return rows


def test_variants_of_path_setup_have_the_same_arrivals_and_take_turns_in_being_first() -> None:
    trials = BY_ID[x_path_setup.ID].trials(PLAN)
    rounds = [trials[at : at + len(x_path_setup.VARIANTS)] for at in range(0, len(trials), len(x_path_setup.VARIANTS))]
    assert all(
        {trial.variant for trial in each} == set(x_path_setup.VARIANTS) and len({t.seed for t in each}) == 1
        for each in rounds
    )
    assert len({each[0].variant for each in rounds}) == setup.repetitions(PLAN, PATH_SETUP)
    assert len({trial.trial_id for trial in trials}) == len(trials)


def test_a_path_at_once_that_saves_packet_ins_and_time_holds() -> None:
    rows = path_rows(
        lambda variant: 4.0 if variant == "each-asks" else 1.0,
        lambda variant, _: 20.0 if variant == "each-asks" else 5.0,
    )
    results = BY_ID[x_path_setup.ID].claims(rows)
    assert [result.verdict for result in results if result.band] == [BY_CONSTRUCTION] * 2 + [HOLDS] * 2
    assert claim(results, "packet-ins a flow over 4 switches, each switch asks").measured == 4.0
    assert len(BY_ID[x_path_setup.ID].table(rows).rows) == len(x_path_setup.FLOWS_PPS) * len(x_path_setup.VARIANTS)


def test_a_path_at_once_that_saves_nothing_differs() -> None:
    results = BY_ID[x_path_setup.ID].claims(path_rows(lambda _variant: 4.0, lambda _variant, _: 20.0))
    assert claim(results, "packet-ins a flow over 4 switches, path at once, confirmed").verdict == DIFFERS
    assert claim(results, "median delay of first packets, path at once / each switch asks, 150").verdict == DIFFERS
