#!/usr/bin/env python3
"""Run drawn settings one after another.

measure.py emulate DIR [SECONDS]: every DIR/set/*.json that DIR/log does not name yet, predicted and
emulated in virtual time, all into the one results folder DIR/out, which so measures each codec
once; after SECONDS no other one is begun. DIR/log says what each took and why some gave nothing: a
setting that cannot be emulated is written down and not replaced by another. DIR must be visible in
guests: not in the temporary folder.
measure.py predict DIR [SIZES]: those that were emulated, predicted again with the program as it is
now, the codecs' costs as they were measured then and the sizes of what is sent (or, SIZES: profile,
those costs' ratios), into DIR/predicted; and with another seed, that is other draws, into
DIR/other.
measure.py keep DIR FILE: what was emulated of the seed in the file's name (seed-31.jsonl.xz), in a
file of a hundred kilobytes (JSON lines, xz);
measure.py unpack FILE DIR: back into DIR/out and DIR/log, where these do not have that seed.
STRAIT names the program (build/strait).
"""
import json
import lzma
import os
import shutil
import subprocess
import sys
import time

STRAIT = os.path.abspath(os.environ.get('STRAIT', 'build/strait'))


def call(here, name, *options):
    """Exit status and the last error line; 'timeout'."""
    command = [STRAIT, 'run', f'set/{name}', '--no-break-even', '--json', *options]
    try:
        ran = subprocess.run(command, cwd=here, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             stderr=subprocess.PIPE, text=True, timeout=600)
    except subprocess.TimeoutExpired:
        return 'timeout'
    said = [x for x in ran.stderr.splitlines() if x.startswith('strait: ')]
    return f'{ran.returncode} {said[-1] if said and ran.returncode > 1 else ""}'.rstrip()


def emulate(here, seconds):
    until = time.monotonic() + seconds
    log = f'{here}/log'
    done = {line.split()[0] for line in open(log)} if os.path.exists(log) else set()
    for name in sorted(os.listdir(f'{here}/set')):
        if name in done or not name.endswith('.json'):
            continue
        start = time.monotonic()
        if start > until:
            break
        status = call(here, name, '--on', 'both', '--launcher', 'vuml', '--tries', '1', '--out',
                      f'{here}/out')
        with open(log, 'a') as f:
            f.write(f'{name} {time.monotonic() - start:.1f} s, status {status}\n')


def profiles(here):
    """What each setting's codecs cost when it was emulated, from the headers of the results. Of
    equal profiles the first header has the figures, the others their hash."""
    found, known = {}, {}
    for line in open(f'{here}/out/results.jsonl'):
        if line.startswith('{"record":"header"'):
            header = json.loads(line)
            profile = header['profile']
            known.setdefault(profile['hash'], profile.get('as'))
            found[os.path.basename(header['experiment']['file'])] = known[profile['hash']]
    return {name: profile for name, profile in found.items() if profile}


OTHER_SEED = 1001  # drawn settings have 1 to 999


def predict(here, sizes):
    for folder in ('predicted', 'other'):
        shutil.rmtree(f'{here}/{folder}', ignore_errors=True)
    for name, profile in sorted(profiles(here).items()):
        if not os.path.exists(f'{here}/set/{name}'):
            continue
        with open(f'{here}/profile.json', 'w') as f:
            json.dump(profile, f)
        for folder, more in (('predicted', []), ('other', ['--set', f'/seed={OTHER_SEED}'])):
            if folder == 'other' and name.endswith('-clean.json'):
                continue
            status = call(here, name, '--on', 'fluid', '--profile', f'{here}/profile.json',
                          '--sizes', sizes, *more, '--out', f'{here}/{folder}')
            if status != '0':
                print(name, status)


def begin_of(path):
    """Of the names of the seed's settings: seed-31.jsonl.xz has those that begin with 31-."""
    return os.path.basename(path).removeprefix('seed-').split('.')[0] + '-'


def keep(here, path):
    """Emulated rows and headers of a seed, whole lines; the log's lines begin with '#'. A profile
    that another seed's header has the figures of is there as its hash alone, so that seeds which
    were emulated into one folder are unpacked into one folder."""
    kept, begin, is_its = [], begin_of(path), False
    for line in open(f'{here}/out/results.jsonl'):
        record = json.loads(line)
        if record['record'] == 'header':
            is_its = os.path.basename(record['experiment']['file']).startswith(begin)
        if is_its and (record['record'] == 'header' or record.get('backend') == 'emu'):
            kept.append(line)
    with lzma.open(path, 'wt', preset=9) as f:
        f.writelines('# ' + line for line in open(f'{here}/log') if line.startswith(begin))
        f.writelines(kept)


def unpack(path, here):
    log = f'{here}/log'
    if os.path.exists(log) and any(line.startswith(begin_of(path)) for line in open(log)):
        return
    os.makedirs(f'{here}/out', exist_ok=True)
    with lzma.open(path, 'rt') as f, open(log, 'a') as log, \
            open(f'{here}/out/results.jsonl', 'a') as out:
        for line in f:
            (log if line.startswith('# ') else out).write(line.removeprefix('# '))


def main():
    two = {'keep': keep, 'unpack': unpack}
    if len(sys.argv) < 3 or sys.argv[1] not in ('emulate', 'predict', *two):
        sys.exit(__doc__)
    here = os.path.abspath(sys.argv[2])
    if sys.argv[1] == 'predict':
        predict(here, sys.argv[3] if len(sys.argv) > 3 else 'sent')
    elif sys.argv[1] in two:
        two[sys.argv[1]](here, os.path.abspath(sys.argv[3]))  # of unpack, the first is the file
    else:
        emulate(here, float(sys.argv[3]) if len(sys.argv) > 3 else 1e9)


main()
