"""P4-Protect: 1+1 protection measured between two hosts, two nodes and two disjoint paths."""
