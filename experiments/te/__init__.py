"""Traffic engineering on the command line: inputs, tables, pictures, sweeps and the figures drawn from them."""
