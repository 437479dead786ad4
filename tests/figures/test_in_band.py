"""x-in-band on rows that are known: what runs, how packets are turned, how claims are judged; and one real trial."""

from __future__ import annotations

import json
import socket
import struct
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.campaign.kinds.in_band import ClassColumns
from experiments.campaign.order import trial_row
from experiments.campaign.values import CampaignPlan, TestbedSettings, Trial
from experiments.figures.beyond import x_in_band
from experiments.testbed.traffic.decide.bounce import UDP_PORTS, class_columns, turned
from experiments.testbed.trials.in_band_trial import HEADER_BYTES, InBandRunner, data_pps, make_network
from tests.figures.found import FIGURES

FIGURE = FIGURES[x_in_band.ID]
QUICK, FULL = (CampaignPlan(quick=quick, seed=3) for quick in (True, False))
DELAY_MS = {(x_in_band.FIFO.name, True): 300.0, (x_in_band.PSO.name, True): 6.0}


def row_of(trial: Trial, **changes: Any) -> dict[str, Any]:
    assert trial.variant is not None
    is_full = trial.parameters.data_share == x_in_band.OVERLOAD
    delay = DELAY_MS.get((trial.variant.name, is_full), 2.0)
    columns = {"offered": 200, "answered": 200, "lost_percent": 0.0, "mean_ms": delay, "p99_ms": 2 * delay}
    return {
        **trial_row(trial, True),
        "parameters": trial.parameters.to_json(),
        "classes": dict.fromkeys(x_in_band.CLASSES, columns),
        "link_share": 1.0 if is_full else 0.7,
        "data_mbps": 1.8,
        **changes,
    }


def verdicts(rows: list[dict[str, Any]]) -> list[str]:
    return [result.verdict for result in FIGURE.claims(rows) if result.band is not None]


def test_both_variants_get_every_load_in_every_round_and_take_turns_in_going_first() -> None:
    for plan, rounds, shares in (
        (FULL, x_in_band.ROUNDS, x_in_band.DATA_SHARES),
        (QUICK, x_in_band.QUICK_ROUNDS, x_in_band.QUICK_SHARES),
    ):
        trials = FIGURE.trials(plan)
        assert (
            len({trial.trial_id for trial in trials}) == len(trials) == rounds * len(shares) * len(x_in_band.VARIANTS)
        )
        firsts = [next(trial.variant for trial in trials if trial.round == number) for number in range(1, rounds + 1)]
        assert firsts[:2] == [x_in_band.FIFO, x_in_band.PSO]
        assert len({trial.session_key for trial in trials}) == rounds * len(x_in_band.VARIANTS)
    assert x_in_band.OVERLOAD in x_in_band.QUICK_SHARES


def test_offered_data_fills_the_share_of_the_link_that_the_load_says() -> None:
    own = next(trial.parameters for trial in FIGURE.trials(QUICK) if trial.parameters.data_share == 1.2)
    frame_bits = 8 * (own.data_bytes + HEADER_BYTES)
    assert data_pps(own) * frame_bits == pytest.approx(1.2 * own.capacity_mbps * 1e6)


def test_variants_differ_in_classes_and_queues_and_share_the_rest() -> None:
    trials = {trial.variant: trial for trial in FIGURE.trials(QUICK)}
    fifo, pso = (make_network(trials[variant]) for variant in x_in_band.VARIANTS)
    assert fifo.options.pmt is None
    assert pso.options.pmt is not None
    for network in (fifo, pso):
        assert network.options.in_band_at == x_in_band.CONTROLLER_AT
        assert network.options.link_queues is not None
        assert network.options.link_queues.control_is_bfd
    assert len(fifo.options.link_queues.traffic_queues) == 1


def test_claims_hold_for_rows_like_those_that_were_measured_and_not_for_others() -> None:
    trials = FIGURE.trials(FULL)
    rows = [row_of(trial) for trial in trials]
    assert verdicts(rows) == ["holds"] * 4
    equal = [
        {**row, "classes": {name: {**each, "mean_ms": 50.0} for name, each in row["classes"].items()}} for row in rows
    ]
    assert verdicts(equal) == ["holds", "differs", "holds", "holds"]
    lossy = [
        {**row, "classes": {name: {**each, "lost_percent": 5.0} for name, each in row["classes"].items()}}
        for row in rows
    ]
    assert verdicts(lossy) == ["differs", "holds", "holds", "holds"]
    idle = [{**row, "link_share": 0.5} for row in rows]
    assert verdicts(idle) == ["holds", "holds", "differs", "differs"]


def test_failed_rows_and_those_of_other_ids_are_left_out() -> None:
    trials = FIGURE.trials(QUICK)
    rows = [row_of(trial) for trial in trials]
    unexpected = [{**row, "status": "failed", "link_share": 0.0} for row in rows]
    others = [{**row, "trial": f"pso-fig9/{row['trial']}", "link_share": 0.0} for row in rows]
    assert FIGURE.claims([*rows, *unexpected, *others]) == FIGURE.claims(rows)
    assert FIGURE.claims([])[0].measured is None
    header, lines = FIGURE.table(rows)
    assert len(lines) == len(x_in_band.QUICK_SHARES) * len(x_in_band.VARIANTS)
    assert {len(line) for line in lines} == {len(header)}


def test_the_picture_is_drawn_from_any_rows() -> None:
    from matplotlib import pyplot

    for rows in ([], [row_of(trial) for trial in FIGURE.trials(FULL)]):
        figure = FIGURE.draw(rows, "caption")
        assert len(figure.axes) == 3
        pyplot.close(figure)


def frame(udp_dst: int, payload: bytes = b"x" * 20) -> bytes:
    udp = struct.pack("!HHHH", 40_000, udp_dst, 8 + len(payload), 0)
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(udp) + len(payload), 1, 0, 64, 17, 0, bytes(4), b"\x0a\0\0\1")
    return b"\x01" * 6 + b"\x02" * 6 + b"\x08\x00" + ip + udp + payload


@pytest.mark.parametrize("port", UDP_PORTS)
def test_a_packet_is_turned_to_its_sender_and_turning_it_twice_gives_it_back(port: int) -> None:
    returning = turned(frame(port))
    assert returning is not None
    assert (returning[:6], returning[6:12], returning[26:30]) == (b"\x02" * 6, b"\x01" * 6, b"\x0a\0\0\1")
    assert struct.unpack_from("!HH", returning, 34) == (port, 40_000)
    assert len(returning) == len(frame(port))
    assert turned(returning) is None  # nobody asks the controller to send an answer back


@given(st.binary(max_size=80))
def test_other_bytes_are_left_alone(data: bytes) -> None:
    assert turned(data) is None or data[12:14] == b"\x08\x00"


def test_other_ports_are_left_alone() -> None:
    assert turned(frame(53)) is None


def test_columns_of_a_class_count_what_did_not_come_back() -> None:
    assert class_columns(4, [3.0, 1.0, 2.0]) == ClassColumns(
        offered=4, answered=3, lost_percent=25.0, mean_ms=2.0, p99_ms=3.0
    )
    assert class_columns(2, []).mean_ms is None
    assert class_columns(0, []).lost_percent is None


def bounced(copies: int, wait_s: float) -> dict[str, object]:
    """What the sender says of ten packets within 0.1 s to a mirror that sends each back so many times."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as mirror:
        mirror.bind(("127.0.0.1", 0))
        mirror.settimeout(60)

        def reflect() -> None:
            for _ in range(10):
                data, sender = mirror.recvfrom(2048)
                for _ in range(copies):
                    mirror.sendto(data, sender)

        thread = threading.Thread(target=reflect)
        thread.start()
        words = ("127.0.0.1", "100", "0.1", str(wait_s), str(mirror.getsockname()[1]))
        program = Path(__file__).resolve().parents[2] / "experiments" / "testbed" / "traffic" / "bounce_probe.py"
        said = subprocess.run([sys.executable, str(program), *words], capture_output=True, text=True, check=True).stdout
        thread.join()
    ((seen),) = json.loads(said).values()
    return dict(seen)


def test_the_sender_counts_from_when_packets_were_due_and_each_packet_once() -> None:
    seen = bounced(2, wait_s=60)  # it ends as soon as all are back
    assert seen["sent"] == len(seen["delays_ms"]) == 10
    assert all(delay >= 0 for delay in seen["delays_ms"])


def test_the_sender_waits_no_longer_than_its_argument_for_what_does_not_come_back() -> None:
    assert bounced(0, wait_s=0.1) == {"sent": 10, "delays_ms": []}


@pytest.mark.emulation
def test_a_trial_gives_its_row(tmp_path: Path) -> None:
    trial = next(trial for trial in FIGURE.trials(QUICK) if trial.variant == x_in_band.PSO)
    settings = TestbedSettings(tmp_path, quick=True, bfd_interval_ms=100, say=lambda _: None)
    with InBandRunner(settings).session(trial) as run:
        row = run(trial)
    assert {name: each["offered"] for name, each in row["classes"].items()} == {"high": 200, "low": 200}
    assert row["classes"]["high"]["answered"] > 0
    assert 0 < row["data_mbps"] < x_in_band.CAPACITY_MBPS
    assert row["unconnected"] == 0
