"""Charts: what pictures share, and the pictures of single runs."""
