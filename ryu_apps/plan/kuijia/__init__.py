"""Kuijia: traffic engineering over tunnels whose failure moves only their own traffic, into a lower queue."""
