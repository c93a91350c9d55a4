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
mkdir -p "$out" && out=$(realpath "$out") && rm -rf "$out/trace"
cd "$here"

# One client alone: the layer table.
"$python" federated.py record "$out/trace"

# The job itself: milliseconds a round, of the server. The first round waits for the clients.
set -- /round_s
[ -z "${LAUNCHER:-}" ] || set -- /path_s/transfer --launcher "$LAUNCHER" --memory 1500MB
column=$1
shift
"$strait" net run wan.json --ranks all "$@" -- "$python" federated.py >"$out/said"
cat "$out/said"
{
    echo "$column"
    awk '/ ms$/ && !/round 0/ { print $(NF - 1) / 1000 }' "$out/said"
} >"$out/measured.csv"
"$strait" compare wan.json --measured "$out/measured.csv" --set "/model=$out/trace/layers.csv" \
    --plot "$out/picture.png" || [ $? -eq 1 ] # outside of 10 %: an answer too
