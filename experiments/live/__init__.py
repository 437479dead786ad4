"""The page that shows a network recover: recorded runs, exports, running networks."""
