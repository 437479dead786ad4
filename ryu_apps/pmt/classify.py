"""Which class a message or a data packet belongs to: the first rule that matches, of a table, decides.

`Classifier` is built once a table; `classify` looks at raw bytes, before any parsing of messages.
"""

from __future__ import annotations

from dataclasses import dataclass

from ryu_apps.plan.rows import Match
from ryu_apps.pmt.fields import PMT_FIELDS
from ryu_apps.pmt.frame import frame_fields
from ryu_apps.pmt.lookup import RuleLookup
from ryu_apps.pmt.message import About, Pinned, Subject, read_subject
from ryu_apps.pmt.rules import (
    UNMATCHED_CLASS,
    DataDscp,
    PolicyMapTable,
    SetDscp,
    ToQueue,
    TrafficType,
)


@dataclass(frozen=True, slots=True)
class Classification:
    """Class of one OpenFlow message.

    Attributes
    ----------
    msg_type
        OFPT number.
    traffic_type
        1 to 3.
    class_id
        `PolicyMapTable.classes`; `UNMATCHED_CLASS` when no rule matches.
    rule_number
        Rule that decided, from 1.
    """

    msg_type: int
    traffic_type: TrafficType
    class_id: int
    rule_number: int | None


@dataclass(frozen=True, slots=True)
class DataTreatment:
    """What happens to one data packet.

    Attributes
    ----------
    rule_number
        Rule that decided, from 1; None: no rule, the packet is treated like any other.
    queue_id, dscp
        Queue, or DSCP that the packet leaves with (None: not chosen, or no IP packet).
    is_refused
        Its DSCP would outrank control and the table refuses such data.
    """

    rule_number: int | None
    queue_id: int | None
    dscp: int | None
    is_refused: bool = False


class Classifier:
    """A table, sorted by traffic type."""

    def __init__(self, table: PolicyMapTable) -> None:
        self.table = table
        class_ids = table.class_ids
        self._classes = (UNMATCHED_CLASS, *(class_ids.get(rule.action, UNMATCHED_CLASS) for rule in table.rules))
        self._matches: dict[TrafficType, list[tuple[int, Match]]] = {traffic_type: [] for traffic_type in TrafficType}
        for number, rule in enumerate(table.rules, 1):
            self._matches[rule.traffic_type].append((number, rule.match))
        # Indexed by the number itself: an enumeration's hash would cost more than the look-up.
        self._lookups = (RuleLookup(()), *(RuleLookup(self._matches[traffic_type]) for traffic_type in TrafficType))

    def classify(self, message: bytes) -> Classification:
        """Class of one whole OpenFlow 1.3 message.

        Raises
        ------
        MalformedMessageError
            The bytes are no such message; no other exception, whatever the bytes.
        """
        subject = read_subject(message)
        number = self._deciding(subject)
        return Classification(subject.msg_type, subject.traffic_type, self._classes[number or 0], number)

    def treat_data(self, frame: bytes, in_port: int) -> DataTreatment:
        """What the table says of one data packet; any bytes."""
        packet = frame_fields(frame) | {"in_port": in_port}
        number = self._lookups[TrafficType.DATA].first(packet)
        rule = None if number is None else self.table.rules[number - 1]
        if rule is not None and isinstance(rule.action, ToQueue):
            return DataTreatment(number, rule.action.queue_id, packet.get("ip_dscp"))
        if "ip_dscp" not in packet:
            return DataTreatment(number, None, None)
        dscp = rule.action.dscp if rule is not None and isinstance(rule.action, SetDscp) else packet["ip_dscp"]
        return self._below_control(number, dscp)

    def _below_control(self, number: int | None, dscp: int) -> DataTreatment:
        lowest = self.table.lowest_control_selector
        if not lowest or dscp < lowest << 3 or self.table.data_dscp is None:
            return DataTreatment(number, None, dscp)
        if self.table.data_dscp is DataDscp.REFUSE:
            return DataTreatment(number, None, dscp, is_refused=True)
        return DataTreatment(number, None, (lowest - 1) << 3)

    def _deciding(self, subject: Subject) -> int | None:
        """Number of the rule that decides; a message about nothing meets only rules without fields."""
        if subject.about is About.MATCH:
            numbered = self._matches[subject.traffic_type]
            return next((number for number, match in numbered if flow_meets(subject.pinned, match)), None)
        return self._lookups[subject.traffic_type].first(subject.packet)


def flow_meets(pinned: Pinned, match: Match) -> bool:
    """Whether every packet that a flow entry matches meets a rule: it pins all bits that the rule looks at."""
    for name, value, mask in match:
        wanted = PMT_FIELDS[name].full_mask if mask is None else mask
        held, held_mask = pinned.get(name, (0, 0))
        if wanted & ~held_mask or held & wanted != value:
            return False
    return True
