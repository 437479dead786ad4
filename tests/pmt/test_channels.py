"""Controller connections by a PMT: marks in the order of classes, one connection for port status and flow removed."""

from __future__ import annotations

import pytest

from ryu_apps.openflow import encode
from ryu_apps.plan.rows import ChannelRow, sorted_flows
from ryu_apps.pmt.channels import AsyncMask, async_masks, channel_rows, set_async
from ryu_apps.pmt.flows import punt_rows
from ryu_apps.pmt.rules import PmtError, PolicyMapTable, Rule, ToQueue, TrafficType
from tests.dummy_ovs import DummyOvs
from tests.openflow.openflow_client import OpenFlowClient
from tests.pmt.test_rules import example


@pytest.mark.parametrize("name", ["out_of_band.yaml", "in_band_service.yaml"])
def test_a_connection_a_class_has_its_mark_and_the_unmatched_one_has_none(name):
    names = ("unmatched", "class1", "class2", "class3", "class4")
    assert channel_rows(example(name)) == tuple(map(ChannelRow, names, (0, 56, 48, 40, 32)))


def test_without_a_table_there_is_one_connection():
    assert len(channel_rows(PolicyMapTable())) == len(async_masks(PolicyMapTable())) == 1


def test_more_queues_than_marks_have_no_channels():
    rules = tuple(Rule(TrafficType.COMMAND, (("in_port", n, None),), ToQueue(n)) for n in range(8))
    assert len(channel_rows(PolicyMapTable(rules[:7]))) == 8
    with pytest.raises(PmtError, match="8 different queues"):
        channel_rows(PolicyMapTable(rules))


@pytest.mark.parametrize(
    ("name", "chosen"), [("out_of_band.yaml", 1), ("in_band.yaml", 1), ("every_message.yaml", 4), (None, 0)]
)
def test_one_connection_hears_of_ports_and_all_may_get_packets(name, chosen):
    table = example(name) if name else PolicyMapTable()
    masks = async_masks(table)
    assert [mask.class_id for mask in masks] == list(range(len(channel_rows(table))))
    assert [mask.class_id for mask in masks if mask.port_status and mask.flow_removed] == [chosen]
    assert all(mask.packet_in for mask in masks)


@pytest.mark.ryu
def test_ryu_writes_the_same_masks():
    from tests.pmt.ryu_oracle import ryu_datapath

    datapath = ryu_datapath()
    for mask in async_masks(example("out_of_band.yaml")):
        words = [[mask.packet_in] * 2, [mask.port_status] * 2, [mask.flow_removed, 0]]
        theirs = datapath.ofproto_parser.OFPSetAsync(datapath, *words)
        theirs.xid = 7
        theirs.serialize()
        assert bytes(theirs.buf) == set_async(mask, xid=7)


@pytest.mark.ovs
def test_open_vswitch_takes_masks_and_flows_and_shows_the_same_flows():
    table = example("out_of_band.yaml")
    with DummyOvs() as ovs:
        ovs.add_bridge("br0", 1, (1,))
        with OpenFlowClient(ovs.management("br0")) as client:
            for mask in async_masks(table):
                client.send(set_async(mask))
            for row in punt_rows(table):
                client.send(encode.flow_add(row))
            assert client.barrier() == []
            assert sorted_flows(stat.row for stat in client.flows()) == punt_rows(table)
            short = set_async(AsyncMask(0, 0, 0, 0))[:-4]
            client.send(short[:2] + len(short).to_bytes(2, "big") + short[4:])
            assert len(client.barrier()) == 1
