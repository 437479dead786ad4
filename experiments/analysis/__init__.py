"""From raw records to results: captures, accounting, timelines, dumps against plans. Pure."""
