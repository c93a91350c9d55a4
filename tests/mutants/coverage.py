#!/usr/bin/env python3
"""Runs suites that count lines (MODE=coverage), one after the other, each into counts of its own.

coverage.py BUILD [PATH...] runs those whose paths begin so, prints the share of lines by folder of
all that have been run and writes BUILD/reach.json: which suites reach which line and how long each
takes, for run.py.
"""
import collections
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

LIBRARIES = 'core codecs traces learn workloads sim process emu mpi analysis campaign serve'.split()
COVERAGE_S = float(os.environ.get('COVERAGE_S', 600))  # a suite's time


def run_suite(build, suite):
    counts = os.path.join(build, 'counts', suite.replace('/', '_'))
    shutil.rmtree(counts, ignore_errors=True)
    env = dict(os.environ, GCOV_PREFIX=counts, STRAIT_BIN=os.path.join(build, 'strait'))
    begun, status = time.time(), None
    with open(counts + '.log', 'w') as log:
        p = subprocess.Popen([os.path.join(build, 'tests', 'strait-tests'), '--here', suite],
                             env=env, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                             start_new_session=True)
        while status is None:
            late = time.time() - begun > COVERAGE_S
            if late:
                os.killpg(p.pid, signal.SIGKILL)
            pid, ended, used = os.wait4(p.pid, 0 if late else os.WNOHANG)
            if pid:
                p.returncode = os.waitstatus_to_exitcode(ended)
                status = 'late' if late else p.returncode
            else:
                time.sleep(0.02)
    taken_s = time.time() - begun
    cpu_s = used.ru_utime + used.ru_stime
    print('%-40s status %s, %.1f s, CPU %.1f s' % (suite, status, taken_s, cpu_s), flush=True)
    # Here, and not one suite after another at the end: reading the counts takes as long as many
    # suites do.
    with open(counts + '.json', 'w') as out:
        files = counted(counts)
        json.dump({'suite': suite, 'status': status, 'seconds': round(taken_s, 1),
                   'cpu_s': round(cpu_s, 1),
                   'hashes': {name: hash_of(name) for name in files}, 'files': files}, out)
    shutil.rmtree(counts, ignore_errors=True)


def counted(counts):
    """{file: (lines {number: count}, functions [(name, first, last, count)])} of one suite."""
    found = []
    for folder, _, names in os.walk(counts):
        for name in names:
            if name.endswith('.gcda'):
                made = '/' + os.path.relpath(os.path.join(folder, name[:-5] + '.gcno'), counts)
                if os.path.exists(made):
                    os.link(made, os.path.join(folder, name[:-5] + '.gcno'))
                    found.append(os.path.join(folder, name))
    return lines_of(found)


def lines_of(found):
    files = {}
    if not found:
        return files
    # A process that was ended while it wrote leaves counts that gcov cannot read: those lack.
    out = subprocess.run(['gcov', '--json-format', '--stdout'] + found, capture_output=True).stdout
    for line in out.splitlines():
        for f in json.loads(line)['files']:
            if f['file'].endswith('.c') and not f['file'].startswith('/'):
                lines, functions = files.setdefault(f['file'], ({}, []))
                for at in f['lines']:
                    n = at['line_number']
                    lines[n] = lines.get(n, 0) + at['count']
                functions += [(g['name'], g['execution_count']) for g in f['functions']]
    return files


def main():
    build, wanted = os.path.abspath(sys.argv[1]), sys.argv[2:]
    # A shell starts what runs in its background with interrupts ignored; suites want them.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    listed = subprocess.run([os.path.join(build, 'tests', 'strait-tests'), '--list'], check=True,
                            capture_output=True, text=True).stdout.splitlines()
    suites = [s.split()[0] for s in listed if 'apart' not in s.split()[1:] and
              (not wanted or s.startswith(tuple(wanted)))]
    kept = os.path.join(build, 'counts')
    os.makedirs(kept, exist_ok=True)
    with ThreadPoolExecutor(int(os.environ.get('JOBS') or os.cpu_count())) as pool:
        list(pool.map(lambda s: run_suite(build, s), suites))
    summary = {'seconds': {}, 'cpu_s': {}, 'failed': [], 'late': [], 'files': {}}
    lines = collections.defaultdict(dict)
    for name in sorted(os.listdir(kept)):
        if name.endswith('.json'):
            with open(os.path.join(kept, name)) as f:
                add(summary, lines, json.load(f))
    # What no suite has run has written no counts.
    made = [os.path.join(folder, name) for folder, _, names in os.walk(build) for name in names
            if name.endswith('.gcno') and not folder.startswith(kept)]
    for name, (at, _) in lines_of([m for m in made if os.path.relpath(m, build)[:-5] + '.c'
                                   not in lines]).items():
        lines[name].update(dict.fromkeys(at, 0))
    with open(os.path.join(build, 'reach.json.new'), 'w') as out:
        json.dump(summary, out)
    os.replace(out.name, os.path.join(build, 'reach.json'))  # whole, or not at all
    report(lines)


def hash_of(name):
    try:
        with open(name, 'rb') as f:
            return hashlib.sha256(f.read()).hexdigest()
    except OSError:
        return ''


def add(summary, lines, one):
    """What one suite has counted: of a file that has changed since, the functions alone."""
    suite = one['suite']
    summary['seconds'][suite] = one['seconds']
    summary['cpu_s'][suite] = one.get('cpu_s', one['seconds'])
    if one['status']:
        summary['late' if one['status'] == 'late' else 'failed'].append(suite)
    for name, (at, functions) in one['files'].items():
        of = summary['files'].setdefault(
            name, {'hash': hash_of(name), 'functions': {}, 'lines': {}, 'old': []})
        is_old = one['hashes'][name] != of['hash']
        if is_old:
            of['old'].append(suite)
        for n, count in at.items():
            lines[name][int(n)] = lines[name].get(int(n), 0) + count
            if not is_old:
                of['lines'].setdefault(n, [])
            if count and not is_old:
                of['lines'][n].append(suite)
        for function in {f for f, count in functions if count}:
            of['functions'].setdefault(function, []).append(suite)


def report(lines):
    folders = collections.defaultdict(lambda: [0, 0])
    for name, at in lines.items():
        parts = name.split('/')
        for depth in range(1, len(parts)):
            total = folders['/'.join(parts[:depth])]
            total[0] += len(at)
            total[1] += sum(count > 0 for count in at.values())
    for name in sorted(lines):
        at = lines[name]
        missed = [n for n in sorted(at) if not at[n]]
        if missed:
            print('%-48s %5.1f %%  not reached: %s' % (
                name, 100 * (1 - len(missed) / len(at)), spans(missed)))
    print()
    for name in sorted(folders):
        total, reached = folders[name]
        print('%-32s %6d lines  %5.1f %%' % (name, total, 100 * reached / total))
    total = sum(folders[name][0] for name in LIBRARIES if name in folders)
    reached = sum(folders[name][1] for name in LIBRARIES if name in folders)
    print('%-32s %6d lines  %5.1f %%' % ('the libraries together', total, 100 * reached / total))


def spans(numbers):
    out, first = [], numbers[0]
    for a, b in zip(numbers, numbers[1:] + [None]):
        if b != a + 1:
            out.append('%d' % a if a == first else '%d-%d' % (first, a))
            first = b
    return ' '.join(out)


if __name__ == '__main__':
    main()
