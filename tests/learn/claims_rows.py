"""claims_rows.py STRAIT KEPT FOLDER: run every command of a file of kept rows again, into folders
below FOLDER, where finished points stay; then keep the new rows."""
import json
import shlex
import subprocess
import sys

strait, kept, folder = sys.argv[1:]
with open(kept) as f:
    commands = [run["command"] for run in json.load(f)["runs"]]
for i, command in enumerate(commands):
    out = f"{folder}/{i}"
    run = [strait] + shlex.split(command)[1:] + ["--no-break-even", "--out", out]
    subprocess.run(run, check=True)
    keep = [strait, "compare", "--claims", out, "--keep", kept]
    subprocess.run(keep, check=True, stdout=subprocess.DEVNULL)
