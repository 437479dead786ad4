"""Fan-out, counters and settings of the PSO service."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mininet_topos.errors import BadInputError
from ryu_apps.control.decide.settings import ARMOR
from ryu_apps.control.priority.decide.counters import Counters, DelayHistogram, live_table
from ryu_apps.control.priority.decide.fan_out import for_class_connection
from ryu_apps.control.priority.decide.settings import PSO, PsoSettings
from ryu_apps.openflow import encode
from tests.pmt.messages import bare, valid_messages


@pytest.mark.parametrize(("role", "copied"), [(1, 1), (2, 1), (3, 3)])
def test_a_master_has_equals_beside_it_and_a_slave_slaves(role: int, copied: int) -> None:
    request = bare(24, struct.pack("!I4xQ", role, 5))
    assert for_class_connection(request) == bare(24, struct.pack("!I4xQ", copied, 5))


def test_class_connections_hear_of_fragments_and_of_packet_in_masks_and_of_nothing_else() -> None:
    config = encode.set_config(128)
    assert for_class_connection(config) == config
    masks = bare(28, struct.pack("!6I", 3, 1, 7, 7, 15, 15))
    assert for_class_connection(masks) == bare(28, struct.pack("!6I", 3, 1, 0, 0, 0, 0))
    copied = {message[1] for message in valid_messages() if for_class_connection(message) is not None}
    assert copied <= {9, 24, 28}


@given(delays=st.lists(st.floats(0, 99), min_size=1, max_size=60), percent=st.sampled_from((50, 90, 99, 100)))
def test_a_percentile_is_never_too_low_and_at_most_a_tenth_of_a_decade_too_high(
    delays: list[float], percent: int
) -> None:
    histogram = DelayHistogram()
    for delay in delays:
        histogram.observe(delay)
    exact = sorted(delays)[-(-len(delays) * percent // 100) - 1]
    shown = histogram.percentile_s(percent)
    assert shown is not None
    assert exact <= shown <= max(exact * 10**0.1 * (1 + 1e-9), 1.001e-5)
    assert histogram.count == len(delays)


def test_a_class_without_messages_has_no_delays() -> None:
    assert DelayHistogram().percentile_s(50) is None
    assert Counters().of("receive", 1).to_json()["delay_ms"] == {"p50": None, "p90": None, "p99": None, "max": None}


def test_the_live_table_names_classes_and_errors() -> None:
    counters = Counters()
    counters.of("receive", 2).received = 12345
    counters.error("malformed")
    text = live_table(counters, {2: "queue_id:1"}, (2, 0))
    assert "2 queue_id:1" in text
    assert "12345" in text
    assert text.endswith("errors: malformed 1")
    assert len(text.splitlines()) == 8


def test_the_environment_wins_over_the_file_and_defaults_fill_the_rest() -> None:
    settings = PSO.read({"pmt": "a", "report_s": "2"}, {"ARMOR_PSO_PMT": "b"})
    assert settings == PsoSettings(pmt="b", report_s=2.0)
    assert PSO.read({}, {}) == PsoSettings()
    assert {each.name for each in PSO.settings} == set(PsoSettings.__dataclass_fields__)
    assert PsoSettings(switch_db="tcp:{control_ip}:6641").database_of("10.0.0.1") == "tcp:10.0.0.1:6641"


def test_the_allow_list_is_found_where_no_app_of_armor_gives_its_required_settings() -> None:
    assert ARMOR.read_one("allowed_switches", {}, {"ARMOR_ALLOWED_SWITCHES": "a"}) == "a"
    assert ARMOR.read_one("allowed_switches", {"allowed_switches": "b"}, {}) == "b"
    assert ARMOR.read_one("allowed_switches", {}, {}) == ""


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("ARMOR_PSO_PTM", "x", "ARMOR_PSO_PTM is no setting of pso; known: ARMOR_PSO_PMT"),
        ("ARMOR_PSO_SEND_QUEUE", "0", "send_queue = '0' is no whole number; give one from 1"),
        ("ARMOR_PSO_REPORT_S", "-1", "report_s = '-1' is no time in seconds"),
        ("ARMOR_PSO_SWITCH_DB", "tcp:{node}:1", "may hold {control_ip} only"),
        ("ARMOR_PSO_SWITCH_DB", "db.sock", "write unix:PATH, tcp:HOST:PORT or ssl:HOST:PORT"),
        ("ARMOR_PSO_METRICS_PORT", "70000", "metrics_port = '70000'"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named(name: str, value: str, words: str) -> None:
    with pytest.raises(BadInputError) as caught:
        PSO.read({}, {name: value})
    assert words in str(caught.value)
