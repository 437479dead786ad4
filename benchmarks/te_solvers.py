"""From which size on cvxpy takes longer than 2 s for a throughput program: python -m benchmarks.te_solvers

Each program is solved in a process of its own, as the controller does, so that loading cvxpy or the fast solver counts.
`te_solver.solve.CVXPY_ENTRIES` comes from this table. Where no compiled kernels are stored yet, the fast solver also
compiles them: seconds, once on a machine.
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from benchmarks.te_all_pairs import make
from benchmarks.te_timing import begin, cpu_s
from te_solver.solve import CVXPY_ENTRIES, SolveOptions, chosen_te_solver, solve

# Name, pairs (0: all), largest demand (links have 1).
CASES = (
    ("gscale", 0, 0.1),
    ("darkstrand", 0, 0.05),
    ("random:60:110:1", 0, 0.03),
    ("random:80:140:1", 0, 0.03),
    ("random:100:200:1", 0, 0.03),
    ("random:113:161:1", 0, 0.03),
    ("random:140:180:1", 0, 0.02),
)


def processor_s(case: tuple[str, int, float], te_solver: str) -> tuple[int, int, float, float]:
    """Tunnels, matrix entries, processor seconds, certified gap."""
    problem = make(*case)
    seconds, found = cpu_s(lambda: solve(problem, SolveOptions(te_solver=te_solver)))
    return len(problem.tunnels), len(problem.tunnels) + len(problem.tunnels.arcs), seconds, found.gap


def main() -> None:
    """Print the table."""
    begin(__doc__)
    print(f"auto takes cvxpy up to {CVXPY_ENTRIES} entries")
    for case in CASES:
        for te_solver in ("cvxpy", "fast"):
            with ProcessPoolExecutor(1, get_context("spawn")) as alone:
                tunnels, entries, seconds, gap = alone.submit(processor_s, case, te_solver).result()
            chosen = chosen_te_solver(SolveOptions(te_solver="auto"), entries)
            print(
                f"{case[0]}: {tunnels} tunnels, {entries} entries: {te_solver} {seconds:.2f} CPU s, gap {gap:.1e}"
                f"{', chosen' if te_solver == chosen else ''}",
                flush=True,
            )


if __name__ == "__main__":
    main()
