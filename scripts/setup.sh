#!/usr/bin/env bash
# Prepare this machine for Armor: Debian packages, virtual environment, pinned Python packages, Armor itself, and what
# of it is compiled: two programs, and the packet programs that the kernel runs.
# Idempotent: a stamp keyed by everything that decides the result makes the next run return at once.
# Exit code 2 with one sentence when a right, the package registry or the system is missing.
set -euo pipefail

cd "$(dirname "$0")/.."
readonly PYTHON=/usr/bin/python3 VENV=.venv
readonly STAMP=$VENV/armor-setup.stamp LOG=$VENV-setup.log LOCK=$VENV-setup.lock
readonly DELAY_LINE=$VENV/bin/armor-delay-line DELAY_LINE_SOURCE=dataplane/delay_line/delay_line.c
readonly SQR_AGENT=$VENV/bin/armor-sqr-agent SQR_AGENT_SOURCES=(dataplane/replay_agent/*.[ch])
readonly JUMPING_CLOCK=$VENV/lib/armor/jumping-clock.so JUMPING_CLOCK_SOURCE=dataplane/jumping_clock/jumping_clock.c
readonly PACKET_PROGRAMS=$VENV/lib/armor PACKET_PROGRAM_SOURCES=(dataplane/programs/*)
readonly INPUTS=(setup.py requirements/hashes.txt requirements/build_hashes.txt requirements/debian.txt
    scripts/setup.sh scripts/patch_ryu.py dataplane/delay_line/*.[ch] "$JUMPING_CLOCK_SOURCE" "${SQR_AGENT_SOURCES[@]}" "${PACKET_PROGRAM_SOURCES[@]}")
policy_file=

fail() {
    echo "setup: $*" >&2
    exit 2
}

say() { echo "setup: $*"; }

# The first error that apt or pip wrote: later ones are its consequences.
reason() { grep -aoEm 1 '(^| )(E|ERROR): .*' "$LOG" | sed 's/^ *//' || true; }

fingerprint() {
    { cat "${INPUTS[@]}"; pwd; "$PYTHON" --version; } 2>/dev/null | sha256sum | cut -d ' ' -f 1
}

# Packages of the list that dpkg does not know as installed.
missing_debian() {
    local package
    grep -v '^#' requirements/debian.txt | while read -r package; do
        [ "$(dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null | cut -c 1-2)" = ii ] || echo "$package"
    done
}

up_to_date() {
    [ -f "$STAMP" ] && [ "$(cat "$STAMP")" = "$(fingerprint)" ] && [ -z "$(missing_debian)" ] &&
        grep -qs 'patched by Armor' "$VENV"/lib/python3*/site-packages/ryu/app/wsgi.py &&
        [ -x "$VENV/bin/armor" ] && [ -x "$VENV/bin/ryu-manager" ] && [ -x "$DELAY_LINE" ] &&
        [ -x "$SQR_AGENT" ] && [ -f "$JUMPING_CLOCK" ] && [ -f "$PACKET_PROGRAMS/protect.bpf.o" ] && [ -f "$PACKET_PROGRAMS/sqr.bpf.o" ]
}

# sudo drops the environment, so what apt needs of it is handed over by name.
as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    else
        sudo env ${http_proxy:+"http_proxy=$http_proxy"} ${https_proxy:+"https_proxy=$https_proxy"} "$@"
    fi
}

need_root() {
    [ "$(id -u)" = 0 ] && return
    command -v sudo >/dev/null ||
        fail "installing $* needs root and there is no sudo: run make as root, or install them first"
    if [ -t 0 ]; then sudo -v; else sudo -n true 2>/dev/null; fi ||
        fail "installing $* needs root and sudo refused: run make as root, or install them first"
}

# Debian starts a service when its package is installed. A policy file (Debian Policy 9.3.3.2) keeps the system
# Open vSwitch as it is; a policy that the machine already has is respected.
deny_services() {
    [ -e /usr/sbin/policy-rc.d ] && return
    policy_file=/usr/sbin/policy-rc.d
    printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy_file" >/dev/null
    as_root chmod 755 "$policy_file"
}

allow_services() {
    [ -z "$policy_file" ] || as_root rm -f "$policy_file"
    policy_file=
}

install_debian() {
    local packages
    mapfile -t packages < <(missing_debian)
    [ ${#packages[@]} -gt 0 ] || return 0
    need_root "${packages[*]}"
    say "Debian packages: ${packages[*]}"
    deny_services
    as_root apt-get -o DPkg::Lock::Timeout=300 update >>"$LOG" 2>&1 ||
        fail "apt-get update failed, check the network and apt's sources: $(reason) (log: $LOG)"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y \
        --no-install-recommends "${packages[@]}" </dev/null >>"$LOG" 2>&1 ||
        fail "apt-get cannot install ${packages[*]}: $(reason) (log: $LOG)"
    allow_services
    # Its package would open a UDP server to the network at the next boot.
    if [[ " ${packages[*]} " == *" irtt "* ]] && command -v systemctl >/dev/null; then
        as_root systemctl --quiet disable irtt.service >>"$LOG" 2>&1 || fail "cannot disable irtt.service (log: $LOG)"
    fi
}

check_python() {
    [ -x "$PYTHON" ] || fail "$PYTHON is missing: install the package python3"
    "$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
        fail "$("$PYTHON" --version 2>&1) is too old, Armor needs 3.10: use Debian 12, Ubuntu 22.04 or later"
}

# The environment sees the system's packages because Mininet exists only as one.
make_environment() {
    local clear=
    [ "$("$VENV/bin/python" --version 2>&1)" = "$("$PYTHON" --version)" ] || clear=--clear
    "$PYTHON" -m venv --system-site-packages $clear "$VENV" >>"$LOG" 2>&1 ||
        fail "$PYTHON cannot make a virtual environment in $PWD/$VENV (log: $LOG)"
}

pip_install() {
    PIP_DISABLE_PIP_VERSION_CHECK=1 "$VENV/bin/python" -m pip install --no-input --use-pep517 --no-deps "$@" \
        </dev/null >>"$LOG" 2>&1 ||
        fail "pip cannot install the Python packages, check the network and pip's configuration: $(reason) (log: $LOG)"
}

# Every file that pip takes has one of the hashes of our lists (`make lock`). What is built here, as Ryu is, is built with
# the packages of the first list: an isolated build would fetch others, which nothing checks.
install_python() {
    say "Python packages into $VENV (first time about a minute)"
    make_environment
    pip_install --require-hashes --requirement requirements/build_hashes.txt
    pip_install --require-hashes --no-build-isolation --requirement requirements/hashes.txt
    # Last, because Armor's ryu-manager replaces Ryu's.
    pip_install --no-build-isolation --editable .
    "$VENV/bin/python" scripts/patch_ryu.py || exit 2
    "$VENV/bin/ryu-manager" --version >>"$LOG" 2>&1 || fail "ryu-manager does not start (log: $LOG)"
}

# Compile C sources into a program. Renamed into place, because a program that runs cannot be written to.
build_program() {
    local program=$1
    shift
    gcc -std=c11 -O2 -Wall -Wextra -o "$program.new" "$@" >>"$LOG" 2>&1 || fail "gcc cannot compile $* (log: $LOG)"
    mv "$program.new" "$program"
}

# The packet programs see only what the kernel promises to keep, so one build fits every newer kernel.
build_packet_programs() {
    local source object
    mkdir -p "$PACKET_PROGRAMS"
    for source in dataplane/programs/*.bpf.c; do
        object=$PACKET_PROGRAMS/$(basename "$source" .c).o
        clang -std=gnu11 -O2 -g -target bpf -mcpu=v3 -Wall -Wextra -Wno-sign-compare \
            -I"/usr/include/$(gcc -print-multiarch)" -c "$source" -o "$object.new" >>"$LOG" 2>&1 ||
            fail "clang cannot compile $source (log: $LOG)"
        mv "$object.new" "$object"
    done
}

main() {
    up_to_date && return
    [ -x /usr/bin/dpkg-query ] || fail "neither Debian nor Ubuntu: install what requirements/debian.txt and setup.py name by hand"
    { : >"$LOG"; } 2>/dev/null || fail "cannot write in $PWD: clone Armor into a folder of your own"
    exec 9>"$LOCK"
    flock 9
    # Another run may have done the work while this one waited.
    up_to_date && return
    trap allow_services EXIT
    rm -f "$STAMP"
    install_debian
    check_python
    install_python
    build_program "$DELAY_LINE" "$DELAY_LINE_SOURCE"
    build_program "$SQR_AGENT" dataplane/replay_agent/*.c
    build_packet_programs
    build_program "$JUMPING_CLOCK" -shared -fPIC "$JUMPING_CLOCK_SOURCE"
    fingerprint >"$STAMP"
    say "ready: $VENV/bin/armor"
}

main
