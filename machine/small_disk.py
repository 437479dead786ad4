"""A small file system for one folder, which can be filled up without filling the machine's disk (needs root)."""

from __future__ import annotations

from io import RawIOBase
from pathlib import Path

from machine.places import run_program

_FILLER = "filler"
_BLOCK_BYTES = 1 << 16


def mount_small_disk(folder: Path, megabytes: int) -> None:
    """Put a file system of some megabytes on a folder; what the folder holds is hidden meanwhile.

    Raises
    ------
    CommandError
        It cannot be mounted.
    """
    run_program(("mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=755", "armor-small-disk", str(folder)))


def unmount_small_disk(folder: Path) -> None:
    """Take the file system away, with all that is on it; a folder without one is left alone.

    Raises
    ------
    CommandError
        It cannot be unmounted.
    """
    if folder.is_mount():
        # Lazily: a process that ends just now may still hold a file open.
        run_program(("umount", "--lazy", str(folder)))


def fill_disk(folder: Path) -> None:
    """Take every free byte of the folder's file system."""
    with (folder / _FILLER).open("ab", buffering=0) as file:
        size = _BLOCK_BYTES
        while size:
            size = _append(file, size)


def _append(file: RawIOBase, size: int) -> int:
    """Write some zeros; how many to try next, fewer once not all had room."""
    try:
        return min(size, file.write(bytes(size)) or 0)
    except OSError:
        return size // 2


def free_disk(folder: Path) -> None:
    """Give back what `fill_disk` took; nothing when the disk is not full."""
    (folder / _FILLER).unlink(missing_ok=True)
