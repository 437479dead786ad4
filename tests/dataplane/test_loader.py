"""What the loader says when something is missing or refused, and that Python and C mean the same bytes."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dataplane import libbpf
from dataplane.decide import protect
from dataplane.decide.sqr import CONTROL_BYTES, FIELDS
from dataplane.loader import LoadedObject, PacketProgramError, find_program_object, run_time_statistics
from dataplane.sqr import find_agent
from mininet_topos.errors import MissingRequirementError

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS, AGENT = ROOT / "dataplane" / "programs", ROOT / "dataplane" / "replay_agent"
STRICT = ("-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror")
REFUSED = """
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
SEC("tc") int refused(struct __sk_buff *skb)
{
    return *(int *)(long)skb->data; /* nobody has looked whether there are so many bytes */
}
char LICENSE[] SEC("license") = "Apache-2.0";
"""


def compile_bpf(source: Path, target: Path) -> subprocess.CompletedProcess[str]:
    if shutil.which("clang") is None:
        pytest.skip("clang is not installed")
    machine = subprocess.run(["gcc", "-print-multiarch"], capture_output=True, text=True, check=True).stdout.strip()
    command = [
        "clang",
        "-std=gnu11",
        "-O2",
        "-g",
        "-target",
        "bpf",
        "-mcpu=v3",
        "-Wall",
        "-Wextra",
        "-Wno-sign-compare",
    ]
    command += ["-Werror", f"-I/usr/include/{machine}", "-c", str(source), "-o", str(target)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize("name", ["protect", "sqr"])
def test_packet_programs_compile_without_a_warning(name: str, tmp_path: Path) -> None:
    done = compile_bpf(PROGRAMS / f"{name}.bpf.c", tmp_path / "object")
    assert (done.returncode, done.stderr) == (0, "")


def test_the_agent_compiles_without_a_warning(tmp_path: Path) -> None:
    command = ["gcc", "-std=c11", "-O2", *STRICT, "-o", str(tmp_path / "agent"), *map(str, sorted(AGENT.glob("*.c")))]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_sources_are_at_most_400_lines_and_set_up_builds_them_all() -> None:
    sources = [*PROGRAMS.iterdir(), *AGENT.iterdir()]
    assert all(len(source.read_text(encoding="utf-8").splitlines()) <= 400 for source in sources)
    script = (ROOT / "scripts" / "setup.sh").read_text(encoding="utf-8")
    assert "dataplane/programs/*.bpf.c" in script
    assert "dataplane/replay_agent/*.c" in script
    packages = (ROOT / "requirements" / "debian.txt").read_text(encoding="utf-8").split()
    assert {"clang", "libbpf-dev"} <= set(packages)


def layout(tmp_path: Path, header: str, expressions: list[str]) -> list[int]:
    """Values of C expressions after a header of the programs."""
    source = tmp_path / "layout.c"
    prints = "".join(f'printf("%zu\\n", (size_t)({expression}));' for expression in expressions)
    text = f'#include <stddef.h>\n#include <stdio.h>\n#include "{PROGRAMS / header}"\nint main(void) {{ {prints} }}\n'
    source.write_text(text, encoding="utf-8")
    subprocess.run(["gcc", "-o", str(tmp_path / "layout"), str(source)], check=True, timeout=60)
    out = subprocess.run([str(tmp_path / "layout")], capture_output=True, text=True, check=True)
    return [int(line) for line in out.stdout.split()]


def test_python_and_c_agree_on_the_control_block(tmp_path: Path) -> None:
    names = list(FIELDS)
    found = layout(
        tmp_path, "sqr.h", [f"offsetof(struct control, {name})" for name in names] + ["sizeof(struct control)"]
    )
    assert found == [FIELDS[name][1] for name in names] + [CONTROL_BYTES]


def test_python_and_c_agree_on_the_sizes_of_map_values(tmp_path: Path) -> None:
    structs = {
        "node": protect._NODE,
        "port": protect._PORT,
        "sending": protect._SENDING,
        "receiving": protect._RECEIVING,
        "flow": protect._FLOW,
        "totals": protect._TOTALS,
    }
    found = layout(tmp_path, "protect.h", [f"sizeof(struct {name})" for name in structs])
    assert found == [pattern.size for pattern in structs.values()]


def test_a_program_that_was_not_built_is_named_with_the_command_that_repairs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    with pytest.raises(MissingRequirementError, match=r"protect was not built.*apt-get install clang libbpf-dev"):
        find_program_object("protect")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingRequirementError, match="armor-sqr-agent was not built; run make setup"):
        find_agent()


def test_a_library_that_is_not_there_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libbpf, "_LIBRARY", "libnone.so.1")
    with pytest.raises(MissingRequirementError, match=r"libnone\.so\.1 is not installed.*apt-get install libbpf1"):
        libbpf.Library()


def test_a_file_that_is_no_program_is_refused_by_name(tmp_path: Path) -> None:
    garbage = tmp_path / "garbage.bpf.o"
    garbage.write_bytes(b"not an object file")
    with pytest.raises(PacketProgramError, match=r"cannot open .*garbage\.bpf\.o"):
        LoadedObject(garbage)


@pytest.mark.emulation
def test_the_verifier_s_reason_is_in_the_message(tmp_path: Path) -> None:
    (tmp_path / "refused.bpf.c").write_text(REFUSED, encoding="utf-8")
    assert compile_bpf(tmp_path / "refused.bpf.c", tmp_path / "refused.bpf.o").returncode == 0
    with pytest.raises(PacketProgramError, match=r"refuses refused\.bpf\.o: .*invalid access to packet"):
        LoadedObject(tmp_path / "refused.bpf.o")


@pytest.mark.emulation
def test_maps_hold_what_was_written_and_refuse_other_lengths() -> None:
    with LoadedObject(find_program_object("sqr"), {"ring": 4}) as loaded:
        chosen = loaded.map("chosen")
        words = [number.to_bytes(4, "little") for number in range(20)]
        for word in words:
            chosen.set(word, word)
        assert sorted(chosen.keys()) == sorted(words)
        chosen.delete(words[3])
        chosen.delete(words[3])
        assert (chosen.get(words[3]), chosen.get(words[4])) == (None, words[4])
        with pytest.raises(PacketProgramError, match="a key of map chosen has 4 bytes, not 5"):
            chosen.get(b"12345")
        with pytest.raises(PacketProgramError, match="a value of map chosen has 4 bytes, not 0"):
            chosen.set(words[0], b"")
        with pytest.raises(PacketProgramError, match="no map nothing"):
            loaded.map("nothing")
        assert loaded.map("ring").entries == 4


@pytest.mark.emulation
def test_run_times_are_counted_while_asked_for() -> None:
    with LoadedObject(find_program_object("sqr"), {"ring": 4}) as loaded:
        program, frame = loaded.program("sqr"), bytes(12) + b"\x08\x06" + bytes(46)
        with run_time_statistics():
            program.test(frame, repeat=100)
        counted = program.run_time()
        assert counted.count >= 100
        assert counted.total_ns > 0
