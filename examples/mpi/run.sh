#!/bin/sh
# The same experiment predicted, emulated, and run over MPI inside the emulated network: run.sh
# [STRAIT] [RESULTS]. Two processors are enough; root, or a user who may open /dev/net/tun.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
strait=${1:-strait} results=${2:-results/mpi-example}
strait=$(command -v "$strait") && strait=$(realpath "$strait")
mkdir -p "$results" && results=$(realpath "$results")
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 # in the network all are root

"$strait" run "$here/wan.json" --on both --no-break-even --out "$results/emulated"
"$strait" run "$here/wan.json" --no-break-even --out "$results/mpi" >/dev/null
"$strait" net run "$here/wan.json" --ranks first -- \
    mpirun --host server,client1,client2,client3 --mca plm_rsh_agent "$strait net rsh" \
    --mca btl tcp,self "$strait" rank "$here/wan.json" --out "$results/mpi"
"$strait" compare "$results/mpi"
"$strait" plot "$results/mpi" --kind phases --x /backend --facet /codec --out "$results/picture.png"
