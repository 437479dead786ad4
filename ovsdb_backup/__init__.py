"""What happens on a switch: the backup table in OVSDB, and the agent that reads it when a link fails."""
