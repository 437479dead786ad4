"""The campaign machine: trials in a fixed order, one stored row each, claims judged from rows alone."""
