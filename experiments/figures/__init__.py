"""Pictures of results, drawn from values or from the rows of a result folder. matplotlib is imported when drawing."""
