#!/usr/bin/env python3
"""docs/accuracy.md from results: page.py LEARN CHECK, two folders of measure.py, on standard output.

STRAIT names the program (build/strait).
"""
import json
import os
import subprocess
import sys

STRAIT = os.environ.get('STRAIT', 'build/strait')


def coverage(here, *options):
    command = [STRAIT, 'compare', '--coverage', '--json', *options, f'{here}/predicted',
               f'{here}/out']
    ran = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    if ran.returncode > 1:
        sys.exit(f'{here}: nothing to compare')
    return json.loads(ran.stdout)


def percent(x):
    return '-' if x is None else f'{100 * x:.1f}'


BASES = ('closed form', 'emulated', 'published', 'extrapolated')  # of what is learned they say nothing


def table(groups, covered):
    head = ['settings', 'number'] + (['in interval %', 'width %, mean', 'median'] if covered else [])
    print('| ' + ' | '.join(head + ['error %: mean', 'median', 'p90', 'p95', 'worst',
                                    'without compute: mean', 'p95']) + ' |')
    print('|---' * (len(head) + 7) + '|')
    for g in groups:
        if not covered and g['of'] in BASES:
            continue
        rest = g['rest'] or {}
        cells = [g['of'], str(g['settings'])]
        if covered:
            cells += [f"{100 * g['covered']:.0f}", percent(g['width']['mean']),
                      percent(g['width']['median'])]
        cells += [percent(g['round'][k]) for k in ('mean', 'median', 'p90', 'p95', 'worst')]
        print('| ' + ' | '.join(cells + [percent(rest.get('mean')), percent(rest.get('p95'))]) + ' |')


def lost(here):
    """What gave no pair, from the log: {reason: number}."""
    reasons = {}
    for line in open(f'{here}/log'):
        status = line.split('status ')[1].strip()
        if status[:2].strip() not in ('0', '1'):
            why = 'ran out of time' if status == 'timeout' else status[2:].replace('strait: ', '')
            reasons[why] = reasons.get(why, 0) + 1
    return reasons


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    learn, check = sys.argv[1:]
    learned = coverage(learn, '--learn', os.devnull)
    checked = coverage(check)
    print(f'''# How accurate are predictions?

Written by `make coverage-check` ([how intervals are made](intervals.md)). Settings are drawn by a
seed (`tests/intervals/draw.py` says from what ranges), predicted by `fluid` with the codecs' costs
as measured on the machine that emulates, and emulated in virtual time with the kernel's own TCP.
Errors are those of the mean round, |predicted / measured - 1|; below "without compute" those of the
round minus the compute on its critical path.

## Settings that nothing was learned on: {checked['settings']}

{100 * checked['covered']:.0f} % of the measured rounds lie inside of their 90 % intervals. These are the first of the draws
of their seed, as many as were emulated so far; with the {learned['settings']} below they are {checked['settings'] + learned['settings']} of the 700
that are the goal. Not judged: {checked['invalid']} whose measurement is INVALID.
''')
    table(checked['groups'], True)
    print('\nThe worst:\n\n| error % | setting | model | clients | predicted s | measured s | inside |\n'
          '|---|---|---|---|---|---|---|')
    for w in checked['worst']:
        print(f"| {100 * w['error']:+.1f} | {w['title']} | {w['model']} | {w['clients']} | "
              f"{w['round_s']:.4g} | {w['measured_s']:.4g} | {'yes' if w['covered'] else 'no'} |")
    print(f'''
## Settings that the intervals were learned on: {learned['settings']}

Their errors; whether their intervals hold says nothing.
''')
    table(learned['groups'], False)
    for here in (learn, check):
        for why, n in sorted(lost(here).items()):
            print(f'\nOf the settings drawn, {n} gave nothing: {why}.')


main()
