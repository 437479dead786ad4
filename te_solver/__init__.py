"""Where traffic should go: routes, tunnels, allocations, and what failures cost. No OpenFlow here."""
