"""Readers of topology files: GraphML, GML (both as the Topology Zoo writes them) and our own JSON."""
