"""Failover over arc-disjoint arborescences: their packing, and the rows that follow them."""
