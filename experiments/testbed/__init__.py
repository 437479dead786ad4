"""The only part of the experiments that touches networks: runs, trials, instruments, traffic."""
