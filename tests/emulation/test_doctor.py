"""The doctor: verdicts from facts, the choice of the BFD interval, and a real look at this machine."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulation.decide.bfd import BfdChoice, choose_bfd_interval
from emulation.decide.delay_line import DelayTrial
from emulation.decide.doctor import DROP_FEATURES, FEATURES, MachineFacts, judge
from emulation.decide.queue_trial import PairOutcome, QueueVerdict, TrialPort
from emulation.decide.queues import LOW_QUEUE
from emulation.doctor import diagnose
from emulation.features import TRIALS
from emulation.requirements import PROGRAMS, require_emulation
from mininet_topos import toy
from mininet_topos.errors import MissingRequirementError

_PORT = TrialPort("testbed", 0, capacity_mbps=10.0)
STRICT = QueueVerdict(LOW_QUEUE, (PairOutcome(_PORT, 1, 2, 96, 96, 120, 81, 0.5),))
UNFAIR = QueueVerdict(LOW_QUEUE, (PairOutcome(_PORT, 1, 2, 96, 80, 120, 97, 0.5),))
EXACT = DelayTrial(delay_ms=5, sent=500, lost=0, error_p50_us=20, error_p99_us=90, error_max_us=300)
HEALTHY = MachineFacts(
    is_root=True,
    programs={"ovs-vswitchd": "3.1.0", "nft": "1.0.6"},
    packages={"ovs-vswitchd": "openvswitch-switch", "nft": "nftables"},
    mininet="2.3.0",
    kernel="6.1",
    features=dict.fromkeys((*FEATURES, *DROP_FEATURES), ""),
    cpus=4,
    load_1min=0.2,
    clock_source="tsc",
    oversleep_p99_ms=0.1,
    delay=EXACT,
    queues=STRICT,
    bfd=BfdChoice(5, stable=True, flaps=((5, 0),)),
    rate_pps=10_000,
    rate_hops=4,
)


def failed(facts: MachineFacts) -> set[str]:
    return {check.check for check in judge(facts).checks if not check.ok}


def test_a_healthy_machine_passes_every_check() -> None:
    assert failed(HEALTHY) == set()
    assert judge(HEALTHY).ok
    assert judge(HEALTHY).bfd_interval_ms == 5


@pytest.mark.parametrize(
    ("changes", "check", "still_possible"),
    [
        ({"is_root": False}, "root", False),
        ({"programs": {"ovs-vswitchd": None, "nft": "1"}}, "ovs-vswitchd", False),
        ({"mininet": None}, "mininet", False),
        ({"features": {**HEALTHY.features, "htb": "unknown"}}, "kernel htb", False),
        ({"features": {**HEALTHY.features, "nft_egress": "no", "clsact": "no"}}, "silent failures", False),
        ({"features": {**HEALTHY.features, "netem": "unknown"}}, "kernel netem", True),
        ({"features": {**HEALTHY.features, "openvswitch": "no module"}}, "kernel openvswitch", True),
        ({"delay": None}, "delay line", True),
        ({"delay": None, "delay_error": "no packet socket"}, "delay line", True),
        ({"delay": replace(EXACT, error_p99_us=900)}, "delay line", True),
        ({"delay": replace(EXACT, lost=3)}, "delay line", True),
        ({"queues": None}, "queues", True),
        ({"queues": None, "queues_error": "no namespace"}, "queues", True),
        ({"queues": UNFAIR}, "queues", True),
        ({"load_1min": 7.0}, "cpu", True),
        ({"oversleep_p99_ms": 9.0}, "clock", True),
        ({"bfd": BfdChoice(100, stable=False, flaps=((100, 2),))}, "bfd", True),
        ({"rate_pps": 1000}, "packet rate", True),
        ({"trial_error": "s1 did not start"}, "trial network", False),
    ],
)
def test_each_fault_fails_its_own_check_only_and_says_how_to_repair_it(
    changes: dict[str, object], check: str, still_possible: bool
) -> None:
    facts = replace(HEALTHY, **changes)  # type: ignore[arg-type]
    assert failed(facts) == {check}
    assert judge(facts).ok is still_possible
    bad = next(row for row in judge(facts).checks if not row.ok)
    assert bad.repair
    assert bad.repair in judge(facts).text()
    assert judge(facts).as_dict()["ok"] is still_possible


def test_an_ordinary_user_is_informed_that_kernel_features_were_not_tried() -> None:
    facts = replace(HEALTHY, is_root=False, features={}, delay=None, queues=None)
    assert failed(facts) == {
        "root",
        "silent failures",
        "delay line",
        "queues",
        *(f"kernel {name}" for name in FEATURES),
    }


def test_every_feature_that_is_tried_is_judged() -> None:
    assert set(TRIALS) == {*FEATURES, *DROP_FEATURES}


@pytest.mark.parametrize(("lacking", "used"), [("clsact", "nft_egress"), ("nft_egress", "clsact")])
def test_either_way_of_dropping_is_enough_and_the_one_used_is_named(lacking: str, used: str) -> None:
    facts = replace(HEALTHY, features={**HEALTHY.features, lacking: "unknown"})
    check = next(check for check in judge(facts).checks if check.check == "silent failures")
    assert check.ok
    assert check.detail == f"by {used}"


@given(st.dictionaries(st.sampled_from((5, 20, 50, 100)), st.integers(0, 500), min_size=1))
def test_the_chosen_interval_is_the_shortest_quiet_one_or_else_the_longest(flaps: dict[int, int]) -> None:
    choice = choose_bfd_interval(flaps)
    quiet = [interval for interval, count in flaps.items() if count == 0]
    assert choice.stable == bool(quiet)
    assert choice.interval_ms in flaps
    if quiet:
        assert choice.interval_ms == min(quiet)
    else:
        assert choice.interval_ms == max(flaps)
    assert str(choice.interval_ms) in choice.describe()


def test_with_nothing_tried_the_slowest_interval_is_taken_and_called_unproven() -> None:
    assert choose_bfd_interval({}) == BfdChoice(100, stable=False, flaps=())


@pytest.mark.parametrize("program", ["ovs-vswitchd", "mnexec", "nft"])
def test_a_missing_program_is_one_sentence_with_its_package(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr("shutil.which", lambda name: None if name == program else f"/bin/{name}")
    with pytest.raises(MissingRequirementError, match=f"{program} not found.*apt-get install {PROGRAMS[program]}"):
        require_emulation()


def test_a_machine_without_namespaces_is_one_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    refusing = tmp_path / "mnexec"
    refusing.write_text("#!/bin/sh\necho 'unshare: Operation not permitted' >&2\nexit 1\n", encoding="ascii")
    refusing.chmod(0o755)
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr("emulation.requirements.missing_programs", lambda _programs: [])
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: object())
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(MissingRequirementError, match=r"namespace here \(unshare: Operation not permitted\); give"):
        require_emulation()


def test_an_ordinary_user_is_asked_to_be_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(MissingRequirementError, match="needs root"):
        require_emulation()


def test_without_a_topology_nothing_is_started() -> None:
    diagnosis = diagnose()
    assert {"root", "mininet", "cpu", "clock", *PROGRAMS} <= {check.check for check in diagnosis.checks}
    assert diagnosis.bfd_interval_ms is None


@pytest.mark.emulation
def test_a_trial_network_gives_a_bfd_interval_and_a_packet_rate() -> None:
    diagnosis = diagnose(toy.pair(), watch_s=0.5)
    checks = {check.check: check for check in diagnosis.checks}
    assert "trial network" not in checks, checks["trial network"].detail
    assert diagnosis.bfd_interval_ms in (5, 20, 50, 100)
    assert "over 2 switches" in checks["packet rate"].detail


@pytest.mark.emulation
def test_the_delay_line_of_this_machine_is_measured() -> None:
    line = next(check for check in diagnose().checks if check.check == "delay line")
    assert line.detail.startswith("5 ms are ")
