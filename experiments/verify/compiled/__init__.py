"""Plans compiled to arrays, through which many packets walk at once."""
