"""Where traffic should go: routes, and later tunnels and allocations. No OpenFlow here."""
