#!/usr/bin/env bash
# Format, lint, known vulnerabilities of packages, strict types, then every test. All of them run, also after one has failed.
# Arguments go to pytest, which then runs in one process: scripts/test.sh -k interpret
#
# PROFILE=long: many times the examples and packets (tests/conftest.py, tests/examples.py), and emulation twice more.
# COVERAGE=yes: report the lines and branches that no test has run.
#
# Two parts run beside each other. Emulated networks mostly wait, but need the processor at once when a packet comes; the
# other tests compute, and run with the lowest priority (docs/decisions/test-time.md).
set -euo pipefail
cd "$(dirname "$0")/.."
# No command may wait for an answer, whoever starts the checks.
exec </dev/null
# Tests start a thousand Python processes, which should not compile Armor anew.
unset PYTHONDONTWRITEBYTECODE

failed=0
scripts/lint.sh || failed=1

# A selection is small: one process.
if [ $# -gt 0 ]; then
    scripts/types.sh || failed=1
    echo "== pytest"
    [ -z "${COVERAGE:-}" ] || set -- --cov --cov-report=term "$@"
    .venv/bin/pytest --hypothesis-profile="${PROFILE:-test}" "$@" || failed=$?
    exit "$failed"
fi

echo "== known vulnerabilities of Python packages"
scripts/audit.sh || failed=1
[ -z "${COVERAGE:-}" ] || .venv/bin/coverage erase
log=$(mktemp)
workers=$(($(nproc) < 4 ? $(nproc) : 4))
# A session of its own has a priority of its own beside other sessions, where the kernel groups them (autogroup).
setsid nice -n 19 bash -c '
    { echo 19 >/proc/self/autogroup; } 2>/dev/null || true
    export ARMOR_TEST_PATIENCE=${ARMOR_TEST_PATIENCE:-4}  # others come first
    failed=0
    scripts/types.sh || failed=1
    scripts/test_part.sh rest "not emulation" "$1" || failed=1
    exit "$failed"
' bash "$workers" >"$log" 2>&1 &
rest=$!
trap 'kill -TERM -- "-$rest" 2>/dev/null || true; rm -f "$log"' EXIT

times=1
[ "${PROFILE:-}" != long ] || times=3
for _ in $(seq "$times"); do
    scripts/test_part.sh alone "emulation and alone" 0 || failed=1
    scripts/test_part.sh emulation "emulation and not alone" 2 || failed=1
done
wait "$rest" || failed=1
cat "$log"
if [ -n "${COVERAGE:-}" ]; then
    .venv/bin/coverage combine --quiet
    .venv/bin/coverage report
fi
exit "$failed"
