"""When the rules of a campaign's verdicts were committed, and whether they have changed since.

A verdict is a test of a prediction only if claims, bands, metrics and set-ups stood in the repository before the run.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TypedDict

RULES = (
    "experiments/figures",
    "experiments/campaign",
    "experiments/analysis",
    "experiments/testbed",
    "experiments/scenario",
    "emulation",
    "ryu_apps/schemes",
    "ryu_apps/plan/options.py",
    "ryu_apps/plan/choices.py",
)
"""What decides a verdict: claims with bands and margins, spacing of probes, control delays; draws, statistics; metrics;
how a trial is run and its clocks; defaults of scenarios; links, delays and BFD; promise and mode of each scheme, how
many failures a packet names (K), who notifies of a failure."""


class Registration(TypedDict):
    """The last commit before a run that changed the rules; None for all of it that nobody can know.

    `changed` names the files of the rules that differ now; `run_was_changed` says whether the run's own checkout had
    changes that no commit holds.
    """

    commit: str | None
    committed_at: str | None
    changed: list[str] | None
    run_was_changed: bool | None


UNKNOWN = Registration(commit=None, committed_at=None, changed=None, run_was_changed=None)


def registration_of(run_commit: str | None, repository: Path) -> Registration:
    """Registration of a run.

    Parameters
    ----------
    run_commit
        Commit of the run as its environment.json has it, with "+" if the checkout was changed.
    repository
        Where the rules are now.
    """
    if run_commit is None:
        return UNKNOWN
    commit = run_commit.rstrip("+")
    try:
        registered, committed_at = _git(repository, "log", "-1", "--format=%H %cI", commit, "--", *RULES).split()
        differing = _git(repository, "diff", "--name-only", registered, "--", *RULES)
        untracked = _git(repository, "ls-files", "--others", "--exclude-standard", "--", *RULES)
    except (OSError, subprocess.CalledProcessError, ValueError):
        return UNKNOWN  # no git, no repository, or one without that commit
    return Registration(
        commit=registered,
        committed_at=committed_at,
        changed=sorted({*differing.splitlines(), *untracked.splitlines()}),
        run_was_changed=run_commit.endswith("+"),
    )


def registration_text(found: Registration) -> str:
    """One line for people.

    Examples
    --------
    >>> registration_text(UNKNOWN)
    'rules of the verdicts registered: unknown (the run names no commit, or this is no repository that has it)'
    """
    if found["commit"] is None or found["committed_at"] is None:
        why = "the run names no commit, or this is no repository that has it"
        return f"rules of the verdicts registered: unknown ({why})"
    changed = found["changed"] or []
    shown = ", ".join(changed[:3]) + (f" and {len(changed) - 3} more" if len(changed) > 3 else "")
    since = f"changed since: {shown}" if changed else "unchanged since"
    run = "; the run's checkout had changes of its own" if found["run_was_changed"] else ""
    return (
        f"rules of the verdicts registered: commit {found['commit'][:12]} of {found['committed_at'][:10]}, {since}{run}"
    )


def _git(repository: Path, *words: str) -> str:
    return subprocess.run(["git", "-C", str(repository), *words], capture_output=True, text=True, check=True).stdout
