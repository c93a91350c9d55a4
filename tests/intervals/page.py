#!/usr/bin/env python3
"""docs/accuracy.md: page.py LEARNED CHECK, the table that intervals are learned from and a folder of
measure.py, on standard output.

STRAIT names the program (build/strait).
"""
import csv
import json
import os
import statistics
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


def table(groups):
    head = ['settings', 'number', 'in interval %', 'width %, mean', 'median']
    print('| ' + ' | '.join(head + ['error %: mean', 'median', 'p90', 'p95', 'worst',
                                    'without compute: mean', 'p95', 'worst']) + ' |')
    print('|---' * (len(head) + 8) + '|')
    for g in groups:
        rest = g['rest'] or {}
        cells = [g['of'], str(g['settings']), f"{100 * g['covered']:.0f}",
                 percent(g['width']['mean']), percent(g['width']['median'])]
        cells += [percent(g['round'][k]) for k in ('mean', 'median', 'p90', 'p95', 'worst')]
        print('| ' + ' | '.join(cells + [*(percent(rest.get(k)) for k in ('mean', 'p95', 'worst'))]) + ' |')


def lost(here):
    """What gave no pair, from the log: {reason: number}."""
    reasons = {}
    for line in open(f'{here}/log'):
        status = line.split('status ')[1].strip()
        if status[:2].strip() not in ('0', '1'):
            why = 'ran out of time' if status == 'timeout' else status[2:].replace('strait: ', '')
            reasons[why] = reasons.get(why, 0) + 1
    return reasons


def rounds(folder, backend):
    """{(setting, codec): seconds a round} from a results folder: predictions have a row without one
    too."""
    found, name = {}, None
    for line in open(f'{folder}/results.jsonl'):
        r = json.loads(line)
        if r['record'] == 'header':
            name = os.path.basename(r['experiment']['file'])
        elif r['record'] == 'row' and r['backend'] == backend and not r['invalid']:
            found[name, r['codec']['name']] = r['round_s']
    return found


def summary(errors):
    errors = sorted(map(abs, errors))
    at = [errors[min(len(errors) - 1, int(q * len(errors)))] for q in (0.9, 0.95)]
    return [percent(x) for x in (statistics.mean(errors), statistics.median(errors), *at,
                                 errors[-1])]


def drawn(check):
    """Errors with the measured draw of losses beside those with another one."""
    measured, same, other = (rounds(f'{check}/{f}', b) for f, b in
                             (('out', 'emu'), ('predicted', 'fluid'), ('other', 'fluid')))
    print('| settings | number | the same draw, error %: mean | median | p90 | p95 | worst '
          '| another draw: mean | median | p90 | p95 | worst |')
    print('|---' * 12 + '|')
    for kind in ('loss', 'jitter', 'queue', 'mixed'):
        names = [n for n in measured if n[0].endswith(f'-{kind}.json') and n in same and n in other]
        if names:
            print('| ' + ' | '.join([kind, str(len(names))] + [
                cell for of in (same, other)
                for cell in summary(of[n] / measured[n] - 1 for n in names)]) + ' |')


def learned_from(path):
    rows = list(csv.DictReader(line for line in open(path) if not line.startswith('#')))
    print('| settings | number | error %: mean | median | p90 | p95 | worst |')
    print('|---' * 7 + '|')
    kinds = [('all', lambda r: True)]
    for key in ('network', 'congestion', 'family', 'messages'):
        for value in dict.fromkeys(r[key] for r in rows):
            kinds.append((value + (' messages' if key == 'messages' else ''),
                          lambda r, key=key, value=value: r[key] == value))
    for name, is_of in kinds:
        errors = [float(r['error']) for r in rows if is_of(r)]
        print('| ' + ' | '.join([name, str(len(errors))] + summary(errors)) + ' |')
    return len(rows)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    learned, check = sys.argv[1:]
    checked = coverage(check)
    seed = sorted(os.listdir(f'{check}/set'))[0].split('-')[0]
    print(f'''# How accurate are predictions?

Written by `make coverage-check` ([how intervals are made](intervals.md)). Settings are drawn by a
seed (`tests/intervals/draw.py` says from what ranges), predicted by `fluid` with the codecs' costs
as measured on the machine that emulates, and emulated in virtual time with the kernel's own TCP.
Errors are those of the mean round, |predicted / measured - 1|; below "without compute" those of the
round minus the compute on its critical path.

Where a link has loss, prediction and emulation of a setting draw the same losses, by its seed
(common random numbers, [emulation.md](emulation.md)): these errors are those of the model, without
the spread of draws. The second table has both. Who predicts a real network, whose losses nobody
knows, has the errors of another draw, which the interval contains.

## Settings that nothing was learned on: {checked['settings']}

{100 * checked['covered']:.0f} % of the measured rounds lie inside of their 90 % intervals. Drawn with seed {seed}, in the
order of their numbers, as many as were emulated. Not judged: {checked['invalid']} whose measurement is INVALID.
What was emulated is kept in `tests/intervals/seed-{seed}.jsonl.xz`; `make coverage-again` predicts
it anew.

Seed 74 was drawn when the model was done, and the intervals were learned anew on seeds 31, 41, 57,
61 and 73 before it was looked at. Its table stands as it judged: what changed since then needs
calibrations that its emulations do not have, or moves none of its settings. It was emulated
at a load of 15 to 36 on two cores, in which what codecs are measured to take varies: see "with a
codec" and "no codec". The version before errs on the same settings by 2.8 % in the mean and by 1.4
% without a codec, 89 and 94 % inside. Verdicts before it, each of the model of then: seed 57 96 %
inside of 116, errors of 2.1 % in the mean, clean 1.1 and at most 10.2; seed 61 90 % inside of 120
with a mean width of 47.9 %, by the intervals' form of then (later 92 % and 21.5), errors of 2.0 %,
clean 1.1 and at most 16.5; seed 73 93 % inside of 120, errors of 1.7 %, clean 0.9 and at most 11.8,
queues 4.3 and at most 31.5. After that one BBR's pacing and full ports changed, and all of these
were compared with.

After seed 74 the sizes of sums of few ranks, the speed of PowerSGD, windows in bytes and the
segments of asynchronous rounds changed, for what had gone wrong in the seeds above. On seeds that
were drawn then (`seed-89.jsonl.xz`, `seed-97.jsonl.xz`), clean settings alone, emulated at a load
of 9 to 15 on two cores and predicted by the version before and by this one, errors of the round and
of the round without compute in %; of seed 97 the first ones in the order of their numbers, and all
whose strategies these changes concern:

| clean settings | number | before: mean, median, p90, worst | inside | now: mean, median, p90, worst | inside | without compute, mean and worst: before | now |
|---|---|---|---|---|---|---|---|
| seed 97, the first ones | 43 | 1.3, 0.2, 1.1, 38.3 | 40 | 1.2, 0.2, 1.8, 32.2 | 40 | 1.9, 57.0 | 1.8, 48.0 |
| seed 97, encoded sums, PowerSGD and asynchronous | 19 | 3.7, 0.6, 9.3, 38.3 | 16 | 2.8, 0.6, 5.0, 32.2 | 17 | 5.4, 57.0 | 4.3, 48.0 |
| seed 97, both | 52 | 1.7, 0.3, 3.6, 38.3 | 47 | 1.3, 0.3, 2.4, 32.2 | 48 | 2.3, 57.0 | 1.9, 48.0 |
| seed 89 | 65 | 1.2, 0.2, 2.8, 23.6 | 60 | 1.1, 0.2, 2.6, 23.6 | 60 | 1.3, 20.7 | 1.3, 20.7 |

The worst of seed 97, PowerSGD with rounds of 10 ms, was emulated while something else held the
machine: its row says that codecs took 92 % more than calibration expects. Emulated ten minutes
before, it is 12.5 % off before and 1.2 now; without it, both are 0.9 % off in the mean and at most
9.3, and now 0.7 and 5.0.

The worst of seed 89 showed that asynchronous rounds were counted wrongly, which changed after it:
8.33 ms predicted, 6.78 since, 6.76 emulated. Its second worst, BBR with 19 clients, was emulated
once more: 0.284 s instead of 0.308, 0.281 predicted. What is left is mostly the codecs' sizes,
since calibration measures other recordings than those that are sent (messages then need a round
trip more or less), and which of equal streams is the luckier one.
''')
    table(checked['groups'])
    print('\nWith the draw of losses that was measured, and with another one (the same settings, seed '
          '1001):\n')
    drawn(check)
    print('\nThe worst:\n\n| error % | setting | model | clients | predicted s | measured s | inside |\n'
          '|---|---|---|---|---|---|---|')
    for w in checked['worst']:
        print(f"| {100 * w['error']:+.1f} | {w['title']} | {w['model']} | {w['clients']} | "
              f"{w['round_s']:.4g} | {w['measured_s']:.4g} | {'yes' if w['covered'] else 'no'} |")
    print('''
## Settings that the intervals were learned on

Their errors (`experiments/accuracy/learned.csv`): of seeds whose emulations are kept beside the
other one, and with which the model was compared while it was changed. `make coverage-again` makes
the table anew.
''')
    learned_from(learned)
    for why, n in sorted(lost(check).items()):
        print(f'\nOf the settings drawn, {n} gave nothing: {why}.')


main()
