#!/usr/bin/env bash
# Write the hashes of all packages that set-up installs, from the pins of requirements/constraints.txt:
# requirements/hashes.txt, and requirements/build_hashes.txt for the packages that build others.
# Run it after a pin has changed (`make lock`). It needs the package registry, and a moment for uv.
set -euo pipefail
cd "$(dirname "$0")/.."
readonly CONSTRAINTS=requirements/constraints.txt
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

/usr/bin/python3 -m venv "$folder/uv"
"$folder/uv/bin/python" -m pip install --quiet --no-input -c "$CONSTRAINTS" uv

# Lock what "$@" names into a file, for Python 3.10 and all later ones.
lock() {
    local target=$1
    shift
    "$folder/uv/bin/uv" pip compile --quiet --universal --python-version 3.10 --generate-hashes --no-header --no-annotate \
        --constraints "$CONSTRAINTS" --build-constraints "$CONSTRAINTS" --output-file "$folder/new" "$@" >/dev/null
    { echo "# Made by make lock from requirements/constraints.txt"; cat "$folder/new"; } >"$folder/whole"
    rm "$folder/new"
    mv "$folder/whole" "$target"
    echo "lock: $target, $(grep -c '==' "$target") packages"
}

printf '%s\n' setuptools wheel pbr >"$folder/build.in"
lock requirements/build_hashes.txt "$folder/build.in"
lock requirements/hashes.txt --extra all setup.py
