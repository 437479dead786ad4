#!/usr/bin/env bash
# Strict types.
set -euo pipefail
cd "$(dirname "$0")/.."

echo "== mypy --strict on every file of the packages"
.venv/bin/mypy
