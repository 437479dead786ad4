"""What measured flows say: rates, loss, convergence, and where each flow goes."""
