#!/bin/sh
# What the launcher qemu needs, into qguest/: `make qemu`. QEMU and busybox are installed; the kernel
# of Debian's cloud images is downloaded and unpacked only. Kept outside of build/, and kept as it is
# where it is there: another kernel gives other digits. `rm -r qguest` to get the newest one.
set -eu
unset MAKEFLAGS MFLAGS MAKELEVEL
cd "$(dirname "$0")/../.."
out=qguest
modules="sch_netem sch_tbf veth tun tcp_bbr"
meta=linux-image-cloud-amd64
say() { echo "qemu: $*" >&2; }
fail() { # 3: this machine cannot; 1: it should have worked
    status=$1
    shift
    say "$*"
    exit "$status"
}

# Until it finds no disk: that far it boots.
boots() {
    timeout 120 qemu-system-x86_64 -M microvm,pic=on,pit=on,rtc=on -accel tcg,thread=single \
        -icount shift=0,sleep=off -cpu max -m 256 -nodefaults -no-user-config -display none \
        -serial stdio -no-reboot -kernel "$1" -append "console=ttyS0 panic=-1" </dev/null 2>&1 |
        grep -q 'Unable to mount root fs'
}

[ "$(uname -m)" = x86_64 ] || fail 3 "the guest is for x86_64, this machine is $(uname -m)"
./setup.sh qemu-system-x86 busybox-static
if [ -r "$out/vmlinuz" ] && [ -r "$out/from" ]; then
    boots "$out/vmlinuz" && { say "$out is there and boots: $(cat "$out/from")" && exit 0; }
    say "$out does not boot here, making it again"
fi
mkdir -p "$out.new" 2>/dev/null || fail 3 "$PWD cannot be written"
work=$(mktemp -d) || fail 3 "no room for temporary files"
trap 'rm -rf "$work" "$out.new"' EXIT
package=$(apt-cache depends "$meta" 2>/dev/null | awk '/Depends: linux-image/ {print $2; exit}')
[ -n "$package" ] || fail 3 "apt knows no package $meta: apt-get update"
say "downloading $package, 27 MB"
# _apt, who downloads, may not write there; what apt says of that is no error
(cd "$work" && apt-get download "$package" >log 2>&1) || {
    tail -n 3 "$work/log" >&2
    fail 3 "$package cannot be downloaded"
}
dpkg-deb -x "$work"/*.deb "$work/tree" || fail 1 "$package cannot be unpacked"
for module in $modules; do
    found=$(find "$work/tree/lib/modules" -name "$module.ko" | head -n 1)
    [ -n "$found" ] || fail 1 "$package has no module $module"
    cp "$found" "$out.new/" || fail 3 "$PWD has no room"
done
cp "$work"/tree/boot/vmlinuz-* "$out.new/vmlinuz" || fail 3 "$PWD has no room"
boots "$out.new/vmlinuz" || fail 1 "the kernel of $package does not boot in QEMU"
basename "$work"/*.deb .deb >"$out.new/from"
rm -rf "$out"
mv "$out.new" "$out"
say "$out: $(cat "$out/from"), boots; strait run EXP --on emu --launcher qemu --timing replay"
