"""What the network is: topologies as values."""
