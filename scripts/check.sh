#!/usr/bin/env bash
# Format, lint, strict types on the pure modules, then every test with coverage; stops at the first that fails.
# Arguments go to pytest: scripts/check.sh -k interpret
set -euo pipefail
cd "$(dirname "$0")/.."

# No command may wait for an answer, whoever starts the checks.
exec </dev/null

echo "== ruff format and lint"
.venv/bin/ruff format --check --quiet .
.venv/bin/ruff check --quiet .

echo "== mypy --strict on the pure modules"
.venv/bin/python -m tests.quality.layers | xargs .venv/bin/mypy

echo "== pytest"
exec .venv/bin/pytest --cov --cov-report=term "$@"
