"""Networks under random, overlapping faults; after each calm, what holds and what does not."""
