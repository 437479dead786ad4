#!/usr/bin/env bash
# Build the documentation site; a warning, for example of a link that leads nowhere, is an error.
# The first time, what the extra `docs` names is installed into .venv; after that no network is needed.
set -euo pipefail
cd "$(dirname "$0")/.."
readonly PYTHON=.venv/bin/python LOG=.venv-setup.docs.log

if ! "$PYTHON" -c 'import furo, myst_parser, sphinx' 2>/dev/null; then
    echo "docs: Sphinx into .venv (once)"
    PIP_CONSTRAINT=requirements/constraints.txt PIP_BUILD_CONSTRAINT=requirements/constraints.txt \
        PIP_DISABLE_PIP_VERSION_CHECK=1 "$PYTHON" -m pip install --no-input --use-pep517 --editable '.[docs]' \
        </dev/null >"$LOG" 2>&1 ||
        { echo "docs: pip cannot install Sphinx, check the network and pip's configuration (log: $LOG)" >&2; exit 2; }
fi
"$PYTHON" -m sphinx -q -W --keep-going -d docs/_build/doctrees docs docs/_build/html "$@"
echo "docs: docs/_build/html/index.html"
