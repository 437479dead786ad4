"""1+1 protection (P4-Protect) as rule plans: which packets are numbered and sent by two disjoint tunnels."""
