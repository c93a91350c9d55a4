"""determinism.py STRAIT...: one hash of the rows of every shipped experiment, by each program given
(of several compilers), with one worker and with two, on fluid and on sim. All hashes must be equal.

Left out are what says which program it was and how long it took, and experiments that train for
real, whose sums are the BLAS library's; ALL=1 takes these too. ONLY="gtopk two-sites" takes some.
"""
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

OF_THE_RUN = ("key", "wall_s", "stored")
# Hundreds of points that others have too. By SimGrid as well: some, of each family.
LARGE = ("agreement", "scale")
ON_SIM = ("two-sites", "dear", "gtopk", "hierfl", "fedbuff", "parameter-server", "zero", "pipeline")


def experiments():
    """Names of the experiments that ship, without those that train."""
    root = pathlib.Path(__file__).resolve().parents[2] / "experiments"
    for path in sorted(root.glob("*.json")):
        text = json.loads(path.read_text())
        trains = "training" in text or "/training" in text.get("vary", {})
        chosen = os.environ.get("ONLY", path.stem).split()
        if path.stem in chosen and path.stem not in LARGE and (not trains or os.environ.get("ALL")):
            yield path.stem


def rows_of(strait, name, backend, jobs):
    """The rows of an experiment as text, in an order of their own."""
    with tempfile.TemporaryDirectory() as out:
        said = subprocess.run(
            [strait, "run", name, "--on", backend, "-j", str(jobs), "--no-break-even", "--json",
             "--out", out], check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    rows = [json.loads(line) for line in said.stdout.splitlines()]
    rows = [{k: v for k, v in row.items() if k not in OF_THE_RUN}
            for row in rows if row.get("record") == "row"]
    return sorted(json.dumps(row, sort_keys=True) for row in rows)


def digest(strait, jobs):
    """Hashes by experiment and backend, and the number of rows."""
    hashes, n_rows = {}, 0
    for name in experiments():
        for backend in ("fluid", "sim") if name in ON_SIM else ("fluid",):
            rows = rows_of(strait, name, backend, jobs)
            n_rows += len(rows)
            hashes[name, backend] = hashlib.sha256("\n".join(rows).encode()).hexdigest()
    return hashes, n_rows


def main(programs):
    """Print a hash for each way and what differs from the first; 1 where anything does."""
    first = None
    failed = False
    for strait in programs:
        for jobs in (1, 2):
            hashes, n_rows = digest(strait, jobs)
            whole = hashlib.sha256(repr(sorted(hashes.items())).encode()).hexdigest()
            print(f"{whole[:32]}  {n_rows} rows  {strait} -j {jobs}", flush=True)
            first = first or hashes
            for case, value in hashes.items():
                if value != first[case]:
                    failed = True
                    print(f"    differs: {case[0]} on {case[1]}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
