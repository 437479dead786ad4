#!/usr/bin/env bash
# Run the tests that a marker expression selects: scripts/test_part.sh NAME EXPRESSION PROCESSES
#
# PROFILE, COVERAGE: see scripts/test.sh. CI repeats the order of tests, as it repeats hypothesis' examples
# (tests/conftest.py); elsewhere each run has another order.
set -euo pipefail
cd "$(dirname "$0")/.."

options=(--hypothesis-profile="${PROFILE:-test}" --durations=10)
[ -z "${COVERAGE:-}" ] || options+=(--cov --cov-report=)
[ -z "${CI:-}" ] || options+=(--randomly-seed=1)

echo "== pytest: $2 (processes: $(($3 ? $3 : 1)))"
COVERAGE_FILE=$PWD/.coverage.$1 .venv/bin/pytest "${options[@]}" -m "$2" -n "$3" --dist worksteal
