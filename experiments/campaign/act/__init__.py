"""The acting half of campaigns: runs trials, keeps rows, draws."""
