#!/bin/sh
# Run a command as root: directly, or through sudo, which keeps nothing of the caller's environment but what is named here.
set -eu
if [ "$(id -u)" = 0 ]; then
    exec "$@"
fi
if ! command -v sudo >/dev/null; then
    echo "$(basename "$1"): needs root and there is no sudo: run make as root" >&2
    exit 2
fi
for name in http_proxy https_proxy ARMOR_STATE_DIR CI; do
    eval "value=\${$name-}"
    [ -z "$value" ] || set -- "$name=$value" "$@"
done
exec sudo env "$@"
