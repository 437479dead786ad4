"""A disk that can be filled up: what was there before is there afterwards, and nothing stays mounted."""

from __future__ import annotations

import errno
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from emulation.clean import clean_all
from machine.small_disk import fill_disk, free_disk, mount_small_disk, unmount_small_disk

pytestmark = pytest.mark.emulation


KILLED = """
import os, signal, sys
from pathlib import Path
from emulation.runfile import RunFile
from machine.small_disk import fill_disk, mount_small_disk

run = RunFile("test", folder=Path(sys.argv[1]))
run.add_folder(run.temporary_folder)
mount_small_disk(run.temporary_folder, 1)
fill_disk(run.temporary_folder)
print(run.temporary_folder, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def folder(tmp_path):
    yield tmp_path / "disk"
    unmount_small_disk(tmp_path / "disk")


def test_a_full_disk_takes_nothing_until_it_is_freed(folder):
    folder.mkdir()
    (folder / "before").write_text("hidden", encoding="ascii")
    mount_small_disk(folder, 1)
    assert not (folder / "before").exists()
    for name in ("one", "two"):
        fill_disk(folder)
        with pytest.raises(OSError, match="No space") as caught:
            (folder / name).write_bytes(b"x")
        assert caught.value.errno == errno.ENOSPC
        free_disk(folder)
        free_disk(folder)
        (folder / name).write_bytes(b"x")
    unmount_small_disk(folder)
    unmount_small_disk(folder)
    assert [path.name for path in folder.iterdir()] == ["before"]


def test_clean_up_after_a_killed_run_takes_the_disk_away(tmp_path):
    said = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE, text=True, check=False)
    assert said.returncode == -signal.SIGKILL
    folder = Path(said.stdout.strip())
    assert folder.is_mount()
    clean_all(folder=tmp_path)
    assert not folder.exists()
    assert str(folder) not in Path("/proc/mounts").read_text(encoding="utf-8")
