"""Packets that carry a serial number, packet-ins around them, and the serial number that an answer is about."""

from __future__ import annotations

import struct

from experiments.loadgen.decide.load import FRAME_BYTES, PacketClass
from ryu_apps.openflow.fields import encode_match
from ryu_apps.openflow.wire import HEADER_BYTES, NO_BUFFER, MsgType, message
from ryu_apps.plan.addressing import host_ipv4, host_mac
from ryu_apps.pmt.classify import Classifier
from ryu_apps.pmt.rules import UNMATCHED_CLASS, PolicyMapTable

MAGIC = b"armorofl"
_ETHERNET_BYTES, _IP_BYTES, _UDP_BYTES = 14, 20, 8
SERIAL_AT = _ETHERNET_BYTES + _IP_BYTES + _UDP_BYTES + len(MAGIC)
_UDP_AT = _ETHERNET_BYTES + _IP_BYTES
_SERIAL = struct.Struct("!Q")
_SMALLEST_PORT, _PORTS = 1024, 60_000
_PACKET_OUT_ACTIONS = 24
_FLOW_MOD_BUFFER, _PACKET_OUT_BUFFER = 32, 8
_BUFFER = struct.Struct("!I")
_NO_MATCH, _TABLE_0, _NO_COOKIE = 0, 0, 0xFFFFFFFFFFFFFFFF
HOST_PORTS = (1, 2)
# Serial numbers from here on are probes: they ask whether a controller answers, and no schedule has them.
FIRST_PROBE = 1 << 30


def frame(serial: int, kind: PacketClass, frame_bytes: int) -> bytes:
    """Ethernet frame with UDP over IPv4 whose payload names its serial number.

    Packets go between two hosts of a switch in turn, so that a learning switch soon knows both; each has a UDP source
    port of its own, so that it is a new flow.
    """
    source, destination = (1, 2) if serial % 2 == 0 else (2, 1)
    ethernet = _mac(destination) + _mac(source) + b"\x08\x00"
    body = MAGIC + _SERIAL.pack(serial)
    padding = bytes(max(0, frame_bytes - _ETHERNET_BYTES - _IP_BYTES - _UDP_BYTES - len(body)))
    udp_bytes = _UDP_BYTES + len(body) + len(padding)
    ports = (_SMALLEST_PORT + serial % _PORTS, kind.udp_dst)
    # Checksum 0: the sender made none (RFC 768).
    udp = struct.pack("!HHHH", *ports, udp_bytes, 0)
    return ethernet + _ip_header(source, destination, udp_bytes) + udp + body + padding


def in_port_of(serial: int) -> int:
    """Port by which a packet of this serial number came in."""
    return HOST_PORTS[serial % 2]


def packet_in(serial: int, packet: bytes, buffered: bool) -> bytes:
    """Packet-in message (OpenFlow 1.3.5 section 7.4.1); buffered packets have their serial number as buffer id."""
    buffer_id = serial if buffered else NO_BUFFER
    head = struct.pack("!IHBBQ", buffer_id, len(packet), _NO_MATCH, _TABLE_0, _NO_COOKIE)
    match = encode_match((("in_port", in_port_of(serial), None),))
    return message(MsgType.PACKET_IN, head + match + b"\0\0" + packet)


def controller_id_of(table: PolicyMapTable | None, kind: PacketClass, frame_bytes: int = FRAME_BYTES) -> int:
    """Controller id that a switch's flow entries name for packets of a class.

    Parameters
    ----------
    table
        None: no entry names one.
    """
    if table is None:
        return UNMATCHED_CLASS
    return Classifier(table).classify(packet_in(0, frame(0, kind, frame_bytes), False)).class_id


def answered_serial(answer: bytes) -> int | None:
    """Serial number of the packet that a message of the controller lets go on; None when it is about none.

    A packet-out names it by its buffer or in its packet, a flow-mod by its buffer (section 7.3.4.1: the packet is then
    processed as if a packet-out had followed).
    """
    msg_type = answer[1]
    if msg_type == MsgType.PACKET_OUT and len(answer) >= _PACKET_OUT_ACTIONS:
        (buffer_id,) = _BUFFER.unpack_from(answer, _PACKET_OUT_BUFFER)
        if buffer_id != NO_BUFFER:
            return int(buffer_id)
        (actions_bytes,) = struct.unpack_from("!H", answer, _PACKET_OUT_BUFFER + 8)
        return serial_of(answer[_PACKET_OUT_ACTIONS + actions_bytes :])
    if msg_type == MsgType.FLOW_MOD and len(answer) >= _FLOW_MOD_BUFFER + _BUFFER.size:
        (buffer_id,) = _BUFFER.unpack_from(answer, _FLOW_MOD_BUFFER)
        return None if buffer_id == NO_BUFFER else int(buffer_id)
    return None


def packet_in_bytes(frame_bytes: int) -> int:
    """Length of a packet-in message with such a frame.

    Examples
    --------
    >>> packet_in_bytes(126)
    168
    """
    return HEADER_BYTES + 16 + 16 + 2 + frame_bytes


def serial_of(packet: bytes) -> int | None:
    """Serial number of a frame of ours; None for any other frame."""
    if packet[SERIAL_AT - len(MAGIC) : SERIAL_AT] != MAGIC or len(packet) < SERIAL_AT + _SERIAL.size:
        return None
    return int(_SERIAL.unpack_from(packet, SERIAL_AT)[0])


def _mac(host: int) -> bytes:
    return bytes.fromhex(host_mac(host).replace(":", ""))


def _ip_header(source: int, destination: int, payload_bytes: int) -> bytes:
    length = _IP_BYTES + payload_bytes
    words = [0x4500, length, 0, 0, 0x4011, 0]
    for address in (host_ipv4(source), host_ipv4(destination)):
        words += [address >> 16, address & 0xFFFF]
    total = sum(words)
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    words[5] = ~total & 0xFFFF
    return struct.pack("!10H", *words)
