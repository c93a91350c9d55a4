"""claims_rows.py STRAIT KEPT FOLDER [--plan] [--within SECONDS]: run every command of a file of kept
rows again, into folders below FOLDER, and keep the new rows as each command ends. A run that was
stopped goes on: finished points stay in the command's folder, whose name is the command's hash.
A point that diverges has no row: strait names it and ends with status 1, and the others are kept.

First a line for each command says what is left of it: rows, and an estimate, by what those of the
folder took, else the kept ones, else by the training alone, to which codecs come. --plan ends
there. With --within a command that does not fit into what is left of the seconds is left out."""
import hashlib
import json
import os
import shlex
import subprocess
import sys
import time


def rows_of(folder):
    """Newest row of each point; a half-written last line is none."""
    rows = {}
    if os.path.exists(f"{folder}/results.jsonl"):
        with open(f"{folder}/results.jsonl") as f:
            for line in f:
                if line.startswith('{"record":"row"') and line.endswith("}\n"):
                    row = json.loads(line)
                    rows[row["key"]] = row
    return list(rows.values())


def has_ended(folder):
    """Whether the folder's last record says that all points were tried."""
    with open(f"{folder}/results.jsonl") as f:
        return f.read().splitlines()[-1].startswith('{"record":"end"')


def took_s(rows):
    """Of one core, all seeds together; None: the rows do not say."""
    known = [r["wall_s"] * r["training"]["seeds"] for r in rows if "wall_s" in r]
    return sum(known) / len(known) if known else None


def checked(strait, command):
    """Points of a command that was never run, and seconds of their training alone."""
    args = shlex.split(command)
    at = args.index("--on")
    check = subprocess.run([strait, "check"] + args[2:at] + args[at + 2 :] + ["--json"],
                           stdout=subprocess.PIPE, text=True)
    found = json.loads(check.stdout)
    backends = [b for b in found["backends"] if b["backend"] == args[at + 1]]
    return found["points"], backends[0]["training_s"] / found["points"]


def estimate(strait, run, folder):
    """Rows there, rows in all, seconds left."""
    rows, kept = rows_of(folder), run["rows"]
    n_rows, row_s = len(kept), took_s(rows) or took_s(kept)
    if not kept or not row_s:
        n_rows, row_s = checked(strait, run["command"])
    n_done = min(len(rows), n_rows)
    return n_done, n_rows, (n_rows - n_done) * row_s


def main():
    strait, kept, folder = sys.argv[1:4]
    options = sys.argv[4:]
    within_s = float(options[options.index("--within") + 1]) if "--within" in options else None
    with open(kept) as f:
        runs = json.load(f)["runs"]
    left_s, plan = 0, []
    for run in runs:
        command = run["command"]
        out = f"{folder}/{hashlib.sha256(command.encode()).hexdigest()[:16]}"
        n_done, n_rows, s = estimate(strait, run, out)
        plan.append((command, out, s))
        left_s += s
        print(f"{n_done:3} of {n_rows:3} rows, {s:6.0f} s left: {command}", file=sys.stderr)
    print(f"{left_s:.0f} s of one core left, or more", file=sys.stderr)
    if "--plan" in options:
        return
    begun_s = time.time()
    for command, out, s in plan:
        if within_s is not None and time.time() - begun_s + s > within_s:
            print(f"left for another time: {command}", file=sys.stderr)
            continue
        run = [strait] + shlex.split(command)[1:] + ["--no-break-even", "--out", out]
        status = subprocess.run(run).returncode
        if status not in (0, 1) or not has_ended(out):
            sys.exit(f"claims-rows: status {status} of: {shlex.join(run)}")
        keep = [strait, "compare", "--claims", out, "--keep", kept]
        subprocess.run(keep, check=True, stdout=subprocess.DEVNULL)


main()
