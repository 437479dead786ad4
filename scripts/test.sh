#!/usr/bin/env bash
# Format, lint, strict types, then every test; stops at the first that fails.
# Arguments go to pytest, which then runs in one process: scripts/test.sh -k interpret
#
# PROFILE=long: many times the examples and packets (tests/conftest.py, tests/examples.py), and emulation twice more.
# COVERAGE=yes: report the lines and branches that no test has run.
set -euo pipefail
cd "$(dirname "$0")/.."
# No command may wait for an answer, whoever starts the checks.
exec </dev/null
# Tests start a thousand Python processes, which should not compile Armor anew.
unset PYTHONDONTWRITEBYTECODE

profile=${PROFILE:-test}
options=(--hypothesis-profile="$profile")
silence=() report=()
if [ -n "${COVERAGE:-}" ]; then
    .venv/bin/coverage erase
    options+=(--cov --cov-append)
    silence=(--cov-report=) report=(--cov-report=term)
fi
# CI repeats the order of tests, as it repeats hypothesis' examples (tests/conftest.py); elsewhere each run has another.
[ -z "${CI:-}" ] || options+=(--randomly-seed=1)

scripts/lint.sh
scripts/types.sh

# A selection is small: one process.
if [ $# -gt 0 ]; then
    echo "== pytest"
    exec .venv/bin/pytest "${options[@]}" "${report[@]}" "$@"
fi
# Emulated networks would disturb each other's timing and that of other tests, so their tests run by themselves.
workers=$(($(nproc) < 4 ? $(nproc) : 4))
echo "== pytest: all but emulation, in $workers processes"
scripts/recheck.sh "${options[@]}" "${silence[@]}" -m "not emulation" -n "$workers" --dist worksteal --durations=10
for part in emulation $([ "$profile" = long ] && echo emulation emulation); do
    echo "== pytest: $part, in one process"
    scripts/recheck.sh "${options[@]}" "${report[@]}" -m "$part" --durations=10
done
