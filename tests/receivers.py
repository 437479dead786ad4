"""Which processors were chosen to receive the packets of an interface."""

from __future__ import annotations

from collections.abc import Iterable

from machine.places import call_inside, run_program


def receivers_of(pid: int, interfaces: Iterable[str]) -> dict[str, list[int]]:
    """Processors that receive, by interface; an empty list: the processor of each sender."""
    names = tuple(interfaces)
    shown = "".join(f" && cat /sys/class/net/{name}/queues/rx-0/rps_cpus" for name in names)
    command = ["unshare", "--mount", "sh", "-c", f"mount -t sysfs none /sys{shown}"]
    masks = [int(line.replace(",", ""), 16) for line in call_inside(pid, lambda: run_program(command)).split()]
    return {
        name: [processor for processor in range(mask.bit_length()) if mask >> processor & 1]
        for name, mask in zip(names, masks, strict=True)
    }
