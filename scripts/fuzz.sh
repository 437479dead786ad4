#!/usr/bin/env bash
# Fuzz every reader for MINUTES minutes (default 2). The first time, atheris is installed into .venv.
set -euo pipefail
cd "$(dirname "$0")/.."
readonly PYTHON=.venv/bin/python LOG=.venv-setup.fuzz.log

if ! "$PYTHON" -c 'import atheris' 2>/dev/null; then
    echo "fuzz: atheris into .venv (once)"
    PIP_DISABLE_PIP_VERSION_CHECK=1 "$PYTHON" -m pip install --no-input -c requirements/constraints.txt atheris \
        </dev/null >"$LOG" 2>&1 ||
        { echo "fuzz: pip cannot install atheris, check the network and pip's configuration (log: $LOG)" >&2; exit 2; }
fi
exec "$PYTHON" -m tests.fuzz.run --minutes "${MINUTES:-2}" "$@"
