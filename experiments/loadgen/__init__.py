"""A load of OpenFlow 1.3 packet-ins from emulated switches, and what became of every one of them."""
