"""Who may speak for which datapath id: the rule, the allow-list's file, and connections that claim another's id."""

from __future__ import annotations

import socket
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.loadgen.ports import free_port
from mininet_topos.catalogue import load_topology
from mininet_topos.errors import BadInputError
from ryu_apps.control.decide.peers import AllowList, Peer, read_allow_list, why_refused
from tests.control.priority.running import PMT
from tests.control.running import DummyNetwork, RunningApp
from tests.dummy_ovs import DummyOvs
from tests.patience import patient_s, wait_until

PEERS = [Peer("10.0.0.1"), Peer("10.0.0.1", "s1"), Peer("10.0.0.2", "s1"), Peer("10.0.0.2", "s2")]
LIST = AllowList({"s1": frozenset((1,)), "s2": frozenset((2, 3))}, {"10.0.0.1": frozenset((4,))})


@given(st.integers(1, 5), st.sampled_from(PEERS), st.sampled_from([None, *PEERS]), st.sampled_from([None, LIST]))
def test_an_id_stays_with_its_end_and_only_the_listed_may_have_it(dpid, peer, present, allow_list):
    listed = {("10.0.0.1", ""): {4}, ("10.0.0.1", "s1"): {1, 4}, ("10.0.0.2", "s1"): {1}, ("10.0.0.2", "s2"): {2, 3}}
    may = (present is None or present == peer) and (allow_list is None or dpid in listed[peer])
    said = why_refused(dpid, peer, present, allow_list)
    assert (said is None) == may
    if said is not None:
        assert peer.address in said
        assert hex(dpid) in said


def test_a_file_says_who_may():
    text = "- {certificate: s1, dpids: [1]}\n- {certificate: s2, dpids: [2]}\n- {certificate: s2, dpids: [3]}\n"
    assert read_allow_list(text + "- {address: 10.0.0.1, dpids: [4]}\n", "f") == LIST


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{}", "f:1: an allow-list is a list"),
        ("[]", "f:1: an allow-list is a list"),
        ("- {certificate: s1}", "f:1: an entry has dpids"),
        ("- {certificate: s1, address: 10.0.0.1, dpids: [1]}", "f:1: an entry has dpids"),
        ("- {name: s1, dpids: [1]}", "f:1: an entry has dpids"),
        ("- {certificate: s1, dpids: [1]}\n- {certificate: 7, dpids: [1]}", "f:2: certificate is '7'"),
        ("- {address: s1, dpids: [1]}", "f:1: address is 's1'; give an IP address"),
        ("- {certificate: s1, dpids: 1}", "f:1: dpids is '1'"),
        ("- {certificate: s1, dpids: [0]}", r"f:1: dpids is '\[0\]'"),
        ("- {certificate: s1, dpids: [true]}", "f:1: dpids is"),
    ],
)
def test_anything_else_is_refused_with_its_line(text, said):
    with pytest.raises(BadInputError, match=said):
        read_allow_list(text, "f")


class Impostor:
    """A connection from another address that claims a datapath id, and answers what Ryu asks before it is known."""

    def __init__(self, port, dpid):
        self._socket = socket.create_connection(("127.0.0.1", port), patient_s(20), ("127.0.0.2", 0))
        self._dpid = dpid

    def ends(self):
        """Whether the controller closes the connection, after answers to all that it asks."""
        with self._socket as connection, connection.makefile("rb") as stream:
            try:
                self._send(0, 1)
                while head := stream.read(8):
                    _version, kind, length, xid = struct.unpack("!BBHI", head)
                    stream.read(length - 8)
                    self._answer(kind, xid)
            except OSError:
                return True
        return True

    def _answer(self, kind, xid):
        if kind == 5:
            self._send(6, xid, struct.pack("!QIB3xII", self._dpid, 0, 254, 0, 0))
        elif kind == 18:
            self._send(19, xid, struct.pack("!HH4x", 13, 0))
        elif kind == 20:
            self._send(21, xid)

    def _send(self, kind, xid, body=b""):
        self._socket.sendall(struct.pack("!BBHI", 4, kind, 8 + len(body), xid) + body)


def refused(app):
    found = app.get("/armor/mismatches")["mismatches"]
    return [(each["node"], each["text"]) for each in found if each["kind"] == "refused switch"]


@pytest.mark.ryu
@pytest.mark.ovs
@pytest.mark.slow
def test_a_connected_switch_keeps_its_id_and_notices_nothing(tmp_path):
    square = load_topology("square")
    with DummyOvs() as ovs, RunningApp("sdfast", "square", tmp_path) as app:
        network = DummyNetwork(ovs, square)
        network.connect(app.target)
        app.wait_ready()
        for _ in range(3):
            assert Impostor(app.openflow_port, 1).ends()
        wait_until(lambda: refused(app), "the other is named")
        ((node, text),) = refused(app)
        assert (node, "127.0.0.2 claims datapath id 0x1, for which 127.0.0.1 speaks" in text) == ("s1", True)
        assert app.events("disconnect") == []
        assert app.get("/armor/state")["ready"]
        assert network.differing(app) == []


@pytest.mark.ryu
@pytest.mark.slow
@pytest.mark.parametrize("beside", [(), ("ryu_apps/pso.py",)], ids=["alone", "under pso"])
def test_with_an_allow_list_nobody_else_comes_first(tmp_path, beside):
    file = tmp_path / "switches.yaml"
    file.write_text("- {address: 127.0.0.1, dpids: [1, 2, 3, 4]}\n", encoding="utf-8")
    settings = {"allowed_switches": str(file), "pso_pmt": str(PMT), "pso_metrics_port": str(free_port())}
    with RunningApp("sdfast", "square", tmp_path, beside, **settings) as app:
        assert Impostor(app.openflow_port, 2).ends()
        wait_until(lambda: refused(app), "the other is named")
        ((node, text),) = refused(app)
        assert (node, "ids that it may speak for: none" in text) == ("s2", True)
        assert app.events("connect") == []
