"""One fault at a time, many times, and how each ended."""
