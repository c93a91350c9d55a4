#!/usr/bin/env python3
"""make ns3-check: ns3_check.py STRAIT NS3 [SETTING ...]: rounds that strait predicts packet by
packet beside those of ns3.cc and, where a guest boots, of the kernel (emulated in virtual time).

A round is the mean of three, less what the server adds up, which ns-3 does not have. With loss it
is the mean of four seeds, with the standard deviation; the kernel's is of the first, and compared
with the first. Settings with drops are left out under BBR, since ns-3's does not recover from them.
Ends with status 1 if one without drops differs from ns-3's by more than 5 % (BBR: 15 %) with an
acknowledgement for each segment: there both compute the same thing, and a larger difference is a
mistake of one of them.
"""
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile

# clients, MB of a message, rate and round trip of their ports, the server's rate, Mbps and ms, KB
# of queue towards it (0: no end), loss ratio at clients' ports. 'dumbbell': fast ports that meet at
# a slow one; 'star': each has its own slow one.
SETTINGS = {
    'one client': (1, 4, 110, 43, 10000, 0, 0),
    'star of 5': (5, 2, 50, 20, 1000, 0, 0),
    'star of 12': (12, 0.6, 100, 80, 2000, 0, 0),
    'short messages': (4, 0.06, 200, 60, 1000, 0, 0),
    'dumbbell of 5': (5, 1.5, 1000, 40, 110, 0, 0),
    'queue 1 BDP': (5, 1.5, 1000, 40, 110, 550, 0),
    'queue 0.25 BDP': (5, 1.5, 1000, 40, 110, 138, 0),
    'loss 0.1 %': (1, 2, 110, 43, 10000, 0, 0.001),
    'loss 1 %': (1, 2, 110, 43, 10000, 0, 0.01),
}
CONGESTION = {'reno': 'TcpLinuxReno', 'cubic': 'TcpCubic', 'bbr': 'TcpBbr'}
ROUNDS = 3
FRAME = 96  # what strait sends before a message
MOST = {'reno': 0.05, 'cubic': 0.05, 'bbr': 0.15}
SEEDS = 4


def called(command):
    return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True)


def by_ns3(program, setting, congestion, del_ack_count, seed):
    clients, mb, rate, rtt, server, queue, loss = setting
    said = called([program, f'--clients={clients}', f'--bytes={round(mb * 1e6) + FRAME}',
                   f'--rate={rate}', f'--rtt={rtt}', f'--server={server}',
                   f'--queue={queue * 1000}', f'--loss={loss}', f'--rounds={ROUNDS}',
                   f'--congestion={CONGESTION[congestion]}', f'--delack={del_ack_count}',
                   f'--seed={seed}'])
    return statistics.mean(map(float, said.stdout.split()))


def by_strait(program, here, setting, congestion, seed, *on):
    """NaN: this machine cannot."""
    clients, mb, rate, rtt, server, queue, loss = setting
    n = round(mb * 1e6 / 4)
    with open(f'{here}/model.csv', 'w') as f:
        f.write('# name: message\n# source: invented\n# timing: invented\n# batch: 1\n'
                '# device: accelerator\nfwd_index,layer,param,type,shape,bytes,fwd_us_p50,'
                'fwd_us_p90,bwd_us_p50,bwd_us_p90,ready_us_p50,ready_us_p90,ready_order\n'
                f'0,all,weight,Linear,{n}x1,{4 * n},0,0,0,0,0,0,0\n')
    client = {'rate': f'{rate} Mbps', 'rtt': f'{rtt} ms'}
    if loss:
        client['loss'] = f'{100 * loss:g} %'
    port = {'rate': f'{server} Mbps'}
    if queue:
        port['in'] = {'queue': f'{queue} KB'}
    with open(f'{here}/e.json', 'w') as f:
        json.dump({'schema': 'strait-experiment/1', 'model': f'{here}/model.csv', 'codec': 'none',
                   'strategy': {'name': 'fedavg', 'rounds': ROUNDS, 'local_steps': 0},
                   'network': {'client': client, 'server': port, 'overhead': '0 B',
                               'detail': 'packets',
                               'tcp': {'congestion': congestion, 'slow_start_after_idle': False}},
                   'clients': clients, 'seed': seed}, f)
    said = called([program, 'run', f'{here}/e.json', *on, '--every-round', '--json',
                   '--no-break-even', '--out', f'{here}/out'])
    rows = [r for r in map(json.loads, said.stdout.splitlines()) if r.get('record') == 'row']
    return rows[0]['round_s'] - rows[0]['path_s']['aggregate'] if rows else math.nan


def shown(times):
    mean = statistics.mean(times)
    return f'{mean:.4g}' + (f' ({statistics.stdev(times):.2g})' if len(times) > 1 else '')


def beside(ours, theirs):
    """Two cells: their time, and how far ours are off."""
    if math.isnan(theirs[0]):
        return ['-', '-']
    return [shown(theirs), f'{100 * (statistics.mean(ours) / statistics.mean(theirs) - 1):+.1f} %']


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    strait, ns3, names = sys.argv[1], sys.argv[2], sys.argv[3:] or SETTINGS
    wrong = []
    print('| setting | | strait, s | kernel | strait is off | ns-3, `DelAckCount` 1 '
          '| strait is off | `DelAckCount` 2 | strait is off |\n' + '|---' * 9 + '|')
    # Beside the program: a guest does not see the temporary folder.
    with tempfile.TemporaryDirectory(dir=os.path.dirname(os.path.abspath(ns3))) as here:
        for name in names:
            setting = SETTINGS[name]
            drops = any(setting[-2:])
            for congestion in CONGESTION:
                if drops and congestion == 'bbr':
                    continue
                seeds = range(1, SEEDS + 1 if setting[-1] else 2)
                ours = [by_strait(strait, here, setting, congestion, s, '--on', 'fluid')
                        for s in seeds]
                kernel = [by_strait(strait, here, setting, congestion, 1, '--on', 'emu',
                                    '--launcher', 'vuml')]
                one, two = ([by_ns3(ns3, setting, congestion, n, s) for s in seeds]
                            for n in (1, 2))
                print('| ' + ' | '.join([name, congestion, shown(ours), *beside(ours[:1], kernel),
                                         *beside(ours, one), *beside(ours, two)]) + ' |',
                      flush=True)
                off = statistics.mean(ours) / statistics.mean(one) - 1
                if not drops and abs(off) > MOST[congestion]:
                    wrong.append(f'{name}, {congestion}')
    if wrong:
        sys.exit('ns3-check: without drops, and different: ' + '; '.join(wrong))


main()
