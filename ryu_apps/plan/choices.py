"""What users choose by name about plans; the first is the default. Apart from what it chooses, which takes long to
import.
"""

from __future__ import annotations

MODES = ("learned", "agent")  # who ends the backtracking: the data plane, or the switch-local agent

# Schemes of tunnels.
PRIORITIES = ("single", "four", "eight")  # classes and queues
SPLITS = ("ranges", "select")  # hash ranges, or a SELECT group for comparison
TELLERS = ("controller", "agent")  # who tells the ingress about dead tunnels
REPLICATED, TWO_TABLE, DECOMPOSED = SHAPES = ("replicated", "two-table", "decomposed")  # of tables
