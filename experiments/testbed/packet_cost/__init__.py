"""What tables, groups and learned rules cost a packet on Open vSwitch's userspace datapath, cached and not."""

from experiments.testbed.packet_cost.decide.counters import LOOKUPS
from experiments.testbed.packet_cost.decide.paths import PATHS
from experiments.testbed.packet_cost.decide.summary import CostSummary, summarise, summary_lines
from experiments.testbed.packet_cost.measure import Session, measure, session

__all__ = ["LOOKUPS", "PATHS", "CostSummary", "Session", "measure", "session", "summarise", "summary_lines"]
