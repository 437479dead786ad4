"""What trials of drawn pairs are made of: pairs, failed links, tunnels and flows, from a trial's own parameters."""
