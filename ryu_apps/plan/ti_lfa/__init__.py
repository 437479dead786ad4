"""TI-LFA: repairs along the path after convergence, as stacks of labels."""
