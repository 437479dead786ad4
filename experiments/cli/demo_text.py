"""The result of `armor demo` for a person: what was shown, one line a stage, the accounts, where the files are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from experiments.analysis.crankback import node_path
from experiments.analysis.timeline import STAGES, stage_label
from experiments.cli.run_lines import claims_lines, name_of, notification_lines
from experiments.terminal.output import table

if TYPE_CHECKING:
    from experiments.analysis.crankback import CrankbackCase
    from mininet_topos.topology import Topology


def demo_text(topology: Topology, case: CrankbackCase, value: dict[str, Any], interval_ms: float) -> str:
    """Text of the whole demo."""
    parts = [heading(topology, case, interval_ms, recovered=any(has_recovered(run) for run in value["runs"]))]
    parts += [run_text(run) for run in value["runs"]]
    folder = value["folder"]
    parts.append(
        "\n".join(
            (
                f"topology with the failed link and both paths:  {folder}/topology.png",
                f"delay of every packet over time:               {folder}/figure.png",
                f"when each switch knew of the failure:           {folder}/knowledge.png",
                f"events, packets, rows, verdict, logs:          {folder}/",
            )
        )
    )
    return "\n\n".join(parts)


def has_recovered(run: dict[str, Any]) -> bool:
    """Whether packets were delivered again while the link was down."""
    return bool(run["failures"]) and run["failures"][0]["recovered"]


def heading(topology: Topology, case: CrankbackCase, interval_ms: float, *, recovered: bool) -> str:
    """What is shown."""
    walk = f"the first packets walk {case.hops_back} hops back to find it" if case.hops_back else "found at the failure"
    if not recovered:
        walk = f"found only by walking {case.hops_back} hops back" if case.hops_back else "not found"
    labels = {node.name: f"{node.name} {node.label}".strip() for node in topology.nodes}
    link = f"{labels[case.link.a]} - {labels[case.link.b]}"
    return "\n".join(
        (
            f"{topology.name}: {labels[case.source]} to {labels[case.destination]}, "
            f"a probe every {interval_ms:g} ms both ways",
            f"  primary   {' '.join(node_path(case.primary))}",
            f"  failure   {link}, silently: carriers stay, only BFD can notice",
            f"  new path  {' '.join(node_path(case.new_path))} ({walk})",
        )
    )


def run_text(run: dict[str, Any]) -> str:
    """One run: timeline, accounts, claims."""
    if "error" in run:
        return f"{name_of(run)}\n  broke off: {run['error']}"
    (failure,) = run["failures"]
    lines = [name_of(run), "", *_timeline(failure), *notification_lines(run), "", *_accounts(run, failure), ""]
    if not has_recovered(run):
        promised = any("recovers from" in claim["name"] for claim in run["claims"])
        promise = "though it promises to" if promised else "and does not promise to for this failure"
        lines += [f"  {run['scheme']} did not recover, {promise}: traffic returned only with the link", ""]
    elif failure["stages_ms"]["steady"] is None:
        lines += [
            f"  {run['scheme']} delivered, but packets backtracked on their way for as long as the link was down",
            "",
        ]
    return "\n".join((*lines, *claims_lines(run)))


def _timeline(failure: dict[str, Any]) -> list[str]:
    rows = [("inject", "0.0 ms", "both ends of the link drop what they send")]
    for name, meaning in STAGES.items():
        stamp = failure["stages_ms"][name]
        rows.append(
            (stage_label(name), "never" if stamp is None else f"{stamp:.1f} ms", meaning if stamp is not None else "")
        )
    return [f"  {line}" for line in table(rows, right=(1,)).splitlines()]


def _accounts(run: dict[str, Any], failure: dict[str, Any]) -> list[str]:
    (probe,) = run["probes"]
    rows = [
        (label, *(f"{probe[way][name]:,}" for name in ("sent", "received", "lost", "backtracked", "duplicated")))
        for way, label in (("out", f"{probe['from']} to {probe['to']}"), ("back", f"{probe['to']} to {probe['from']}"))
    ]
    header = ("packets", "sent", "delivered", "lost", "backtracked", "duplicated")
    lines = [f"  {line}" for line in table(rows, header, right=(1, 2, 3, 4, 5)).splitlines()]
    return [
        *lines,
        f"  outage {failure['outage_ms']:.1f} ms, from the first lost packet to the first good one after it",
    ]
