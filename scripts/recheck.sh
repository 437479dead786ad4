#!/usr/bin/env bash
# Run pytest with the given arguments; what failed, three tests at most, is run once more, alone.
#
# Tests of real switches and processes share a machine with others, whose load now and then breaks what a test
# presumes. Open vSwitch's own suite has the same second look (RECHECK=yes). Both looks are printed, and so is the name
# of each test that only the second one passed; a test that fails twice, or a fourth failure, fails the whole.
set -euo pipefail
cd "$(dirname "$0")/.."

at_most=3
python=${PYTHON_OF_TESTS:-.venv/bin/python}
cache=$(mktemp -d)
trap 'rm -rf "$cache"' EXIT

status=0
"$python" -m pytest -o cache_dir="$cache" "$@" || status=$?
[ "$status" -eq 1 ] || exit "$status" # 1: tests failed; others: nothing to look at twice

failed=$("$python" -c 'import json, sys; print(*json.load(open(sys.argv[1])), sep="\n")' "$cache/v/cache/lastfailed")
if [ "$(wc -l <<<"$failed")" -gt "$at_most" ]; then
    exit "$status"
fi
echo "== second look, alone, at:"
echo "$failed"
"$python" -m pytest -o cache_dir="$cache" "$@" -n 0 --last-failed --last-failed-no-failures none ${COVERAGE:+--cov-append}
echo "== passed at the second look only (the first failure is printed above):"
echo "$failed"
