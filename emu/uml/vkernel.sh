#!/bin/sh
# Builds the guests' kernel, vkernel/linux, from Debian's source: vkernel.sh. It runs in virtual time
# (--launcher vuml), and in the host's where Debian's own does not boot (--launcher uml).
# It is kept outside of build/, so that `make clean` does not cost minutes; a rerun after an
# interruption goes on where it was. KEEP=1 keeps the source tree, JOBS=N compiles N files at once.
set -eu
unset MAKEFLAGS MFLAGS MAKELEVEL # of the make that runs this: its variables are not the kernel's
cd "$(dirname "$0")/../.."
packages="linux-source-6.1 flex bison bc libelf-dev xz-utils patch"
archive=/usr/src/linux-source-6.1.tar.xz
options=emu/uml/virtual-time.config
patch=emu/uml/virtual-time.patch
out=vkernel/linux
work=build/vkernel
tree=$work/linux-source-6.1
log=$work/log
need_mb=2000      # unpacked 1400, objects 200
about_lines=1400  # that make prints, for the progress
say() { echo "vkernel: $*" >&2; }
fail() { # 3: this machine cannot; 1: it should have worked
    status=$1
    shift
    say "$*"
    exit "$status"
}

# Boots it, with more words of its command line.
try() {
    timeout 60 "$@" mem=64M root=/dev/root rootfstype=hostfs rootflags=/ ro \
        init="$PWD/emu/uml/vcheck.sh" con=null con0=null,fd:1 quiet uml_dir="$PWD/$work" \
        umid=check </dev/null 2>&1 || true
}

# In the host's time it must run its first process; in virtual time an hour of the guest's must pass
# at once, and work be seen. 0: so it is.
boots() {
    console=$(try "$1")
    echo "$console" | grep -q 'strait: boots' || return 1
    console=$(try "$1" time-travel=inf-cpu)
    slept=$(echo "$console" | awk '/strait: uptime/ {print $4 - $3}')
    echo "$console" | grep -q 'strait: host_cpu [1-9]' && [ -n "$slept" ] &&
        [ "$slept" -ge 3600 ] && [ "$slept" -le 3601 ]
}

[ "$(uname -m)" = x86_64 ] || fail 3 "User-Mode Linux 6.1 is for x86_64, this machine is $(uname -m)"
mkdir -p "$work" "$(dirname "$out")"
wanted="options and patch $(cat "$options" "$patch" | sha256sum | cut -d' ' -f1)"
if [ -x "$out" ] && [ "$(cat "$out.from" 2>/dev/null)" = "$wanted" ]; then
    boots "$out" && { say "$out is there and boots" && exit 0; }
    say "$out does not boot here, building it again"
fi

# shellcheck disable=SC2086
./setup.sh $packages
[ -r "$archive" ] || fail 3 "$archive is not there: apt-get install --reinstall linux-source-6.1"

patched=$(sha256sum <"$patch")
[ "$(cat "$tree/.strait" 2>/dev/null)" = "$patched" ] || rm -rf "$tree"
if [ ! -d "$tree" ]; then
    free_mb=$(($(df -Pk "$work" | awk 'NR == 2 {print $4}') / 1024))
    [ "$free_mb" -ge "$need_mb" ] ||
        fail 3 "$work has $free_mb MB free, $need_mb MB are needed while the kernel is built"
    say "unpacking $archive"
    rm -rf "$work/unpack"
    mkdir "$work/unpack"
    tar -xf "$archive" -C "$work/unpack" || fail 1 "$archive cannot be unpacked"
    patch -s -p1 -d "$work/unpack/linux-source-6.1" <"$patch" || fail 1 "$patch does not fit"
    echo "$patched" >"$work/unpack/linux-source-6.1/.strait"
    mv "$work/unpack/linux-source-6.1" "$tree"
    rmdir "$work/unpack"
fi

say "choosing options"
{
    make -C "$tree" ARCH=um defconfig &&
        (cd "$tree" && scripts/kconfig/merge_config.sh -m .config "$OLDPWD/$options") &&
        make -C "$tree" ARCH=um olddefconfig
} >"$log" 2>&1 || { tail -n 5 "$log" >&2 && fail 1 "options cannot be chosen, see $log"; }
missing=$(grep -E '^(CONFIG_|# CONFIG_.* is not set)' "$options" | while read -r line; do
    case "$line" in
    '#'*) name=${line#\# } && grep -q "^${name%% *}=" "$tree/.config" && echo "$line" ;;
    *) grep -qxF "$line" "$tree/.config" || echo "$line" ;;
    esac
done) || true
[ -z "$missing" ] || fail 1 "options did not hold: $(echo "$missing" | tr '\n' ' ')"

jobs=${JOBS:-$(nproc)}
say "compiling with $jobs processes: 4 minutes on two processors, see $log"
rm -f "$work/status"
{
    make -C "$tree" ARCH=um -j"$jobs" linux && : >"$work/status"
} 2>&1 | tee -a "$log" | awk -v total="$about_lines" '
    / (CC|LD|AR|AS|HOSTCC) / && int(10 * ++n / total) > tenth && tenth < 9 {
        printf "vkernel: %d %%\n", 10 * (tenth = int(10 * n / total)) > "/dev/stderr" }'
[ -e "$work/status" ] || {
    grep -E 'error|Error' "$log" | head -n 5 >&2
    fail 1 "the kernel does not compile, see $log; make vkernel goes on from there"
}
strip -o "$work/linux" "$tree/linux"
boots "$work/linux" || {
    echo "$console" | tail -n 5 >&2
    fail 1 "the kernel was built but does not boot here"
}
mv "$work/linux" "$out"
echo "$wanted" >"$out.from"
[ -n "${KEEP:-}" ] || rm -rf "$work"
say "$out: $(($(wc -c <"$out") / 1000000)) MB, boots; strait run EXP --on emu --launcher vuml (or uml)"
