"""The traffic of demands on a running network, and what became of it: flows of TCP and UDP, ten samples a second."""
