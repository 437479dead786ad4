#!/usr/bin/env bash
# Ask the database of OSV about known vulnerabilities of the Python packages that set-up installs.
# Where it cannot be reached, one sentence says so. Exit code 1: there is one that is not listed below.
set -euo pipefail
cd "$(dirname "$0")/.."
readonly PYTHON=.venv/bin/python TOOL=.venv-audit LOG=.venv-setup.audit.log
readonly SERVICE=${ARMOR_AUDIT_URL:-https://api.osv.dev/v1/vulns/PYSEC-2021-66}
# Ryu 4.34, its last release, reads lists with an entry of length 0 for ever. Armor reads OpenFlow with its own codec
# (docs/security.md, "Beside a rogue switch").
readonly KNOWN=(CVE-2024-3448{3,4,5,6,7,8,9})

if ! "$PYTHON" -c 'import sys, urllib.request; urllib.request.urlopen(sys.argv[1], timeout=5)' "$SERVICE" 2>/dev/null; then
    echo "audit: left out: no answer from $SERVICE, the database of known vulnerabilities"
    exit 0
fi
if [ ! -x "$TOOL/bin/pip-audit" ]; then
    "$PYTHON" -m venv "$TOOL" >"$LOG" 2>&1 &&
        PIP_DISABLE_PIP_VERSION_CHECK=1 "$TOOL/bin/python" -m pip install --no-input -c requirements/constraints.txt pip-audit \
            </dev/null >>"$LOG" 2>&1 ||
        { echo "audit: pip cannot install pip-audit, check the network and pip's configuration (log: $LOG)" >&2; exit 2; }
fi
exec "$TOOL/bin/pip-audit" --requirement requirements/hashes.txt --disable-pip --vulnerability-service osv \
    --progress-spinner off "${KNOWN[@]/#/--ignore-vuln=}"
