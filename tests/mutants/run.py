#!/usr/bin/env python3
"""Do the tests notice when the code is wrong?

run.py N SEED [ONLY]: draws N small changes (sites.py) over all folders, builds each in a copy of
the tree and runs the suites that reach the changed function, the one that mirrors its file first.
Prints of each what noticed it, or SURVIVED, and at the end the share noticed. ONLY is a prefix of
paths. What the compiler turns into the same object code, or does not compile, is drawn again.

The suites run where a change can hurt nobody: in process, network and mount namespaces of their
own, where everything but the copy and a scratch /tmp is read-only.
"""
import collections
import filecmp
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import sites  # noqa: E402

FOLDERS = 'core codecs traces workloads sim emu analysis campaign cli'.split()
BUILD = 'build/mutants'
MUTANT_S = float(os.environ.get('MUTANT_S', 150))  # all suites of one mutant together
QUIET = dict(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
FENCE = '''mount --make-rprivate / && mount --bind "$0" "$0" && mount -o remount,ro,bind / || exit 99
case "$0" in /tmp/*) ;; *) mount -t tmpfs none /tmp;; esac
mount -t tmpfs none /run; cd "$0"; ip link set lo up; ulimit -d 8000000; ulimit -c 0; exec "$@"'''


LIVE = set()  # what must end with us


def leave(*_):
    for p in list(LIVE):
        p.kill()  # --kill-child: its namespace ends with it
    os._exit(1)


def fenced(tree, command, limit_s, env=None):
    """The status of a command inside the fence, 'late' when it took too long."""
    unshare = ['unshare', '--mount', '--net', '--pid', '--fork', '--kill-child', '--mount-proc']
    if os.geteuid():
        unshare.insert(1, '--map-root-user')
    p = subprocess.Popen(unshare + ['sh', '-c', FENCE, tree] + command, env=env,
                         start_new_session=True, **QUIET)
    LIVE.add(p)
    try:
        return p.wait(limit_s)
    except subprocess.TimeoutExpired:
        p.kill()
        p.wait()
        return 'late'
    finally:
        LIVE.discard(p)


class Tree:
    """A copy of the tree with a build of its own."""

    def __init__(self, root, path):
        self.path = path
        os.makedirs(path, exist_ok=True)
        files = subprocess.run(['git', 'ls-files', '-co', '--exclude-standard', '-z'], cwd=root,
                               capture_output=True, check=True).stdout.decode().split('\0')
        for name in files:
            source, copy = os.path.join(root, name), os.path.join(path, name)
            if name and os.path.isfile(source):
                os.makedirs(os.path.dirname(copy), exist_ok=True)
                if not os.path.exists(copy) or not filecmp.cmp(source, copy, shallow=False):
                    shutil.copyfile(source, copy)
        for folder, folders, found in os.walk(path):
            if folder == path:
                folders[:] = [f for f in folders if f != 'build']
            for name in found:
                if not os.path.exists(os.path.join(root, os.path.relpath(folder, path), name)):
                    os.remove(os.path.join(folder, name))

    def make(self, *targets):
        return subprocess.run(['make', '-s', 'MODE=mutants', 'CC=' + os.environ.get('CC', 'gcc'),
                               'WERROR=-Werror=incompatible-pointer-types -Werror=int-conversion']
                              + list(targets), cwd=self.path, **QUIET).returncode

    def run(self, suite, limit_s):
        env = dict(os.environ, STRAIT_BIN=os.path.join(self.path, BUILD, 'strait'))
        program = os.path.join(self.path, BUILD, 'tests', 'strait-tests')
        return fenced(self.path, [program, '--here', suite], limit_s, env)


class Linked:
    """Which suites could reach a file, nearest first, by who names whose symbols in the objects:
    where `make coverage` has counted nothing."""
    LEFT_OUT = ('guest', 'qemu', 'virtual', 'uml', 'judged', 'agreement', 'lib/install')

    def __init__(self, tree):
        build = os.path.join(tree.path, BUILD)
        listed = subprocess.run([os.path.join(build, 'tests', 'strait-tests'), '--list'], check=True,
                                capture_output=True, text=True).stdout.splitlines()
        self.weight = {}  # how long a suite is likely to take
        for words in map(str.split, listed):
            if 'apart' not in words[1:] and not any(w in words[0] for w in self.LEFT_OUT):
                self.weight[words[0]] = 1 + 20 * ('slow' in words[1:]) + 20 * ('alone' in words[1:])
        self.failed, self.users = [], self.users_of(build)

    def users_of(self, build):
        """{object: those that name its symbols}; what runs the program names all that cli/ names."""
        defined, wanted = {}, collections.defaultdict(set)
        for folder, _, names in os.walk(build):
            for path in (os.path.join(folder, n) for n in names if n.endswith('.o')):
                own = os.path.relpath(path, build)[:-2]
                out = subprocess.run(['nm', '-g', path], capture_output=True, text=True).stdout
                for words in map(str.split, out.splitlines()):
                    if words[-2] == 'U':
                        wanted[own].add(words[-1])
                    else:
                        defined.setdefault(words[-1], own)
        users = collections.defaultdict(set)
        for own, symbols in wanted.items():
            for symbol in symbols & set(defined):
                users[defined[symbol]].add(own)
        users['cli/main'].add('tests/kit/program')
        return users

    def suites(self, name, _):
        own = os.path.splitext(name)[0]
        far, now, room = {own: 0}, [own], os.path.dirname(name)
        while now:
            new = {u for o in now for u in self.users[o] if u not in far}
            far.update((u, far[now[0]] + 1) for u in new)
            now = sorted(new)
        able = []
        for suite in self.weight:
            folder, stem = os.path.split(suite)
            distance = far.get('tests/%s/test_%s' % (folder, stem))
            if distance and suite not in self.failed:
                near = (suite != own, folder != room, folder.split('/')[0] != room.split('/')[0])
                able.append((near[0], distance * self.weight[suite] + 2 * sum(near), suite))
        return [suite for _, _, suite in sorted(able)]

    def limit_s(self, suite):
        return 60 + 5 * self.weight[suite]


class Reach:
    """Which suites reach a function, as `make coverage` has seen."""

    def __init__(self, path):
        with open(path) as f:
            self.__dict__.update(json.load(f))

    def limit_s(self, suite):
        return 20 + 10 * self.seconds[suite]

    def suites(self, name, function):
        """The suite that mirrors the file first, then those that reach much of it soon. Where the
        map does not know the function (it is newer) all that reach the file, or its room."""
        functions = self.reach.get(name, {})
        of_file = {s for suites in functions.values() for s in suites}
        stem, room = os.path.splitext(name)[0], os.path.dirname(name)
        failed = set(self.failed)
        able = set(functions.get(function, [])) - failed or of_file - failed or {
            s for s in self.seconds if s.startswith(room + '/')}
        able |= {s for s in self.seconds if s == stem}

        def order(suite):
            share = sum(suite in suites for suites in functions.values()) / max(1, len(functions))
            return (suite != stem, self.seconds[suite] / (0.05 + share))
        return sorted(able - failed, key=order)


def draw(root, seed, only):
    """Changes without end: a folder by the root of its size, in it a file, a kind, a place."""
    chance = random.Random(seed)
    names = subprocess.run(['git', 'ls-files'] + FOLDERS, cwd=root, capture_output=True,
                           check=True).stdout.decode().split()
    files = collections.defaultdict(list)
    for name in names:
        if name.endswith('.c') and name.startswith(only):
            with open(os.path.join(root, name)) as f:
                text = f.read()
            found = sites.sites_of(text)
            if found:
                files[name.split('/')[0]].append((name, text, found))
    folders = sorted(files)
    weights = [sum(len(t) for _, t, _ in files[f]) ** 0.5 for f in folders]
    seen = set()
    while True:
        folder = chance.choices(folders, weights)[0]
        name, text, found = chance.choices(files[folder],
                                           [len(t) for _, t, _ in files[folder]])[0]
        kind = chance.choice(sorted({s.kind for s in found}))
        site = chance.choice([s for s in found if s.kind == kind])
        key = (name, site.begin, site.after)
        if key not in seen:
            seen.add(key)
            yield name, text, site


def judge(tree, reach, name, text, site):
    """('noticed', by) | ('SURVIVED', suites run) | (None, why it does not count)."""
    source = os.path.join(tree.path, name)
    made = os.path.join(tree.path, BUILD, name[:-2] + '.o')
    kept = made + '.kept'
    shutil.copy2(made, kept)
    try:
        with open(source, 'w') as f:
            f.write(text[:site.begin] + site.after + text[site.end:])
        if tree.make(os.path.relpath(made, tree.path)):
            return None, 'does not compile'
        if filecmp.cmp(made, kept, shallow=False):
            return None, 'the same object code'
        if tree.make('programs'):
            return None, 'does not link'
        suites = reach.suites(name, site.function)
        until, ran = time.time() + MUTANT_S, 0
        for suite in suites:
            if time.time() > until:
                break
            status = tree.run(suite, reach.limit_s(suite))
            ran += 1
            if status:
                return 'noticed', suite + (' (hangs)' if status == 'late' else '')
        return 'SURVIVED', '%d of %d suites that reach it' % (ran, len(suites))
    finally:
        with open(source, 'w') as f:
            f.write(text)
        shutil.copyfile(kept, made)  # newer than the source


def line_of(text, site):
    """The changed line, before and after, without what surrounds it."""
    first = text.rfind('\n', 0, site.begin) + 1
    last = text.find('\n', site.end)
    before = ' '.join(text[first:last].split())
    after = ' '.join((text[first:site.begin] + site.after + text[site.end:last]).split())
    return before, after


def main():
    n, seed = int(sys.argv[1]), sys.argv[2]
    signal.signal(signal.SIGINT, leave)
    signal.signal(signal.SIGTERM, leave)
    only = sys.argv[3] if len(sys.argv) > 3 else ''
    root = os.getcwd()
    counted = os.environ.get('REACH', 'build/coverage/reach.json')
    work = os.path.abspath(os.environ.get('MUTANTS_TMP', 'build/mutants/copies'))
    jobs = int(os.environ.get('JOBS') or os.cpu_count() or 1)
    trees = []
    for i in range(jobs):
        tree = Tree(root, os.path.join(work, str(i)))
        print('building copy %d in %s' % (i, tree.path), file=sys.stderr, flush=True)
        if tree.make('programs'):
            sys.exit('run.py: the unchanged tree does not build: make MODE=mutants in ' + tree.path)
        trees.append(tree)
    reach = Reach(counted) if os.path.exists(counted) else Linked(trees[0])
    drawn, lock = draw(root, seed, only), threading.Lock()
    result = {'noticed': 0, 'SURVIVED': 0, 'drawn': 0, 'broken': 0}
    clean = {}

    def clean_suite(tree, suite, hung):
        """A suite that fails without any change says nothing; nor does the hanging of one that
        takes more than a third of its time without it."""
        if suite not in clean:
            begun = time.time()
            failed = tree.make('programs') or tree.run(suite, 40 + reach.limit_s(suite))
            clean[suite] = float('inf') if failed else time.time() - begun
        return clean[suite] < (reach.limit_s(suite) / 3 if hung else float('inf'))

    def work_on(tree):
        while True:
            with lock:
                if result['drawn'] >= n:
                    return
                result['drawn'] += 1
                name, text, site = next(drawn)
            outcome, by = judge(tree, reach, name, text, site)
            # What fails without the change, too, has noticed nothing.
            if outcome == 'noticed' and not clean_suite(tree, by.split(' ')[0], ' ' in by):
                with lock:
                    reach.failed.append(by.split(' ')[0])
                outcome, by = judge(tree, reach, name, text, site)
            with lock:
                if outcome is None:
                    result['drawn'] -= 1
                    result['broken'] += 1
                    continue
                result[outcome] += 1
                before, after = line_of(text, site)
                print('%-8s %s:%d %s (%s), by %s\n    - %s\n    + %s' % (
                    outcome, name, site.line, site.function or 'a table', site.kind, by, before,
                    after), flush=True)

    threads = [threading.Thread(target=work_on, args=(t,)) for t in trees]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    n = result['noticed'] + result['SURVIVED']
    print('%d of %d noticed (%.1f %%), seed %s; %d others had the same object code or none' % (
        result['noticed'], n, 100 * result['noticed'] / max(1, n), seed, result['broken']))
    return result['noticed'] < 0.95 * n


if __name__ == '__main__':
    sys.exit(main())
