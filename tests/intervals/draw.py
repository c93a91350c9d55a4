#!/usr/bin/env python3
"""Settings to learn intervals from and to check them on, drawn by a seed.

draw.py SEED N DIR [KIND ...]: DIR/set/SEED-ID.json and the layer tables DIR/models/SEED-*.csv,
which the settings name as seen from DIR, so that their keys are the same wherever DIR lies.
Setting i depends on SEED and i alone, so that more of them, and other seeds, can be added later. KINDs (clean loss queue jitter
mixed) keep only those, with the numbers that they have among all.

Rates, round trips and sizes are drawn over ranges, not from lists; what a range holds is beside it.
Nothing is chosen by how it comes out. Only Random.random() is used, which is the same everywhere.
"""
import json
import math
import os
import random
import sys

KINDS = [('clean', 60), ('loss', 13), ('queue', 12), ('jitter', 9), ('mixed', 6)]
# MB of parameters; what is emulated in virtual time must stay small.
SHIPPED = {'cnn': 0.42, 'resnet': 1.57, 'fashion-mlp': 0.8, 'char-transformer': 3.29, 'gpt': 11.9,
           'mobilenet-v2': 14.0}
STRATEGIES = [('fedavg', 44), ('bsp', 10), ('hierfl', 6), ('ps', 6), ('fedasync', 7),
              ('fedbuff', 5), ('diloco', 4), ('localsgd', 3), ('dear', 5), ('fusion', 3),
              ('mgwfbp', 2), ('powersgd', 3), ('scaffold', 1), ('adaptive', 1)]
SERVED = ('fedavg', 'hierfl', 'fedasync', 'fedbuff', 'scaffold', 'adaptive')
PASSES = {'hierfl': 4, 'fedasync': 3, 'scaffold': 4}  # times that a client's model crosses a link
CODECS = ['none', 'zstd', 'qsgd', ('qsgd', {'levels': 15}), ('topk', {'ratio': 0.05}),
          ('sz', {'bound': {'range': 1e-2}}), ('sz', {'bound': {'range': 1e-3}}),
          ('sz', {'bound': {'range': 2e-4}}), ('powersgd', {'rank': 2})]


class Draw:
    def __init__(self, *key):
        self.random = random.Random(':'.join(map(str, key))).random

    def of(self, values):
        return values[int(self.random() * len(values))]

    def whole(self, low, high):
        return low + int(self.random() * (high - low + 1))

    def weighted(self, pairs):
        left = self.random() * sum(w for _, w in pairs)
        for value, weight in pairs:
            left -= weight
            if left < 0:
                return value
        return pairs[-1][0]

    def spread(self, low, high, digits=3):
        """Even in the logarithm."""
        return float(f'{low * (high / low) ** self.random():.{digits}g}')

    def says(self, probability):
        return self.random() < probability


def table(seed, i, path):
    """A made-up layer table of 0.3 to 12 MB. Returns: its MB."""
    d = Draw(seed, 'table', i)
    left = int(d.spread(0.3e6, 12e6) / 4)
    layers, width = [], d.whole(20, 500)
    while left > 0:
        out = max(3, min(d.whole(20, 1200), left // width + 1))
        layers.append((out, width))
        left -= out * (width + 1)
        width = out
    rate = d.spread(2000, 12000)  # us of forward a million parameters
    fwd = [rate * o * w / 1e6 * (0.6 + d.random()) + 15 for o, w in layers]
    bwd = [2 * f * (0.8 + 0.4 * d.random()) for f in fwd]
    ready, past = [0.0] * len(layers), 0.0
    for k in reversed(range(len(layers))):
        past += bwd[k]
        ready[k] = past
    with open(path, 'w') as f:
        f.write(f'# name: drawn-{i}\n# source: made up by tests/intervals/draw.py, seed {seed}\n'
                '# timing: invented\n# batch: 16\n# device: accelerator, invented\n'
                'fwd_index,layer,param,type,shape,bytes,fwd_us_p50,fwd_us_p90,bwd_us_p50,'
                'bwd_us_p90,ready_us_p50,ready_us_p90,ready_order\n')
        n = 2 * len(layers)
        for k, (o, w) in enumerate(layers):
            times = ','.join(f'{x:.1f},{x:.1f}' for x in (fwd[k], bwd[k], ready[k]))
            f.write(f'{2 * k},l{k},weight,Linear,{o}x{w},{4 * o * w},{times},{n - 2 - 2 * k}\n')
            f.write(f'{2 * k + 1},l{k},bias,Linear,{o},{4 * o},{times},{n - 1 - 2 * k}\n')
    return 4e-6 * sum(o * (w + 1) for o, w in layers)


def mbps(x):
    return f'{x:g} Mbps'


def port(d):
    rate = d.spread(25, 2500)
    p = {'rate': mbps(rate), 'rtt': f'{d.spread(0.8, 180):g} ms'}
    if d.says(0.3):
        p['out'] = {'rate': mbps(d.spread(max(20, rate / 8), rate))}
    return p, rate


def ports(d, n):
    """What clients have, and the first one's rate: all alike, or one or a third of them slower."""
    p, rate = port(d)
    if n < 3 or not d.says(0.25):
        return p, rate
    slow = {'rate': mbps(max(20, round(rate / d.spread(2, 9)))), 'rtt': f'{d.spread(0.8, 180):g} ms'}
    n_slow = 1 if d.says(0.5) else max(1, n // 3)
    return [slow if i % n < n_slow else dict(p) for i in range(n)], rate


def strategy_of(d, name, n):
    s = {'name': name, 'rounds': d.whole(2, 3)}
    steps = {'fedavg': 4, 'hierfl': 4, 'fedasync': 4, 'fedbuff': 4, 'scaffold': 3, 'adaptive': 3,
             'diloco': 40, 'localsgd': 12}
    if name in steps:
        s['local_steps'] = d.whole(0 if name != 'diloco' else 2, steps[name])
    if name == 'fedavg':
        if d.says(0.3):
            s['pieces'] = d.whole(2, 8)
        s['decode_cores'] = d.of([1, 2, n])
    elif name == 'fedasync':
        s['rounds'] = d.whole(2, 4) * n
        s['straggler_spread'] = d.of([0, 0.4, 0.8])
    elif name == 'fedbuff':
        s['rounds'] = d.whole(3, 5)
        s['buffer'] = max(2, n // d.whole(2, 3))
        s['straggler_spread'] = d.of([0, 0.4, 0.8])
    elif name == 'hierfl':
        s['region_rounds'] = d.whole(1, 3)
    elif name == 'ps':
        s['servers'] = d.of([1, 2, 'clients'])
    elif name == 'bsp':
        s['collective'] = d.of(['ring', 'ring', 'halving', 'tree', 'all_to_all'])
    elif name in ('dear', 'fusion'):
        s['fusion' if name == 'dear' else 'bucket'] = f'{d.spread(0.2, 20):g} MB'
    return s


def codec_of(d, strategy):
    if strategy in ('powersgd', 'scaffold') or d.says(0.55):
        return 'none'
    picked = d.of([c for c in CODECS[1:] if strategy in SERVED or c[0] == 'sz'])
    if strategy == 'adaptive':
        picked = CODECS[6]
    return picked if isinstance(picked, str) else {'name': picked[0], **picked[1]}


def disturb(d, kind, network):
    """Loss, jitter, short queues on every client's port; queues on the server's too."""
    client, server = network['client'], network['server']
    all_ports = client if isinstance(client, list) else [client]
    rtt = max(float(p['rtt'].split()[0]) for p in all_ports)
    loss, swing, held = d.spread(0.02, 2), d.spread(0.05, 0.4), d.spread(0.12, 2)
    what = [kind] if kind != 'mixed' else d.of([['loss', 'queue'], ['queue', 'jitter'],
                                               ['loss', 'jitter']])
    for p in all_ports:
        if 'loss' in what:
            p['loss'] = f'{loss:g} %'
        if 'jitter' in what:
            p['jitter'] = f'{max(0.2, round(swing * float(p["rtt"].split()[0]), 1)):g} ms'
    for p in all_ports + [server]:
        if 'queue' in what:
            rate = float(p.get('out', p)['rate'].split()[0])
            p['queue'] = f'{max(20, round(held * rate * rtt / 8)):g} KB'


def setting(seed, i, tables):
    d = Draw(seed, 'setting', i)
    kind = d.weighted(KINDS)
    dirty = kind != 'clean'
    strategy = d.weighted([s for s in STRATEGIES if not dirty or s[0] in
                           ('fedavg', 'bsp', 'ps', 'fedasync', 'localsgd', 'hierfl')])
    sizes = {**SHIPPED, **{f'drawn-{k}': mb for k, (mb, _) in enumerate(tables)}}
    budget = d.spread(15, 90 if dirty else 160)
    while True:  # the model first, then how many clients the budget of MB allows
        model = d.of(sorted(sizes))
        most = int(budget / (2 * sizes[model] * PASSES.get(strategy, 2)))
        if most >= 2:
            break
    n = min(d.of([2, 3, 4, 5, 6, 8, 9, 12, 15, 18, 24, 30, 36]), most)
    client, rate = ports(d, n)
    server = {'rate': mbps(min(20000, max(25, round(rate * d.spread(0.3, 15)))))}
    if d.says(0.3):
        server['rtt'] = f'{d.spread(0.5, 25):g} ms'
    network = {'client': client, 'server': server, 'overhead': d.of(['24 B', '0 B']),
               'tcp': {'congestion': d.of(['reno', 'cubic', 'cubic', 'bbr']),
                       'slow_start_after_idle': d.says(0.6)}}
    if d.says(0.25):
        network['connections'] = d.of([2, 4, 8])
    if d.says(0.06):
        network['tcp']['window'] = f'{d.spread(200, 2000):g} KB'
    chosen = strategy_of(d, strategy, n)
    if not dirty and (strategy == 'hierfl' or d.says(0.1)):
        first = client[0] if isinstance(client, list) else client
        network.update(topology='sites', client={**first, 'rtt': f'{d.spread(0.3, 4):g} ms'},
                       site={'ranks': d.whole(2, 5), 'rate': mbps(d.spread(25, 2500)),
                             'rtt': f'{d.spread(2, 150):g} ms'})
    elif strategy == 'hierfl':
        chosen['region_size'] = d.whole(2, 5)
    if dirty:
        disturb(d, kind, network)
    e = {'schema': 'strait-experiment/1', 'title': f'{kind} {strategy}',
         'model': model if model in SHIPPED else tables[int(model[6:])][1],
         'strategy': chosen, 'codec': codec_of(d, strategy), 'network': network, 'clients': n,
         'seed': d.whole(1, 999)}
    if strategy in ('fedavg', 'hierfl', 'diloco') and d.says(0.25):
        e['device'] = {'speed': d.of([0.05, 0.2, 0.5])}  # long computing leaves windows idle
    if strategy in ('fedavg', 'fedasync') and d.says(0.25):
        name = e['codec'] if isinstance(e['codec'], str) else e['codec']['name']
        e['download_codec'] = 'zstd' if name in ('topk', 'powersgd') else e['codec']
    return kind, e


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    seed, n, here, kinds = sys.argv[1], int(sys.argv[2]), os.path.abspath(sys.argv[3]), sys.argv[4:]
    for folder in ('set', 'models'):
        os.makedirs(f'{here}/{folder}', exist_ok=True)
    tables = []
    for i in range(8):
        path = f'models/{seed}-drawn-{i}.csv'
        tables.append((table(seed, i, f'{here}/{path}'), path))
    for i in range(n):
        kind, e = setting(seed, i, tables)
        if not kinds or kind in kinds:
            with open(f'{here}/set/{seed}-{i:04d}-{kind}.json', 'w') as f:
                json.dump(e, f, indent=1)
    assert math.isfinite(tables[0][0])


main()
