"""What to break and when, and what a violation is, decided without acting."""
