"""The `failures` list of a scenario; each kind of failure is a module of this folder."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from experiments.scenario.failure import Failure, LinkFailure
from experiments.scenario.fields import Context, known_keys, mapping, one_of, sequence, stated, with_default
from experiments.scenario.folders import find_kinds
from experiments.scenario.keys import Document, NetworkContext, read_keys, write_keys
from mininet_topos.errors import BadInputError
from mininet_topos.lines import Line
from mininet_topos.topology import LinkId, Topology

Kinds = Mapping[str, type[Failure]]


@cache
def failure_kinds() -> Kinds:
    """Every kind of failure by its name."""
    return find_kinds(Failure, "failures")


def read_failures(context: Context, line: Line | None, topology: Topology) -> tuple[Failure, ...]:
    """Read the list of failures, in the order of their times.

    Raises
    ------
    BadInputError
        An unknown link or node, a repair before the failure, a target that fails while it is still down, or a
        value out of its range.
    """
    if line is None:
        return ()
    there = NetworkContext(context.file_name, topology)
    failures = [_failure(there, entry) for entry in sequence(context, line, "failures")]
    failures.sort(key=lambda failure: failure.at_s)
    _refuse_overlaps(context, failures)
    return tuple(failures)


def failure_to_document(failure: Failure) -> Document:
    """The entry that gives a failure back."""
    kind = {} if failure.kind == failure.target else {"kind": failure.kind}
    return write_keys(failure, failure.keys) | kind


def link_failure(kind: str, at_s: float, link: LinkId) -> LinkFailure:
    """A failure of a link that lasts.

    Raises
    ------
    BadInputError
        No such kind of link failure.
    """
    kinds = {name: each for name, each in failure_kinds().items() if issubclass(each, LinkFailure)}
    if kind not in kinds:
        raise BadInputError(f"{kind!r} is no failure of a link; use one of {', '.join(kinds)}")
    return kinds[kind](at_s, link)


def _failure(context: NetworkContext, entry: Line) -> Failure:
    kinds = failure_kinds()
    fields = mapping(context, entry, "a failure")
    names = dict.fromkeys(key.name for each in kinds.values() for key in each.keys)
    known_keys(context, fields, ["kind", *names], "a failure")
    fields = stated(fields)
    kind = _kind(context, entry, fields, kinds)
    if "at_s" not in fields:
        raise context.error(entry, "a failure needs at_s, the second at which it happens; add 'at_s: 5'")
    for name, line in fields.items():
        if name not in ("kind", *(key.name for key in kind.keys)):
            raise context.error(line, f"{name} does not go with a {kind.kind} failure; remove it")
    kind.check(context, entry, fields)
    failure = kind(**read_keys(context, fields, kind.keys), line=entry.number)
    if failure.repair_at_s is not None and failure.repair_at_s <= failure.at_s:
        raise context.error(
            fields["repair_at_s"],
            f"repair_at_s {failure.repair_at_s:g} is not after at_s {failure.at_s:g}; repair later than the failure",
        )
    return failure


def _kind(context: NetworkContext, entry: Line, fields: Mapping[str, Line], kinds: Kinds) -> type[Failure]:
    """The kind of an entry: one of those of what fails. `kill` names its switch by `node`, which can fail itself."""
    targets = list(dict.fromkeys(each.target for each in kinds.values()))
    given = [target for target in targets if target in fields]
    fitting = {
        name: each
        for name, each in kinds.items()
        if each.target in given and set(given) <= {key.name for key in each.keys}
    }
    if not fitting:
        problem = f"names both {given[0]} and {given[1]}" if given else "names nothing that fails"
        raise context.error(entry, f"a failure {problem}; give one of {', '.join(targets)}")
    usual = next((name for name, each in fitting.items() if each.usual), next(iter(fitting)))
    return fitting[with_default(fields, "kind", one_of(tuple(fitting)), context, usual)]


def _refuse_overlaps(context: Context, failures: list[Failure]) -> None:
    """A thing that is already down cannot fail again before its repair."""
    down_until: dict[str, tuple[float | None, Failure]] = {}
    for failure in failures:
        target = failure.occupies
        if target is None:
            continue
        until_s, earlier = down_until.get(target, (0.0, failure))
        if earlier is not failure and (until_s is None or failure.at_s < until_s):
            until = "for good" if until_s is None else f"until {until_s:g} s"
            problem = f"{failure.what} fails at {failure.at_s:g} s but is down {until} (line {earlier.line})"
            raise context.error(failure.line, f"{problem}; repair it first")
        down_until[target] = (failure.end_s, failure)
