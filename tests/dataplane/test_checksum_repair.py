"""The replay fills in a checksum that the sending host left to its card, and touches nothing else of any frame."""

from __future__ import annotations

import random
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from dataplane.model.tunnel_header import checksum

HEADER = Path(__file__).resolve().parents[2] / "dataplane" / "replay_agent" / "checksum.h"
# Frames come and go with their length before them, each in memory of exactly that length, so that a sanitizer sees
# what is read or written beyond it.
PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include "%s"
int main(void)
{
    uint32_t length;
    while (fread(&length, sizeof length, 1, stdin) == 1) {
        uint8_t *frame = malloc(length ? length : 1);
        if (fread(frame, 1, length, stdin) != length)
            return 1;
        fill_checksum(frame, length);
        fwrite(frame, 1, length, stdout);
        free(frame);
    }
    return 0;
}
"""
TCP, UDP = 6, 17
FIELD = {TCP: 16, UDP: 6}
SHORTEST = {TCP: 20, UDP: 8}


def pseudo_sum(ip: bytes, protocol: int, length: int) -> int:
    """What a host leaves in the field for its card: the folded sum of the pseudo-header."""
    return checksum(ip[12:20] + struct.pack("!BBH", 0, protocol, length)) ^ 0xFFFF


def full_checksum(ip: bytes, protocol: int, transport: bytes) -> int:
    """RFC 793 and 768: over pseudo-header and data, with the field as 0; UDP sends 0 as 0xffff."""
    field = FIELD[protocol]
    clear = transport[:field] + b"\0\0" + transport[field + 2 :]
    whole = ip[12:20] + struct.pack("!BBH", 0, protocol, len(transport)) + clear + b"\0" * (len(clear) % 2)
    made = checksum(whole)
    return made or (0xFFFF if protocol == UDP else 0)


def frames(dice: random.Random, protocol: int, tags: int, options: int) -> tuple[bytes, bytes, bytes]:
    """A frame with a right checksum, one whose checksum was left out, and where the transport header begins."""
    transport = dice.randbytes(SHORTEST[protocol] + dice.randrange(1400))
    head = bytes([0x45 + options, 0]) + struct.pack("!H", 20 + 4 * options + len(transport)) + dice.randbytes(2)
    ip = head + b"\x40\0" + bytes([64, protocol]) + dice.randbytes(2) + dice.randbytes(8 + 4 * options)
    ethernet = dice.randbytes(12) + b"\x81\0\0\7" * tags + b"\x08\0"
    padding, field = dice.randbytes(dice.choice((0, 0, 7))), FIELD[protocol]

    def with_field(value: int) -> bytes:
        return ethernet + ip + transport[:field] + struct.pack("!H", value) + transport[field + 2 :] + padding

    right = with_field(full_checksum(ip, protocol, transport))
    left_out = with_field(pseudo_sum(ip, protocol, len(transport)))
    return right, left_out, ethernet + ip


@pytest.fixture(scope="module")
def repair(tmp_path_factory: pytest.TempPathFactory):  # type: ignore[no-untyped-def]
    """The function of the agent, for a list of frames."""
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    folder = tmp_path_factory.mktemp("checksum")
    (folder / "repair.c").write_text(PROGRAM % HEADER, encoding="utf-8")
    words = ["gcc", "-std=c11", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    subprocess.run([*words, "-o", str(folder / "repair"), str(folder / "repair.c")], check=True, timeout=120)

    def run(given: list[bytes]) -> list[bytes]:
        fed = b"".join(struct.pack("=I", len(one)) + one for one in given)
        done = subprocess.run([str(folder / "repair")], input=fed, capture_output=True, check=False, timeout=120)
        assert (done.returncode, done.stderr) == (0, b"")
        found, at = [], 0
        for one in given:
            found.append(done.stdout[at : at + len(one)])
            at += len(one)
        return found

    return run


def test_a_checksum_that_was_left_out_is_made_and_a_right_one_stays(repair) -> None:  # type: ignore[no-untyped-def]
    dice = random.Random(random.randrange(1 << 30))
    cases = [
        frames(dice, dice.choice((TCP, UDP)), dice.choice((0, 0, 1, 2)), dice.choice((0, 0, 1, 10))) for _ in range(500)
    ]
    for (right, _, _), made in zip(cases, repair([left_out for _, left_out, _ in cases]), strict=True):
        assert made == right
    assert repair([right for right, _, _ in cases]) == [right for right, _, _ in cases]


def test_wrong_checksums_fragments_and_cut_frames_are_left_alone(repair) -> None:  # type: ignore[no-untyped-def]
    dice, given = random.Random(random.randrange(1 << 30)), []
    for _ in range(300):
        right, left_out, before = frames(dice, dice.choice((TCP, UDP)), 0, dice.choice((0, 3)))
        if right == left_out:
            continue  # once in 65,536 a right checksum looks like one that was left out
        wrong = bytearray(right)
        wrong[len(before)] ^= 0x5A  # the checksum does not fit any more, and is not one that was left out
        fragment = left_out[:20] + dice.choice((b"\x20\0", b"\0\1")) + left_out[22:]
        cut = left_out[: dice.randrange(len(before) + 8)]
        other = left_out[:23] + b"\1" + left_out[24:]
        given += [bytes(wrong), fragment, cut, other]
    assert repair(given) == given


def test_no_frame_makes_it_read_beyond_its_end(repair) -> None:  # type: ignore[no-untyped-def]
    dice, given = random.Random(random.randrange(1 << 30)), []
    for _ in range(3000):
        _, left_out, before = frames(dice, dice.choice((TCP, UDP)), dice.choice((0, 1)), dice.choice((0, 10)))
        damaged = bytearray(left_out[: dice.choice((len(left_out), dice.randrange(len(before) + 30)))])
        for _ in range(dice.choice((1, 3))):
            if damaged:
                damaged[dice.randrange(min(len(damaged), 60))] = dice.randrange(256)
        given.append(bytes(damaged))
    assert len(repair(given)) == len(given)
