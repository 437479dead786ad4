"""One self-contained HTML page from folders of results: what was asked, what was measured, and how to repeat it."""
