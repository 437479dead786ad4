"""Text of reports, decided by values alone."""
