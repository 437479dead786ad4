"""What the network is: topologies as values. Only `mininet_topos.emulation` knows Mininet."""
