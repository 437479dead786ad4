#!/usr/bin/env bash
# A guest with a stock Debian kernel, for tests of what this machine's kernel lacks (openvswitch.ko, netem, prio).
#
#   scripts/kernel_lab.sh test [PYTEST ARGUMENT...]   run tests in the guest (default: those of queues in the kernel)
#   scripts/kernel_lab.sh build                       only build the guest
#
# The guest is built once, into $ARMOR_KERNEL_LAB (default: ~/.cache/armor/kernel-lab), and again when its kernel package
# or what it is made of changes. Its disk is thrown away after each run; it has no network; the repository is mounted read-only.
# QEMU takes /dev/kvm when a stock kernel really boots with it, else it translates (TCG), which is some ten times slower.
# docs/kernel_guest.md says what was measured.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly REPOSITORY=$PWD SELF=scripts/kernel_lab.sh
readonly LAB=${ARMOR_KERNEL_LAB:-${XDG_CACHE_HOME:-$HOME/.cache}/armor/kernel-lab}
readonly TIME_LIMIT_S=${ARMOR_KERNEL_LAB_TIME_LIMIT_S:-1500}
readonly DISK=1500M MEMORY=3G KVM_TRIAL_S=20 MOST_PROCESSORS=4
# program and the Debian package that brings it
readonly TOOLS=(qemu-system-x86_64:qemu-system-x86 debootstrap:debootstrap cpio:cpio mke2fs:e2fsprogs depmod:kmod)
readonly GUEST_PACKAGES=python3,openvswitch-switch,mininet,nftables,iproute2,iputils-ping,ethtool,iperf3,irtt,tcpdump,procps,kmod,busybox-static
readonly BOOT_MODULES=(virtio_pci virtio_blk ext4 9p 9pnet_virtio)
readonly TEST_MODULES=(openvswitch veth sch_htb sch_netem sch_prio sch_ingress cls_u32 cls_matchall act_gact nf_tables)
readonly UNUSED_DRIVERS=(gpu media infiniband scsi staging iio hid usb net/ethernet net/wireless)
readonly BUILDERS=(fetch_kernel make_tree write_init make_initrd build)
readonly DEFAULT_TESTS=(tests/emulation/test_queue_trials.py -k "this_kernel or kernel_network")

fail() {
    echo "kernel_lab: $*" >&2
    exit 2
}

say() { echo "kernel_lab: $*"; }

need() {
    local entry lacking=()
    [ "$(id -u)" = 0 ] || fail "building and running the guest needs root: sudo make test-kernel"
    for entry in "${TOOLS[@]}"; do
        command -v "${entry%%:*}" >/dev/null || lacking+=("${entry##*:}")
    done
    [ ${#lacking[@]} -eq 0 ] || fail "missing; install with: apt-get install --no-install-recommends ${lacking[*]}"
    case $REPOSITORY in *[[:space:]]*) fail "the path $REPOSITORY holds a blank, which a kernel command line cannot" ;; esac
    [ -x .venv/bin/pytest ] || fail "there is no .venv: run make setup first"
}

# Where this machine's apt gets Debian from, as "URL SUITE"; nothing of that is written in the repository.
debian_source() {
    local suite
    # shellcheck source=/dev/null
    suite=$(. /etc/os-release && [ "$ID" = debian ] && echo "${VERSION_CODENAME:-}") || true
    [ -n "$suite" ] || fail "the guest is made of the Debian release that runs here, and this is none"
    # shellcheck disable=SC2016 # apt replaces these
    apt-get indextargets --format '$(REPO_URI) $(CODENAME) $(ORIGIN) $(COMPONENT)' 'Created-By: Packages' |
        awk -v suite="$suite" '$2 == suite && $3 == "Debian" && $4 == "main" { print $1, suite; exit }'
}

kernel_package() {
    apt-cache depends linux-image-amd64 | awk '/Depends: linux-image-/ { print $2; exit }'
}

guest_folder() {
    local made_of="$GUEST_PACKAGES $DISK ${BOOT_MODULES[*]} ${UNUSED_DRIVERS[*]}"
    echo "$LAB/$({ kernel_package; echo "$made_of"; declare -f "${BUILDERS[@]}"; } | sha256sum | cut -c 1-16)"
}

fetch_kernel() { # into $work/kernel
    (cd "$work" && apt-get download -q "$package" && dpkg-deb -x ./linux-image-*.deb kernel)
}

make_tree() { # $work/tree: the guest's files
    local driver url suite
    read -r url suite < <(debian_source) || fail "apt knows no Debian source here: run apt-get update"
    debootstrap --variant=minbase --include="$GUEST_PACKAGES" "$suite" "$work/tree" "$url"
    mkdir -p "$work/tree/lib/modules" "$work/tree/out"
    cp -a "$work/kernel/lib/modules/$release" "$work/tree/lib/modules/"
    for driver in "${UNUSED_DRIVERS[@]}"; do
        rm -rf "$work/tree/lib/modules/$release/kernel/drivers/$driver"
    done
    rm -rf "$work/tree/lib/modules/$release/kernel/sound" "$work"/tree/var/cache/apt/archives/*.deb
    depmod -b "$work/tree" "$release"
}

# The first program of the guest: mounts the disk, the repository and the folder for results, and hands over.
write_init() {
    cat >"$work/initrd/init" <<'INIT'
#!/bin/busybox sh
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t devtmpfs dev /dev
for module in $(/bin/busybox cat /modules); do /bin/busybox insmod "/$module"; done
/bin/busybox mount -t ext4 /dev/vda /root || /bin/busybox poweroff -f
repository=$(/bin/busybox sed 's/.*armor_repository=\([^ ]*\).*/\1/' /proc/cmdline)
cd /root
for one in proc:proc sysfs:sys devtmpfs:dev tmpfs:dev/shm devpts:dev/pts tmpfs:tmp tmpfs:run cgroup2:sys/fs/cgroup; do
    /bin/busybox mkdir -p "${one#*:}"
    /bin/busybox mount -t "${one%%:*}" "${one%%:*}" "${one#*:}"
done
# Only now: the repository may lie below /tmp or /run, which were just mounted over.
/bin/busybox mkdir -p "/root$repository"
/bin/busybox mount -t 9p -o trans=virtio,version=9p2000.L,cache=loose,ro repository "/root$repository"
/bin/busybox mount -t 9p -o trans=virtio,version=9p2000.L results out
exec /bin/busybox switch_root /root /bin/bash "$repository/scripts/kernel_lab.sh" inside
INIT
    chmod +x "$work/initrd/init"
}

make_initrd() {
    local module file
    mkdir -p "$work"/initrd/{bin,proc,dev,root}
    cp "$work/tree/bin/busybox" "$work/initrd/bin/"
    for module in "${BOOT_MODULES[@]}"; do
        modprobe -d "$work/tree" -S "$release" --show-depends "$module" | awk '/^insmod/ { print $2 }'
    done | awk '!seen[$0]++' | while read -r file; do
        cp "$file" "$work/initrd/"
        echo "${file##*/}" >>"$work/initrd/modules"
    done
    write_init
    (cd "$work/initrd" && find . | cpio -o -H newc --quiet | gzip -1) >"$work/initrd.gz"
}

build() {
    local package release work log=$LAB/build.log
    [ ! -e "$(guest_folder)/disk" ] || return 0
    mkdir -p "$LAB"
    package=$(kernel_package)
    [ -n "$package" ] || fail "apt knows no package linux-image-amd64: run apt-get update"
    release=${package#linux-image-}
    say "building the guest with $package in $LAB (once, a minute or two; log: $log)"
    work=$(mktemp -d "$LAB/building.XXXXXX")
    chmod 755 "$work"
    # shellcheck disable=SC2064 # the folder of now
    trap "rm -rf '$work'" EXIT
    { fetch_kernel && make_tree && make_initrd && mke2fs -q -t ext4 -O ^has_journal -d "$work/tree" "$work/disk" "$DISK"; } \
        >"$log" 2>&1 || fail "the guest cannot be built: $(tail -n 1 "$log") (log: $log)"
    cp "$work/kernel/boot/vmlinuz-$release" "$work/vmlinuz"
    rm -rf "$work/tree" "$work/kernel" "$work/initrd" "$work"/*.deb
    mv "$work" "$(guest_folder)"
    trap - EXIT
}

# A /dev/kvm may be there and still boot no stock kernel: without a root disk, one that boots ends in a panic.
accelerator() { # of the guest in folder $1; tried once
    if [ ! -e "$1/accelerator" ]; then
        if [ -w /dev/kvm ] && timeout -s KILL "$KVM_TRIAL_S" qemu-system-x86_64 -accel kvm -cpu host -m 256M \
            -kernel "$1/vmlinuz" -append "console=ttyS0 panic=-1 quiet" -nodefaults -no-reboot -display none -serial stdio \
            </dev/null 2>&1 | grep -qa 'Kernel panic'; then
            echo "-accel kvm -cpu host"
        else
            echo "-accel tcg,thread=multi,tb-size=512 -cpu max"
        fi >"$1/accelerator"
    fi
    cat "$1/accelerator"
}

run_guest() { # "$@": arguments of pytest
    local guest results processors status
    guest=$(guest_folder)
    results=$(mktemp -d "$LAB/results.XXXXXX")
    # shellcheck disable=SC2064 # the folder of now
    trap "rm -rf '$results'" EXIT
    printf '%s\0' "$@" >"$results/arguments"
    processors=$(($(nproc) < MOST_PROCESSORS ? $(nproc) : MOST_PROCESSORS))
    say "starting the guest ($(accelerator "$guest")), at most $TIME_LIMIT_S s"
    # shellcheck disable=SC2046 # the accelerator is several words
    timeout -s KILL "$TIME_LIMIT_S" qemu-system-x86_64 $(accelerator "$guest") -smp "$processors" -m "$MEMORY" \
        -kernel "$guest/vmlinuz" -initrd "$guest/initrd.gz" -nodefaults -no-reboot -display none -serial stdio -nic none \
        -append "console=ttyS0 panic=-1 quiet loglevel=1 cryptomgr.notests mitigations=off tsc=reliable armor_repository=$REPOSITORY" \
        -drive "if=none,id=disk,file=$guest/disk,format=raw,snapshot=on,cache=unsafe" -device virtio-blk-pci,drive=disk \
        -fsdev "local,id=repository,path=$REPOSITORY,security_model=none,readonly=on" \
        -device virtio-9p-pci,fsdev=repository,mount_tag=repository \
        -fsdev "local,id=results,path=$results,security_model=none" \
        -device virtio-9p-pci,fsdev=results,mount_tag=results </dev/null || true
    [ -s "$results/status" ] || fail "the guest died or took longer than $TIME_LIMIT_S s (ARMOR_KERNEL_LAB_TIME_LIMIT_S)"
    status=$(cat "$results/status")
    return "$status"
}

# The first program of the guest after the disk is mounted; ends by switching it off.
inside() {
    local arguments status=0
    export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root PYTHONDONTWRITEBYTECODE=1
    export ARMOR_TEST_PATIENCE=10
    exec </dev/null >/dev/console 2>&1
    ip link set lo up
    hostname armor-guest
    modprobe -a "${TEST_MODULES[@]}" || status=$?
    mapfile -d '' arguments </out/arguments
    [ "$status" -ne 0 ] || .venv/bin/pytest -p no:cacheprovider -p no:randomly --color=no "${arguments[@]}" || status=$?
    echo "$status" >/out/status
    sync
    busybox poweroff -f
}

case ${1:-} in
    build) need && build ;;
    test)
        shift
        [ $# -gt 0 ] || set -- "${DEFAULT_TESTS[@]}"
        need
        build
        run_guest "$@"
        ;;
    inside) inside ;;
    *) fail "usage: $SELF build | test [PYTEST ARGUMENT...]" ;;
esac
