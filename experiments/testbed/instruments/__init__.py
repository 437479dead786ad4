"""Instruments: packet captures, probe and load streams, and the watcher of port states. Shells, all of them."""
