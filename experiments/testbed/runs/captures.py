"""The captures of a run as one pcapng file with its failures as comments."""

from __future__ import annotations

from pathlib import Path

from experiments.analysis.annotated import annotated_capture, annotations_of
from experiments.analysis.frames import pcap_records
from experiments.analysis.pcapng import Interface
from experiments.scenario.values import Scenario, Variation
from experiments.testbed.instruments.capture import SNAP_BYTES, Tap
from experiments.testbed.runs.measure import Measured
from machine.whole_file import write_whole
from mininet_topos.ports import assign_ports
from mininet_topos.topology import Topology


def write_captures(path: Path, scenario: Scenario, variation: Variation, measured: Measured) -> None:
    """Write what the taps of a run have captured to a pcapng file.

    Parameters
    ----------
    path
        The file.
    scenario, variation : Scenario, Variation
        What ran.
    measured
        Capture files, stamps of the failures, and the clocks.

    Raises
    ------
    CaptureError
        A capture file cannot be read.
    OSError
        The file cannot be written.
    """
    names = interfaces_of(tuple(measured.captures), scenario.topology)
    captures = {names[tap]: pcap_records(file.read_bytes()) for tap, file in measured.captures.items()}
    annotations = annotations_of(scenario.failures, measured.injected, measured.clock)
    about = (
        f"{variation.name} on {scenario.topology.name}: probes, pings and tagged frames, at most {SNAP_BYTES} bytes "
        "of each. The display filter frame.comment shows the first frame after each failure and repair."
    )
    write_whole(path, annotated_capture(captures, annotations, snap_bytes=SNAP_BYTES, about=about))


def interfaces_of(taps: tuple[Tap, ...], topology: Topology) -> dict[Tap, Interface]:
    """How the devices of taps are called in a capture."""
    ports = assign_ports(topology)
    way_of = {(node, f"{node}-eth{port}"): way for (node, port), way in ports.direction_at.items()}
    interfaces = {}
    for tap in taps:
        way = way_of.get((tap.place, tap.device))
        text = f"host {tap.place}, both directions" if way is None else f"what {way.src} sends to {way.dst}"
        interfaces[tap] = Interface(tap.device, text)
    return interfaces
