"""Workloads of short TCP flows: sizes from published tables, sender and receiver, and what became of each flow."""
