"""Words that the source does not use, since the field has a term for what they meant; in names and in prose."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

# Word or phrase -> the term. A space stands for anything between two words, also for "_" or a change of case in a name.
TERMS = {
    "(after|around|before|from|since) (the )?cut|silent cuts?|cut anew|recut": "failure; repartition",
    "alive|dead|die[ds]": "live, up; failed, down; of a process: runs, ended",
    "arms?": "variant",
    "beacons?": "LLDP probe",
    "bench(es)?|laborator(y|ies)": "testbed",
    "by lot|dear|of no account": "at random, expensive, ignored",
    "(came|come|comes|coming) twice|overtaken": "duplicated; reordered",
    "came back|goes round|turned back": "backtracked, returned; loops",
    "demot(ed|ion)": "low-priority queue",
    "detour(s|ed)?": "bypass, backup route, failover row",
    "entrances?": "ingress entry",
    "escalat(e|es|ed|ion)": "failed-set extension",
    "flip(s|ped)?": "injected event",
    "gates?": "condition, drop filter",
    "growing": "increasing, growable",
    "hang(s|ing)? (on|at) (a|the|port|switch)": "is attached to",
    "happenings?|surroundings|wish(es)?": "event, context, configuration",
    "home (connection|class)": "main connection",
    "hopeless|laid|spoiled|spoils": "name the state: no path left, failover rows, failed",
    "kept (session|runner|links?)": "reused, buffered",
    "lanes?": "packets, blocks, rows, fifos",
    "ofload": "armor load",
    "onlookers?|witness(es)?": "passive monitor, second liveness source",
    "sent again": "retransmitted",
    "sheets?": "agent configuration",
    "shed(s|ding)?": "dropped",
    "spoilt": "corrupted, disturbed",
    "stor(y|ies)": "events, stream outcome",
    "strange(rs?)?": "unexpected",
    "swings?": "reverse-path switchover",
    "tell(er|ing) (agent|controller)|told|tells? (it )?of": "notifier, notified",
    "turns back|turning back|walk(s|ed|ing)? back": "backtrack, crankback",
    "visits": "transitions",
    "whoever": "name it: the caller, the controller",
}
# Files with another right to a word: keys of files that earlier versions wrote, these lists.
EXEMPT = (
    "CHANGELOG.md",
    "experiments/campaign/stored_keys.py",
    "tests/campaign/test_store.py",
    "tests/quality/test_words.py",
    "tests/quality/words.py",
)
# Names of Python, of Ryu and of topology data.
_FOREIGN = re.compile("TopologyBench|is_alive|DEAD_DISPATCHER")
_TERM_OF = [(re.compile(rf"\b({pattern})\b"), term) for pattern, term in TERMS.items()]


def complaints(path: PurePosixPath, text: str) -> Iterator[str]:
    """Lines of a file with a refused word, and the term for it. Quoted lines of Markdown ("> ") are others' words."""
    if str(path) in EXEMPT:
        return
    for number, line in enumerate(text.splitlines(), 1):
        if path.suffix == ".md" and line.lstrip().startswith(">"):
            continue
        plain = words_of(line)
        for pattern, term in _TERM_OF:
            if found := pattern.search(plain):
                yield f"{path}:{number}: {found.group()!r}; write: {term}"


def words_of(line: str) -> str:
    """The words of a line in lower case, with one space between them; names are taken apart.

    Examples
    --------
    >>> words_of("class ArmOfTest:  # after_the-cut")
    'class arm of test after the cut'
    """
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", _FOREIGN.sub("", line))
    return " ".join(re.findall(r"[a-z]+", apart.lower()))
