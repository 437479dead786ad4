#!/usr/bin/env bash
# Format and lint.
set -euo pipefail
cd "$(dirname "$0")/.."

echo "== ruff format and lint"
.venv/bin/ruff format --check --quiet .
.venv/bin/ruff check --quiet .
