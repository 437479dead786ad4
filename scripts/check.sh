#!/usr/bin/env bash
# Format, lint, strict types, and the tests that take less than a second and need neither root nor daemons.
# Arguments go to pytest: scripts/check.sh -k interpret
set -euo pipefail
cd "$(dirname "$0")/.."
# No command may wait for an answer, whoever starts the checks.
exec </dev/null
unset PYTHONDONTWRITEBYTECODE   # both processes of pytest compile every test otherwise, each time
export NUMBA_DISABLE_JIT=1      # to compile the kernels takes longer than what tests them here

scripts/lint.sh
types=$(mktemp)
trap 'rm -f "$types"' EXIT
scripts/types.sh >"$types" 2>&1 &
mypy=$!
echo "== pytest: quick tests, few examples of each law"
# Two processes: each of them imports everything and collects all tests, so more would not be faster.
failed=0
.venv/bin/pytest -q -m "not emulation and not ovs and not slow" --hypothesis-profile=check \
    -n "$(($(nproc) < 2 ? $(nproc) : 2))" --dist worksteal --durations=5 --durations-min=1 "$@" || failed=1
wait "$mypy" || failed=1
cat "$types"
exit "$failed"
