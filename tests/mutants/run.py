#!/usr/bin/env python3
"""Do the tests notice when the code is wrong?

run.py N SEED [ONLY]: draws N small changes (sites.py) over all folders, compiles each, links the
program and the suites anew and runs the suites that reach the changed line, likely and cheap ones
first, until a check fails. Prints of each what noticed it, or SURVIVED, and at the end the share
noticed. ONLY is a prefix of paths. What the compiler turns into the same object code, or does not
compile, is drawn again.

The suites run where a change can hurt nobody: in process, network and mount namespaces of their
own, on a copy of the tree of which they see their own version, where all else but a scratch /tmp is
read-only.
"""
import collections
import filecmp
import hashlib
import json
import os
import random
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import sites  # noqa: E402

FOLDERS = ('core codecs traces learn workloads sim process emu mpi analysis campaign serve lib '
           'cli').split()
BUILD = 'build/mutants'
PROGRAMS = ('strait', 'tests/strait-tests')
APART = ('mpi/module/', 'codecs/profile/tabulate/')
# What reads the tables of all codecs and strategies, of whose lines none is run.
READ_TABLES = {'docs/settings_page', 'workloads/ask/misuses'}
# After so much processor time of its suites no further suite of a change begins.
MUTANT_S = float(os.environ.get('MUTANT_S', 60))
QUIET = dict(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
# $0 the tree, $1 where the programs lie that stand for the tree's; then a command, which is not the
# first of its process namespace: orphans go to the shell, which buries them. A device that is
# mounted upon cannot be removed.
FENCE = '''own=$1; shift; mount --make-rprivate / && mount -t tmpfs none /run || exit 99
mkdir /run/new /run/work /run/own && mount --bind "$own" /run/own &&
mount -t overlay none -o "lowerdir=$0,upperdir=/run/new,workdir=/run/work" "$0" || exit 99
for p in strait tests/strait-tests; do
    [ ! -e /run/own/$p ] || mount --bind /run/own/$p "$0/build/mutants/$p" || exit 99
done
mount -o remount,ro,bind / || exit 99
for d in full null zero random urandom; do mount --bind /dev/$d /dev/$d || exit 99; done
mkdir /run/tree && mount --rbind "$0" /run/tree && mount -t tmpfs none /tmp || exit 99
case "$0" in /tmp/*) mkdir -p "$0" && mount --rbind /run/tree "$0" || exit 99;; esac
cd "$0"; ip link set lo up; ulimit -d 8000000; ulimit -c 0; "$@"; exit $?'''
LIVE = set()  # what must end with us


def leave(*_):
    for p in list(LIVE):
        p.kill()
    os._exit(1)


def fenced(tree, own, command, limit_s, env=None):
    """The status of a command inside the fence, 'late' when it took too long, and the processor
    time that it took."""
    unshare = ['unshare', '--mount', '--net', '--pid', '--fork', '--kill-child', '--mount-proc']
    if os.geteuid():
        unshare.insert(1, '--map-root-user')
    p = subprocess.Popen(unshare + ['sh', '-c', FENCE, tree, own] + command, env=env,
                         start_new_session=True, **QUIET)
    LIVE.add(p)
    until = time.time() + limit_s
    while True:
        pid, status, used = os.wait4(p.pid, os.WNOHANG)
        late = not pid and time.time() > until
        if late:
            p.kill()  # --kill-child: its namespace ends with it
            pid, status, used = os.wait4(p.pid, 0)
        if pid:
            p.returncode = os.waitstatus_to_exitcode(status)
            LIVE.discard(p)
            return 'late' if late else p.returncode, used.ru_utime + used.ru_stime
        time.sleep(0.02)


class Tree:
    """A copy of the tree, built."""

    def __init__(self, root, path):
        self.path = path
        os.makedirs(path, exist_ok=True)
        files = subprocess.run(['git', 'ls-files', '-co', '--exclude-standard', '-z'], cwd=root,
                               capture_output=True, check=True).stdout.decode().split('\0')
        # Without the guests' kernel, which git leaves out, their suites skip what they test.
        for name in files + ['vkernel/linux', 'vkernel/linux.from']:
            source, copy = os.path.join(root, name), os.path.join(path, name)
            if name and os.path.isfile(source):
                os.makedirs(os.path.dirname(copy), exist_ok=True)
                if not os.path.exists(copy) or not filecmp.cmp(source, copy, shallow=False):
                    shutil.copy(source, copy)
        for folder, folders, found in os.walk(path):
            if folder == path:
                folders[:] = [f for f in folders if f != 'build']
            for name in found:
                if not os.path.exists(os.path.join(root, os.path.relpath(folder, path), name)):
                    os.remove(os.path.join(folder, name))
        if self.make('programs').returncode:
            sys.exit('run.py: the unchanged tree does not build: make MODE=mutants in ' + path)
        self.compilers = {}
        self.linkers = {p: self.command('core/error.c', p) for p in PROGRAMS}

    def make(self, *words):
        options = ['-s', '-j%d' % (os.cpu_count() or 1), 'MODE=mutants',
                   'CC=' + os.environ.get('CC', 'gcc'),
                   'WERROR=-Werror=incompatible-pointer-types -Werror=int-conversion']
        return subprocess.run(['make'] + options + list(words), cwd=self.path, text=True,
                              stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              stdout=subprocess.PIPE)

    def command(self, name, made):
        """What make would run for a target if the source was newer."""
        made = os.path.join(BUILD, made)
        shown = self.make('-n', 'V=1', '-W', name, made).stdout.splitlines()
        return next(words for words in map(shlex.split, reversed(shown))
                    if '-o' in words and words[words.index('-o') + 1] == made)

    def compile(self, name, text, own):
        """Compile a text as if it stood in the file: the path of the object, or None."""
        room, base = os.path.split(name)
        source, made = os.path.join(own, base), os.path.join(own, 'made.o')
        with open(source, 'w') as f:
            f.write(text)
        if name not in self.compilers:
            self.compilers[name] = self.command(name, name[:-2] + '.o')
        command = [w for w in self.compilers[name] if w not in ('-MD', '-MP', 'ccache')]
        command[command.index('-o') + 1] = made
        command[-1:] = ['-iquote', room, '-fmacro-prefix-map=%s/=%s/' % (own, room), source]
        failed = subprocess.run(command, cwd=self.path, **QUIET).returncode
        os.remove(source)
        return None if failed else made

    def link(self, program, name, made, own):
        """A program with another object for a source: it stands before the libraries, which so
        need not give theirs."""
        old = os.path.join(BUILD, name[:-2] + '.o')
        command = list(self.linkers[program])
        command[command.index('-o') + 1] = os.path.join(own, program)
        if old in command:
            command[command.index(old)] = made
        elif program != 'strait' or not name.startswith('cli/'):
            command.insert(command.index('-Wl,--start-group'), made)
        return subprocess.run(command, cwd=self.path, **QUIET).returncode == 0

    def run(self, own, suite, limit_s):
        program = os.path.join(self.path, BUILD, 'tests', 'strait-tests')
        env = dict(os.environ, STRAIT_BIN=os.path.join(self.path, BUILD, 'strait'),
                   MALLOC_PERTURB_='165')  # what malloc gives is not zeros
        return fenced(self.path, own, [program, '--first', '--here', suite], limit_s, env)


class Reach:
    """Which suites reach a line, as `make coverage` has seen."""

    def __init__(self, path):
        self.cpu_s = {}
        with open(path) as f:
            self.__dict__.update(json.load(f))
        # Those that fail where lines are counted, whose counting needs memory and files, too, may
        # do well here. Which fail here, unchanged, is seen when they do.
        self.failed = []

    def limit_s(self, suite):
        return 10 + 5 * self.seconds[suite]

    def runs_strait(self, suite):
        """Whether the suite needs the program too, as most do not."""
        of = self.files.get('cli/main.c', {'functions': {}})['functions']
        return suite in of.get('main', []) or suite in self.late or \
            suite.startswith(('cli/', 'emu/guest/'))

    def suites(self, name, text, function, line):
        """Those that reach the line, likely and cheap ones first. Where the file has changed since
        it was counted, those that reach the function, or the file, or its room."""
        of = self.files.get(name, {'functions': {}, 'lines': {}, 'old': [], 'hash': ''})
        of_function = set(of['functions'].get(function, []))
        if of['hash'] == hashlib.sha256(text.encode()).hexdigest():
            # A statement of several lines is counted at its first, or at its last.
            before = [n for n in map(int, of['lines']) if n <= line]
            after = [n for n in map(int, of['lines']) if n > line]
            near = [max(before, default=0)]
            if near != [line]:
                near.append(min(after, default=0))
            able = {s for n in near for s in of['lines'].get(str(n), [])}
            able |= of_function & set(of['old'])
            able = able if function else set()
        else:
            able = of_function
        stem, room = os.path.splitext(name)[0], os.path.dirname(name)
        able = able or of_function or {s for g in of['functions'].values() for s in g} or {
            s for s in self.seconds if s.startswith(room + '/')}
        # What counting had to cut off may reach anything near it.
        near = {s for s in self.late if (room + '/').startswith(os.path.dirname(s) + '/') or
                s.startswith(room + '/')} | {stem} & set(self.seconds)
        if not function and room.startswith(('codecs', 'workloads', 'learn')):
            near |= READ_TABLES & set(self.seconds)
        able = (able | near) - set(self.failed)

        def order(suite):
            share = sum(suite in g for g in of['functions'].values()) / max(1, len(of['functions']))
            near = 4 if suite == stem else 2 if suite.startswith(room + '/') else 1
            # Processor time: a busy machine, or waiting, makes a cheap suite no dearer.
            cost_s = self.cpu_s.get(suite, self.seconds[suite])
            return (0.2 + cost_s) / (near * (0.05 + share))
        return sorted(able, key=order)


def draw(root, seed, only):
    """Changes without end: a folder by the root of its size, in it a file, a kind, a place."""
    chance = random.Random(seed)
    names = subprocess.run(['git', 'ls-files'] + FOLDERS, cwd=root, capture_output=True,
                           check=True).stdout.decode().split()
    files = collections.defaultdict(list)
    for name in names:
        # The module is no part of the programs: they load it where MPI is. Nor is what makes tables.
        if name.endswith('.c') and name.startswith(only) and not name.startswith(APART):
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


def judge(tree, own, reach, name, text, site):
    """('noticed', by, processor time of that suite) | ('SURVIVED', suites run, all of theirs) |
    (None, why it does not count, 0)."""
    made = tree.compile(name, text[:site.begin] + site.after + text[site.end:], own)
    if not made:
        return None, 'does not compile', 0
    if filecmp.cmp(made, os.path.join(tree.path, BUILD, name[:-2] + '.o'), shallow=False):
        return None, 'the same object code', 0
    for program in PROGRAMS:
        if os.path.exists(os.path.join(own, program)):
            os.remove(os.path.join(own, program))
    if not tree.link('tests/strait-tests', name, made, own):
        return None, 'does not link', 0
    suites = reach.suites(name, text, site.function, site.line)
    used_s, ran, linked = 0, 0, False
    for suite in suites:
        if used_s > MUTANT_S:
            break
        if not linked and reach.runs_strait(suite):
            linked = tree.link('strait', name, made, own)
        status, suite_s = tree.run(own, suite, reach.limit_s(suite))
        used_s, ran = used_s + suite_s, ran + 1
        if status:
            return 'noticed', '%s%s, the %d. suite, after CPU %.1f s' % (
                suite, ' (hangs)' if status == 'late' else '', ran, used_s), suite_s
    return 'SURVIVED', '%d of %d suites that reach it, CPU %.1f s' % (ran, len(suites), used_s), \
        used_s


def line_of(text, site):
    """The changed line, before and after, without what surrounds it."""
    first = text.rfind('\n', 0, site.begin) + 1
    last = text.find('\n', site.end)
    before = ' '.join(text[first:last].split())
    after = ' '.join((text[first:site.begin] + site.after + text[site.end:last]).split())
    return before, after


def cpu_s():
    """What all that ran here has used."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main():
    n, seed = int(sys.argv[1]), sys.argv[2]
    signal.signal(signal.SIGINT, leave)
    signal.signal(signal.SIGTERM, leave)
    only = sys.argv[3] if len(sys.argv) > 3 else ''
    root = os.getcwd()
    reach = Reach(os.environ.get('REACH', 'build/coverage/reach.json'))
    work = os.path.abspath(os.environ.get('MUTANTS_TMP', BUILD))
    print('building a copy in %s' % work, file=sys.stderr, flush=True)
    tree = Tree(root, os.path.join(work, 'copy'))
    drawn, lock = draw(root, seed, only), threading.Lock()
    result = {'noticed': 0, 'SURVIVED': 0, 'drawn': 0, 'broken': 0}
    clean, begun, used_s = {}, time.time(), cpu_s()

    def clean_suite(suite, hung_s):
        """A suite that fails without any change says nothing; nor does the hanging of one that
        takes more than a third of its time without it, but where it used (hung_s; None: it did not
        hang) much more of the processor: time goes by on a busy machine."""
        if suite not in clean:
            begun = time.time()
            failed, used_s = tree.run(os.path.join(work, 'none'), suite, 40 + reach.limit_s(suite))
            clean[suite] = None if failed else (time.time() - begun, used_s)
        if not clean[suite]:
            return False
        took_s, used_s = clean[suite]
        return hung_s is None or took_s < reach.limit_s(suite) / 3 or hung_s > 3 * used_s + 2

    def work_on(own):
        while True:
            with lock:
                if result['drawn'] >= n:
                    return
                result['drawn'] += 1
                name, text, site = next(drawn)
            since = time.time()
            outcome, by, suite_s = judge(tree, own, reach, name, text, site)
            # What fails without the change, too, has noticed nothing.
            while outcome == 'noticed':
                suite = re.match('[^ ,]*', by).group()
                if clean_suite(suite, suite_s if ' (hangs)' in by else None):
                    break
                with lock:
                    reach.failed.append(suite)
                    print('left out: %s fails, or is slow, unchanged' % suite)
                outcome, by, suite_s = judge(tree, own, reach, name, text, site)
            with lock:
                if outcome is None:
                    result['drawn'] -= 1
                    result['broken'] += 1
                    continue
                result[outcome] += 1
                before, after = line_of(text, site)
                print('%-8s %s:%d %s (%s), by %s, %.1f s\n    - %s\n    + %s' % (
                    outcome, name, site.line, site.function or 'a table', site.kind, by,
                    time.time() - since, before, after), flush=True)

    threads = []
    os.makedirs(os.path.join(work, 'none'), exist_ok=True)
    for i in range(int(os.environ.get('JOBS') or os.cpu_count() or 1)):
        own = os.path.join(work, 'own', str(i))
        os.makedirs(os.path.join(own, 'tests'), exist_ok=True)
        threads.append(threading.Thread(target=work_on, args=(own,)))
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    n = result['noticed'] + result['SURVIVED']
    print('%d of %d noticed (%.1f %%), seed %s, %.1f s each, CPU %.1f s; %d others had the same object '
          'code or none' % (result['noticed'], n, 100 * result['noticed'] / max(1, n), seed,
                            (time.time() - begun) / max(1, n), (cpu_s() - used_s) / max(1, n),
                            result['broken']))
    return result['noticed'] < 0.95 * n


if __name__ == '__main__':
    sys.exit(main())
