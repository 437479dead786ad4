"""PMT files: the paper's examples, what is refused and how it is said, text and back."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ryu_apps.pmt.document import MAX_TEXT_BYTES
from ryu_apps.pmt.fields import PMT_FIELDS, read_value, show_value
from ryu_apps.pmt.parse import MAX_RULES, parse_pmt
from ryu_apps.pmt.prerequisites import covers, with_prerequisites
from ryu_apps.pmt.rules import (
    CopyDscp,
    PmtError,
    PolicyMapTable,
    Rule,
    SetDscp,
    ToQueue,
    TrafficType,
)
from ryu_apps.pmt.serial import from_json, show, to_json
from ryu_apps.pmt.validate import notes
from tests.examples import examples
from tests.pmt.strategies import tables

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "pmt"
UDP_20000 = (("ip_proto", 17, None), ("udp_dst", 20000, None))
CONFIGURATION, COMMAND, OTHER, DATA = TrafficType
TYPE_2 = "traffic_type: 2, action: queue_id:1"


def example(name: str) -> PolicyMapTable:
    return parse_pmt((EXAMPLES / name).read_text(), name)


def rule(text: str, head: str = "") -> str:
    return f"{head}rules:\n  - {{{text}}}\n"


def test_example_1_of_the_paper_is_its_four_rules():
    assert example("out_of_band.yaml").rules == (
        Rule(CONFIGURATION, (), ToQueue(0)),
        Rule(COMMAND, UDP_20000, ToQueue(1)),
        Rule(COMMAND, (), ToQueue(2)),
        Rule(OTHER, (), ToQueue(3)),
    )


def test_example_2_of_the_paper_is_its_four_rules():
    assert example("in_band.yaml").rules == (
        Rule(CONFIGURATION, (), SetDscp(7)),
        Rule(COMMAND, (), SetDscp(6)),
        Rule(OTHER, (), SetDscp(5)),
        Rule(DATA, (), CopyDscp()),
    )


def test_example_3_of_the_paper_is_its_five_rules():
    assert example("in_band_service.yaml").rules == (
        Rule(CONFIGURATION, (), SetDscp(7)),
        Rule(COMMAND, UDP_20000, SetDscp(6)),
        Rule(COMMAND, (), SetDscp(5)),
        Rule(OTHER, (), SetDscp(4)),
        Rule(DATA, (), CopyDscp()),
    )


def test_classes_are_numbered_from_the_most_urgent():
    assert [str(each.action) for each in example("out_of_band.yaml").classes] == [f"queue_id:{n}" for n in range(4)]
    marked = example("in_band_service.yaml")
    assert [(each.class_id, str(each.action)) for each in marked.classes] == [
        (1, "dscp:CS7"),
        (2, "dscp:CS6"),
        (3, "dscp:CS5"),
        (4, "dscp:CS4"),
    ]


@pytest.mark.parametrize("text", ["", "# nothing\n", "rules: []", "{}", "---\n"])
def test_a_file_without_rules_is_plain_openflow(text):
    table = parse_pmt(text)
    assert (table.rules, table.classes) == ((), ())
    assert "treated equally" in notes(table)[0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (rule("traffic_type: 2, udp_dts: 5, action: queue_id:1"), ["udp_dts", "did you mean udp_dst"]),
        (rule("traffic_type: 2, zzz: 5, action: queue_id:1"), ["'zzz'", "known: in_port"]),
        (rule("traffic_type: 5, action: queue_id:1"), ["traffic_type: 5", "1 to 4"]),
        (rule("traffic_type: 2"), ["lacks action"]),
        (rule("action: queue_id:1"), ["lacks traffic_type"]),
        (rule("traffic_type: 2, action: queue:1"), ["queue:1", "queue_id:N"]),
        (rule("traffic_type: 2, action: queue_id:65535"), ["queue_id:65535"]),
        (rule("traffic_type: 2, action: dscp:CS8"), ["dscp:CS8"]),
        (rule("traffic_type: 2, action: dscp:copy"), ["dscp:copy", "write dscp:CSn"]),
        (rule("traffic_type: 2, tcp_dst: 1, udp_dst: 2, action: queue_id:1"), ["tcp_dst", "udp_dst", "two rules"]),
        (rule("traffic_type: 2, ip_proto: 6, udp_dst: 2, action: queue_id:1"), ["ip_proto 0x6", "udp_dst"]),
        (rule("traffic_type: 2, arp_op: 1, ipv4_dst: 10.0.0.1, action: queue_id:1"), ["arp_op", "ipv4_dst"]),
        (rule("traffic_type: 2, ipv6_dst: '::1', ipv4_dst: 10.0.0.1, action: queue_id:1"), ["ipv4_dst", "ipv6_dst"]),
        (rule("traffic_type: 2, eth_type: 0x806, tcp_dst: 1, action: queue_id:1"), ["eth_type 0x806", "tcp_dst"]),
        (rule("traffic_type: 1, udp_dst: 2, action: queue_id:1"), ["udp_dst", "traffic type 1", "no packet"]),
        (rule("traffic_type: 3, in_port: 2, action: queue_id:1"), ["in_port", "traffic type 3"]),
        (rule("traffic_type: 2, udp_dst: 65536, action: queue_id:1"), ["65536", "0..65535"]),
        (rule("traffic_type: 2, udp_dst: -1, action: queue_id:1"), ["'-1'", "whole number"]),
        (rule("traffic_type: 2, udp_dst: 0x10/0xf0, action: queue_id:1"), ["udp_dst cannot be masked"]),
        (rule("traffic_type: 2, udp_dst: [1, 2], action: queue_id:1"), ["udp_dst", "a list"]),
        (rule("traffic_type: 2, ipv4_dst: 10.0.0.1/8, action: queue_id:1"), ["10.0.0.1/8", "10.0.0.0/255.0.0.0"]),
        (rule("traffic_type: 2, ipv4_dst: 10.0.0.0/33, action: queue_id:1"), ["/33"]),
        (rule("traffic_type: 2, ipv4_dst: 0.0.0.0/0, action: queue_id:1"), ["leave ipv4_dst out"]),
        (rule("traffic_type: 2, ipv4_dst: ten, action: queue_id:1"), ["'ten'", "IPv4 address"]),
        (rule("traffic_type: 2, eth_dst: 1:2:3, action: queue_id:1"), ["'1:2:3'", "MAC address"]),
        (rule("traffic_type: 2, vlan_vid: 4096, action: queue_id:1"), ["4096", "0..4095"]),
        (rule("traffic_type: 2, action: queue_id:1, action: queue_id:2"), ["'action' stands twice"]),
        (rule("traffic_type: 2, action: queue_id:1", "data_dscp: drop\n"), ["data_dscp: drop", "refuse or re-mark"]),
        (rule("traffic_type: 2, action: queue_id:1", "by_class: [packets]\n"), ["by_class: packets", "commands"]),
        (rule("traffic_type: 2, action: queue_id:1", "version: 2\n"), ["version '2'"]),
        (rule("traffic_type: 2, action: queue_id:1", "rule: 2\n"), ["'rule'", "did you mean rules"]),
        (rule(TYPE_2, "scheduler: fifo\n"), ["scheduler: fifo", "strict or weighted or min-rate"]),
        (rule(TYPE_2, "shares: {unmatched: 2}\n"), ["nothing with strict", "scheduler: weighted"]),
        (rule(TYPE_2, "scheduler: weighted\nshares: {queue_id:2: 3}\n"), ["'queue_id:2'", "did you mean queue_id:1"]),
        (rule(TYPE_2, "scheduler: weighted\nshares: {unmatched: 0}\n"), ["share of unmatched is '0'", "above 0"]),
        (
            rule(TYPE_2, "scheduler: min-rate\nshares: {queue_id:1: 80, unmatched: 30}\n"),
            ["110 %", "lower them to 100"],
        ),
        ("scheduler: weighted\n", ["no classes", "add rules"]),
        ("rules:\n  - traffic_type\n", ["a rule must be a mapping", "traffic_type"]),
        ("rules: 3\n", ["rules must be a list"]),
        ("- 1\n", ["a PMT must be a mapping", "a list"]),
        ("rules: [\n", ["not YAML"]),
        ("rules: [*a]\n", ["alias *a"]),
        ("{[1]: 2}", ["a key of a PMT must be a word"]),
    ],
)
def test_a_bad_file_is_refused_with_file_value_and_repair(text, words):
    with pytest.raises(PmtError) as caught:
        parse_pmt(text, "my.yaml")
    message = str(caught.value)
    assert message.startswith("my.yaml:")
    assert "\n" not in message
    assert all(word in message for word in words), message


def test_errors_name_the_line():
    text = rule("traffic_type: 1, action: queue_id:0") + "  - traffic_type: 2\n    udp_dst: x\n    action: queue_id:1\n"
    with pytest.raises(PmtError, match=r"^f:4: udp_dst: 'x'"):
        parse_pmt(text, "f")


@pytest.mark.parametrize(
    "later", ["traffic_type: 2, udp_dst: 1, action: queue_id:0", "traffic_type: 2, action: queue_id:0"]
)
def test_a_rule_behind_a_more_general_one_is_refused(later):
    with pytest.raises(PmtError, match=r"^f:3: .*can never match: rule 1 of line 2"):
        parse_pmt(f"rules:\n  - {{traffic_type: 2, action: queue_id:1}}\n  - {{{later}}}\n", "f")


def test_a_special_rule_before_a_general_one_or_of_another_type_is_not_hidden():
    text = (
        "rules:\n"
        "  - {traffic_type: 2, udp_dst: 1, action: queue_id:0}\n"
        "  - {traffic_type: 2, udp_src: 1, action: queue_id:1}\n"
        "  - {traffic_type: 2, action: queue_id:1}\n"
        "  - {traffic_type: 4, udp_dst: 1, action: queue_id:2}\n"
    )
    assert len(parse_pmt(text).rules) == 4


def test_classes_without_a_share_get_what_the_scheduler_leaves_them():
    head = "shares: {unmatched: 25}\n"
    weighted, guaranteed = (parse_pmt(rule(TYPE_2, f"scheduler: {each}\n{head}")) for each in ("weighted", "min-rate"))
    assert weighted.class_shares == {1: 1.0, 0: 25.0}
    assert guaranteed.class_shares == {0: 0.25}
    assert parse_pmt(rule(TYPE_2, "scheduler: weighted\n")).class_shares == {1: 2.0, 0: 1.0}
    assert parse_pmt(rule(TYPE_2, "scheduler: min-rate\n")).class_shares == {1: 0.5, 0: 0.25}
    assert parse_pmt(rule(TYPE_2)).class_shares == {}
    whole = parse_pmt(rule(TYPE_2, "scheduler: min-rate\nshares: {queue_id:1: 100}\n"))
    assert any("add up to 100 %" in note for note in notes(whole))


def test_queues_and_marks_do_not_mix():
    with pytest.raises(PmtError, match=r"^f:3: .*no common order"):
        parse_pmt("rules:\n  - {traffic_type: 1, action: queue_id:1}\n  - {traffic_type: 2, action: dscp:CS1}\n", "f")


def test_copied_marks_that_could_outrank_control_need_a_choice():
    text = "rules:\n  - {traffic_type: 2, action: dscp:CS5}\n  - {traffic_type: 4, action: dscp:copy}\n"
    with pytest.raises(PmtError, match=r"^f:3: .*DSCP 40 or more.*data_dscp: refuse or data_dscp: re-mark"):
        parse_pmt(text, "f")
    for choice in ("refuse", "re-mark"):
        assert any("CS5" in note for note in notes(parse_pmt(f"data_dscp: {choice}\n{text}")))


@pytest.mark.parametrize("selector", [5, 6, 7])
def test_data_marked_as_control_is_refused_unless_it_is_re_marked(selector):
    text = f"rules:\n  - {{traffic_type: 2, action: dscp:CS5}}\n  - {{traffic_type: 4, action: dscp:CS{selector}}}\n"
    for head in ("", "data_dscp: refuse\n"):
        with pytest.raises(PmtError, match="use dscp:CS4 or less"):
            parse_pmt(head + text)
    assert parse_pmt("data_dscp: re-mark\n" + text).rules[1].action == SetDscp(selector)


def test_data_below_control_needs_no_choice():
    assert parse_pmt("rules:\n  - {traffic_type: 2, action: dscp:CS5}\n  - {traffic_type: 4, action: dscp:CS4}\n")


def test_nothing_is_below_cs0_so_control_there_leaves_no_place_for_data():
    with pytest.raises(PmtError, match="mark control CS1 or more"):
        parse_pmt(
            rule("traffic_type: 2, action: dscp:CS0", "data_dscp: re-mark\n")
            + "  - {traffic_type: 4, action: dscp:copy}\n"
        )


def test_data_in_a_queue_of_control_is_refused():
    with pytest.raises(PmtError, match="use queue_id:2 or more"):
        parse_pmt("rules:\n  - {traffic_type: 2, action: queue_id:1}\n  - {traffic_type: 4, action: queue_id:1}\n")


def test_too_many_rules_and_too_long_texts_are_refused():
    rules = "".join(f"  - {{traffic_type: 2, udp_dst: {n}, action: queue_id:1}}\n" for n in range(MAX_RULES + 1))
    with pytest.raises(PmtError, match=f"more than {MAX_RULES}"):
        parse_pmt("rules:\n" + rules)
    with pytest.raises(PmtError, match=f"at most {MAX_TEXT_BYTES} bytes"):
        parse_pmt("#" * (MAX_TEXT_BYTES + 1))


def test_mac_addresses_stay_text_where_yaml_would_see_a_number_of_base_60():
    table = parse_pmt(rule("traffic_type: 2, eth_dst: 12:34:56:12:34:56, action: queue_id:1"))
    assert table.rules[0].match == (("eth_dst", 0x123456123456, None),)


def test_a_vlan_id_says_that_there_is_a_tag():
    table = parse_pmt(rule("traffic_type: 2, vlan_vid: 5, action: queue_id:1"))
    assert table.rules[0].match == (("vlan_vid", 0x1005, None),)
    assert with_prerequisites((("vlan_pcp", 3, None),)) == (("vlan_pcp", 3, None), ("vlan_vid", 0x1000, 0x1000))


def test_what_follows_is_added_and_what_does_not_stays_open():
    assert with_prerequisites((("udp_dst", 1, None),)) == (("ip_proto", 17, None), ("udp_dst", 1, None))
    both = with_prerequisites((("icmpv6_type", 128, None),))
    assert both == (("eth_type", 0x86DD, None), ("icmpv6_type", 128, None), ("ip_proto", 58, None))


@given(tables())
@examples(100)
def test_a_table_survives_json_and_yaml(table):
    assert from_json(to_json(table)) == table
    assert parse_pmt(show(table)) == table
    assert to_json(from_json(to_json(table))) == to_json(table)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 20000,
        "{a: " * 10000,
        "- " * 20000,
        "\ud800",
        "\0",
        "!!python/name:os.system x",
        r'"\UFFFFFFFF"',
        r'"\U00110000"',
    ],
)
def test_hostile_texts_are_refused_without_harm(text):
    with pytest.raises(PmtError):
        parse_pmt(text)


@given(st.text(max_size=200))
@examples(150)
def test_any_text_is_a_table_or_a_named_error(text):
    try:
        outcome = parse_pmt(text, "f")
    except PmtError as error:
        outcome = str(error)
    assert isinstance(outcome, PolicyMapTable) or outcome.startswith("f:")


@given(st.sampled_from(sorted(PMT_FIELDS)), st.data())
def test_a_value_shown_is_a_value_read(name, data):
    field = PMT_FIELDS[name]
    value = data.draw(st.integers(0, field.full_mask)) | (0x1000 if name == "vlan_vid" else 0)
    assert read_value(field, show_value(field, value, None)) == (value, None)


@given(tables())
@examples(50)
def test_every_match_covers_itself_and_the_empty_match_covers_all(table):
    for each in table.rules:
        assert covers(each.match, each.match)
        assert covers((), each.match)
        assert not each.match or not covers(each.match, ())
