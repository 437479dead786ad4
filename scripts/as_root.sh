#!/bin/sh
# Run a command as root: directly, or through sudo with the caller's environment.
set -eu
if [ "$(id -u)" = 0 ]; then
    exec "$@"
fi
if ! command -v sudo >/dev/null; then
    echo "$(basename "$1"): needs root and there is no sudo: run make as root" >&2
    exit 2
fi
exec sudo -E "$@"
