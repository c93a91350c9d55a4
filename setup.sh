#!/bin/sh
# Installs the Debian packages that strait needs, those that are missing only; other ones where they
# are named: setup.sh [PACKAGE...]. The one list:
packages="gcc make pkg-config libsimgrid-dev libjansson-dev libcunit1-dev libzstd-dev libzfp-dev
    libfpzip-dev liblz4-dev libblosc-dev zlib1g-dev libopenblas-serial-dev liblapacke-dev
    libxxhash-dev libmnl-dev libarchive-dev libmimalloc-dev libmicrohttpd-dev libopenmpi-dev
    openmpi-bin clang libclang-rt-dev gnuplot-nox fonts-dejavu-core iproute2
    iputils-ping iperf3 parallel kmod user-mode-linux dataset-fashion-mnist fortunes"
set -eu
[ $# = 0 ] || packages="$*"

command -v dpkg-query >/dev/null || {
    echo "strait: setup: expected a Debian system (dpkg-query); install by hand:" $packages >&2
    exit 3
}
missing=""
for p in $packages; do
    case "$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null || true)" in
        installed) ;;
        *) missing="$missing $p" ;;
    esac
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" = 0 ]; then
    as_root=""
elif command -v sudo >/dev/null && { [ -t 0 ] || sudo -n true 2>/dev/null; }; then
    as_root="sudo"
else
    echo "strait: setup: these packages are missing and only root can install them; run as root:" >&2
    echo "    apt-get install --no-install-recommends$missing" >&2
    exit 3
fi
if [ -t 0 ]; then
    printf 'strait needs these Debian packages:%s\nInstall them now? [Y/n] ' "$missing"
    read -r answer
    case "$answer" in [nN]*) exit 3 ;; esac
else
    echo "installing$missing" >&2
fi
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for step in "update -q" "install -q -y --no-install-recommends$missing"; do
    # shellcheck disable=SC2086
    if ! $as_root apt-get $step >"$log" 2>&1 </dev/null; then
        tail -n 5 "$log" >&2
        echo "strait: setup: apt-get $step failed" >&2
        exit 3
    fi
done
