"""Runs scenarios: builds networks, starts controllers and agents, measures, breaks, repairs, writes it all down."""
