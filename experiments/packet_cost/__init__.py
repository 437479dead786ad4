"""What tables, groups and learned rules cost a packet on Open vSwitch's userspace datapath, cached and not."""

from experiments.packet_cost.counters_core import LOOKUPS
from experiments.packet_cost.measure import Session, measure, session
from experiments.packet_cost.paths_core import PATHS
from experiments.packet_cost.summary_core import CostSummary, summarise, summary_lines

__all__ = ["LOOKUPS", "PATHS", "CostSummary", "Session", "measure", "session", "summarise", "summary_lines"]
