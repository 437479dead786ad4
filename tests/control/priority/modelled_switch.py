"""A switch as far as the order of messages matters to it, and messages for it. Entries match an ingress port or all."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from hypothesis import strategies as st

from ryu_apps.openflow import encode
from ryu_apps.openflow.wire import NO_BUFFER, OFPG_ANY, OFPP_ANY, FlowCommand, MsgType, header
from tests.control.priority.running import with_xid
from tests.pmt.messages import bare

ADD, MODIFY, MODIFY_STRICT, DELETE, DELETE_STRICT = FlowCommand
ANY_PORT, ALL_TABLES, ALL_GROUPS = 0, 0xFF, 0xFFFFFFFC
LOW_PORT = 2  # what the table of the tests puts into another class
FLOW_STATS = struct.pack("!HH4x", 1, 0) + struct.pack("!B3xII4xQQ", 0xFF, OFPP_ANY, OFPG_ANY, 0, 0)


def flow_mod(command: int, in_port: int, table: int = 0, group: int = 0, priority: int = 1) -> bytes:
    """A flow-mod; `in_port` 0 matches all, `group` 0 is no action."""
    match = struct.pack("!HH4x", 1, 4) if in_port == ANY_PORT else struct.pack("!HHII4x", 1, 12, 0x80000004, in_port)
    action = struct.pack("!HHI", 22, 8, group) if group else b""
    apply = struct.pack("!HH4x", 4, 8 + len(action)) + action
    head = struct.pack("!QQBBHHHIIIHxx", group, 0, table, command, 0, 0, priority, NO_BUFFER, OFPP_ANY, OFPG_ANY, 0)
    return bare(MsgType.FLOW_MOD, head + match + apply)


def group_mod(command: int, group: int) -> bytes:
    """A group without buckets, made, changed or deleted."""
    return bare(MsgType.GROUP_MOD, struct.pack("!HBxI", command, 0, group))


def messages() -> st.SearchStrategy[bytes]:
    """A message of an app."""
    flows = st.builds(
        flow_mod,
        st.sampled_from(FlowCommand),
        st.integers(0, 3),
        st.sampled_from((0, 0, 1)),
        st.integers(0, 2),
        st.integers(1, 2),
    )
    everywhere = st.builds(flow_mod, st.just(DELETE), st.integers(0, 3), st.just(ALL_TABLES))
    groups = st.builds(group_mod, st.sampled_from((0, 1, 2)), st.sampled_from((1, 2, ALL_GROUPS)))
    others = st.sampled_from(
        (
            encode.barrier_request(),
            encode.set_config(128),
            encode.echo_request(),
            bare(18, FLOW_STATS),
            bare(24, bytes(16)),
        )
    )
    return st.one_of(flows, flows, flows, groups, everywhere, others)


@dataclass
class ModelledSwitch:
    """Entries and groups, and what it has answered: by xid, an error or what a request has shown."""

    flows: dict[tuple[int, int, int], int] = field(default_factory=dict)  # (table, priority, port): group
    groups: set[int] = field(default_factory=set)
    errors: set[int] = field(default_factory=set)

    def carry_out(self, message: bytes) -> None:
        """Do what a message asks."""
        if message[1] == MsgType.GROUP_MOD:
            self._group_mod(message)
        elif message[1] == MsgType.FLOW_MOD:
            self._flow_mod(message)

    def _group_mod(self, message: bytes) -> None:
        command, group = struct.unpack_from("!HxxI", message, 8)
        if command == 2:
            gone = set(self.groups) if group == ALL_GROUPS else {group}
            self.groups -= gone
            self.flows = {key: used for key, used in self.flows.items() if used not in gone}
        elif group == ALL_GROUPS or (group in self.groups) == (command == 0):
            self.errors.add(header(message).xid)
        else:
            self.groups.add(group)

    def _flow_mod(self, message: bytes) -> None:
        (group,) = struct.unpack_from("!Q", message, 8)
        table, command = message[24], message[25]
        (priority,) = struct.unpack_from("!H", message, 30)
        port = struct.unpack_from("!I", message, 56)[0] if message[51] == 12 else ANY_PORT
        key = (table, priority, port)
        if command in (ADD, MODIFY, MODIFY_STRICT) and group and group not in self.groups:
            self.errors.add(header(message).xid)
            return
        if command == ADD:
            self.flows[key] = group
            return
        if command in (MODIFY_STRICT, DELETE_STRICT):
            meant = {key} & set(self.flows)
        else:
            meant = {each for each in self.flows if table in (each[0], ALL_TABLES) and port in (each[2], ANY_PORT)}
        for each in meant:
            if command in (DELETE, DELETE_STRICT):
                del self.flows[each]
            else:
                self.flows[each] = group


def numbered(sequence: list[bytes]) -> list[bytes]:
    """The messages with transaction ids 1, 2, ... ."""
    return [with_xid(message, xid) for xid, message in enumerate(sequence, 1)]


def in_order(sequence: list[bytes]) -> ModelledSwitch:
    """A switch that has got all messages on one connection."""
    switch = ModelledSwitch()
    for message in sequence:
        switch.carry_out(message)
    return switch
