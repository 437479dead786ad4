"""Decisions of the package above as pure functions: no clock, no socket, no randomness."""
