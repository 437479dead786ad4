"""Random tables and matches for the tests of the PMT."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from ryu_apps.pmt.fields import PMT_FIELDS
from ryu_apps.pmt.prerequisites import ContradictionError, with_prerequisites
from ryu_apps.pmt.rules import Carried, DataDscp, PmtError, PolicyMapTable, Rule, SetDscp, ToQueue, TrafficType
from ryu_apps.pmt.scheduling import Scheduler, SchedulerKind
from ryu_apps.pmt.validate import check_table

ALL_FIELDS = tuple(sorted(PMT_FIELDS))
ALL_TYPES = tuple(TrafficType)


@st.composite
def matches(draw, names=ALL_FIELDS, smallest=0):
    """A match that some packet can meet."""
    chosen = draw(st.lists(st.sampled_from(names), unique=True, min_size=smallest, max_size=3))
    found = ()
    for name in chosen:
        field = PMT_FIELDS[name]
        value = draw(st.one_of(st.integers(0, 3), st.integers(0, field.full_mask))) & field.full_mask
        if name == "eth_type":
            value = draw(st.sampled_from([0x0800, 0x86DD, 0x0806, 0x8847]))
        elif name == "ip_proto":
            value = draw(st.sampled_from([1, 6, 17, 58, 132]))
        mask = None
        if name == "vlan_vid":
            value |= 0x1000
        elif field.maskable and draw(st.booleans()):
            mask = field.full_mask ^ (1 << draw(st.integers(0, field.n_bits - 1)))
            value &= mask
        try:
            found = with_prerequisites(
                tuple(sorted((*(part for part in found if part[0] != name), (name, value, mask))))
            )
        except ContradictionError:
            continue
    return found


@st.composite
def tables(draw, names=ALL_FIELDS, types=ALL_TYPES):
    """A table that the checks accept."""
    marked = draw(st.booleans())
    rules: tuple[Rule, ...] = ()
    data_dscp = draw(st.sampled_from([DataDscp.REFUSE, DataDscp.RE_MARK]))
    for _ in range(draw(st.integers(0, 6))):
        traffic_type = draw(st.sampled_from(types))
        has_packet = traffic_type in (TrafficType.COMMAND, TrafficType.DATA)
        match = draw(matches(names)) if has_packet else ()
        if traffic_type is TrafficType.DATA:
            action = SetDscp(0) if marked else ToQueue(9)
        else:
            number = draw(st.integers(1, 7))
            action = SetDscp(number) if marked else ToQueue(number)
        longer = PolicyMapTable((*rules, Rule(traffic_type, match, action)), data_dscp)
        try:
            check_table(longer, "strategy")
        except PmtError:
            continue
        rules = longer.rules
    by_class = draw(st.frozensets(st.sampled_from(Carried)))
    table = PolicyMapTable(rules, data_dscp, by_class=by_class)
    return replace(table, scheduler=draw(schedulers(tuple(table.class_names.values())))) if rules else table


@st.composite
def schedulers(draw, names):
    """A scheduler that the checks accept, for classes of these names."""
    kind = draw(st.sampled_from(SchedulerKind))
    if kind is SchedulerKind.STRICT:
        return Scheduler()
    most = 100.0 / len(names) if kind is SchedulerKind.MIN_RATE else 1e6
    shares = draw(st.dictionaries(st.sampled_from(names), st.floats(1e-3, most)))
    return Scheduler(kind, tuple(sorted(shares.items())))
