"""Kuijia: what its figures and claims take, how they are judged, and their pictures."""
