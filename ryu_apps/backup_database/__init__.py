"""The plan of a switch in its OVSDB: the controller writes it, the switch's agent reads it."""
