"""What the page shows, as values."""
