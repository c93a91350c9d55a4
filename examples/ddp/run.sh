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

# One process alone: the layer table, and gradients to measure the codecs on. Three ranks that share
# this machine's processors and caches compute slower, as measured; machines of their own would not.
codecs="sz:range=1e-2 topk:ratio=0.01 powersgd:rank=4"
speed=$("$strait" net run wan.json -- "$python" ddp.py --share | awk '/ speed / { print $NF }')
"$python" ddp.py --record "$out/trace"
"$strait" calibrate codecs "$out/trace/tensors" --kind gradients --codec none --codec zstd \
    $(printf -- '--codec %s ' $codecs) --out "$out/profile.json" --force >/dev/null

# The job itself: milliseconds an iteration of each rank.
{
    echo "/codec,/round_s"
    for codec in none $codecs; do
        "$strait" net run wan.json -- "$python" ddp.py ${codec#none} |
            awk -v codec="$codec" '/ an iteration/ { print codec "," $5 / 1000 }'
    done
} >"$out/measured.csv"
"$strait" compare wan.json --measured "$out/measured.csv" --set "/model=$out/trace/layers.csv" \
    --set "/device={\"speed\":$speed}" --profile "$out/profile.json" --plot "$out/picture.png" ||
    [ $? -eq 1 ] # outside of 10 %
