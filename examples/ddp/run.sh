#!/bin/sh
# Predicted and measured: a DDP job, plain and compressed, over an emulated network.
#   run.sh [STRAIT] [OUT]
# Needs PyTorch (PYTHON, else python3) and the Python module (docs/python.md).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
strait=${1:-strait} out=${2:-results/ddp} python=${PYTHON:-python3}
strait=$(realpath "$(command -v "$strait")")
mkdir -p "$out" && out=$(realpath "$out") && rm -rf "$out/trace"
cd "$here"

# One process alone: the layer table, and gradients to measure the codec on.
"$python" ddp.py --record "$out/trace"
"$strait" calibrate codecs "$out"/trace/tensors/*.grad.*.f32 --kind gradients --codec none \
    --codec zstd --codec sz:range=1e-2 --out "$out/profile.json" --force >/dev/null

# The job itself: milliseconds an iteration of each rank.
{
    echo "/strategy,/codec,/round_s"
    "$strait" net run wan.json -- "$python" ddp.py |
        awk '/ an iteration/ { print "fusion,none," $5 / 1000 }'
    "$strait" net run wan.json -- "$python" ddp.py sz:range=1e-2 |
        awk '/ an iteration/ { print "grace,sz:range=1e-2," $5 / 1000 }'
} >"$out/measured.csv"
"$strait" compare wan.json --measured "$out/measured.csv" --set "/model=$out/trace/layers.csv" \
    --profile "$out/profile.json" --plot "$out/picture.png" || [ $? -eq 1 ] # outside of 10 %
