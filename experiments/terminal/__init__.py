"""What every command shares: what it reads from its user, and what it prints."""
