#!/usr/bin/env bash
# Format, lint, strict types on the pure modules, then every test with coverage; stops at the first that fails.
# Arguments go to pytest, which then runs in one process: scripts/check.sh -k interpret
set -euo pipefail
cd "$(dirname "$0")/.."

# No command may wait for an answer, whoever starts the checks.
exec </dev/null

echo "== ruff format and lint"
.venv/bin/ruff format --check --quiet .
.venv/bin/ruff check --quiet .

echo "== mypy --strict on the pure modules"
.venv/bin/python -m tests.quality.layers | xargs .venv/bin/mypy

# A selection is small: one process. All tests are two parts, because emulated networks side by side disturb each
# other's timing, and other tests theirs; the rest fills the processors.
if [ $# -gt 0 ]; then
    echo "== pytest"
    exec .venv/bin/pytest --cov --cov-report=term "$@"
fi
.venv/bin/coverage erase
# CI repeats the order of tests, as it repeats hypothesis' examples (tests/conftest.py); elsewhere each run has another.
order=${CI:+--randomly-seed=1}
workers=$(($(nproc) < 4 ? $(nproc) : 4))
echo "== pytest: all but emulation, on $workers processors"
# shellcheck disable=SC2086 # no order is no argument
scripts/recheck.sh $order -m "not emulation" -n "$workers" --dist worksteal --cov --cov-append --cov-report=
echo "== pytest: emulation"
# shellcheck disable=SC2086
exec scripts/recheck.sh $order -m emulation --cov --cov-append --cov-report=term
