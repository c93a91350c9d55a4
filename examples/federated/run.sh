#!/bin/sh
# Predicted and measured: federated averaging with models compressed both ways, over an emulated
# network.
#   run.sh [STRAIT] [OUT]
# LAUNCHER=vuml runs it in virtual time (make vkernel, once), where computing takes none: what is
# compared then is the transfers alone.
# Needs PyTorch (PYTHON, else python3) and the Python module (docs/python.md).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
strait=${1:-strait} out=${2:-results/federated} python=${PYTHON:-python3}
strait=$(realpath "$(command -v "$strait")")
mkdir -p "$out" && out=$(realpath "$out") && rm -rf "$out/trace" "$out/other"
cd "$here"

# Two clients without a server: the layer table, and updates to measure the codec on. They compute
# at the same time, as they will, since they share this machine's processors and caches.
"$python" federated.py record "$out/other" &
"$python" federated.py record "$out/trace"
wait
"$strait" calibrate codecs "$out"/trace/updates/*.weight.*.f32 --kind updates --codec none \
    --codec zstd --codec sz:range=1e-2 --out "$out/profile.json" --force >/dev/null
"$python" federated.py charge "$out/profile.json" # with what Python does around it

# The job itself: milliseconds a round, of the server. Predicted is the mean of all rounds, of which
# the first has slow start.
set -- /round_s
[ -z "${LAUNCHER:-}" ] || set -- /path_s/transfer --launcher "$LAUNCHER" --memory 1500MB
column=$1
shift
"$strait" net run wan.json --ranks all "$@" -- "$python" federated.py >"$out/said"
cat "$out/said"
{
    echo "$column"
    awk '/ ms$/ { sum += $(NF - 1) / 1000; n++ } END { print sum / n }' "$out/said"
} >"$out/measured.csv"
"$strait" compare wan.json --measured "$out/measured.csv" --set "/model=$out/trace/layers.csv" \
    --profile "$out/profile.json" --plot "$out/picture.png" || [ $? -eq 1 ] # outside of 10 %: an answer too
