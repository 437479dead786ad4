"""SD-FAST's evaluation (sections IV, V of the paper), re-measured."""
