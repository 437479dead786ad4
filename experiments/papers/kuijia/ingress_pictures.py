"""Picture of `kuijia-ingress`: how the update times are distributed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.campaign.values import Json
from experiments.papers.kuijia import ingress
from experiments.papers.sdfast.canvas import finish, legend, panels, say_empty
from experiments.te.pictures import INK, PALETTE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = dict(zip(ingress.TELLERS, (PALETTE[0], PALETTE[2], "#9a3f06"), strict=True))
_STYLES = dict(zip(ingress.TELLERS, ("-", "--", "-."), strict=True))


def draw_ingress(rows: Sequence[Json], caption: str) -> Figure:
    """Share of updates that are done, over time: from the cut, and from detection."""
    figure, both = panels("Kuijia beyond the paper: when the ingress sends flows of dead tunnels elsewhere", 2)
    for axes, since in zip(both, ingress.SINCE, strict=True):
        _draw(axes, rows, since)
    shown = next((axes for axes in both if axes.lines), both[0])
    legend(figure, shown)
    intervals = sorted({row["bfd_interval_ms"] for row in rows if "ingresses" in row and "bfd_interval_ms" in row})
    found = ingress.table(rows).rows
    failures = max((int(row[-1]) for row in found), default=0)
    missed = sum(ingress.missed(rows).values())
    facts = [
        f"Gscale, {failures} cuts for each line, every ingress switch with a dead tunnel counts; "
        f"BFD every {' or '.join(map(str, intervals)) or '?'} ms, three misses.",
        "An update is done when the last new row is in force (flow monitor of Open vSwitch). Detection: first report "
        f"of a dead port at the link. Idle network. Not updated in time: {missed}.",
    ]
    return finish(figure, facts, caption)


def _draw(axes: Axes, rows: Sequence[Json], since: str) -> None:
    for teller in ingress.TELLERS:
        values = sorted(ingress.updates_ms(rows, teller, since))
        if values:
            shares = [100.0 * (number + 1) / len(values) for number in range(len(values))]
            (line,) = axes.step(
                [values[0], *values], [0.0, *shares], where="post", label=f"told by {teller.name}", lw=1.8
            )
            line.set(color=COLOURS[teller], linestyle=_STYLES[teller])
    if not axes.lines:
        say_empty(axes)
        return
    axes.set_xlabel(f"ms since {ingress.SINCE[since]}", color=INK)
    axes.set_ylabel("ingress updates done (%)", color=INK)
    axes.set_xlim(left=min(0.0, *(min(line.get_xdata()) for line in axes.lines)))
    axes.set_ylim(0, 101)
