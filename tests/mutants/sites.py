"""Where a C file can be changed, one small change at a time, as somebody might mistype it.

Works on tokens: comments, strings, preprocessor lines, assertions, error messages and what is
allocated are left alone; a change there alters nothing that a test should see.
"""
import re

TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|^[ \t]*\#(?:\\\n|[^\n])*
        |[A-Za-z_]\w*|0[xX][0-9a-fA-F]+[uUlL]*|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[uUlLfF]*
        |<<=|>>=|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|\.\.\.|[^\s\w]""",
    re.S | re.M | re.X)

# Calls whose arguments are words for people, assertions, or amounts of memory.
SILENT = re.compile(r'^(assert|_Static_assert|sizeof|(m|c|re)alloc|aligned_alloc|reallocarray'
                    r'|strait_error_(set|system|memory)|strait_fail|fail|v?f?printf|perror|fputs'
                    r'|puts|\w*_alloc|__builtin_\w+|__attribute__)$')
# What gives back memory or files: a lack is for the leak checker of MODE=asan, not for a suite.
RELEASE = re.compile(r'^(free|close|fclose|munmap|json_decref|\w*_(free|release|close|clear))$')
# What gives memory, and nothing else that could fail.
ALLOCATES = re.compile(r'^((m|c|re)alloc|reallocarray|aligned_alloc|strn?dup|open_memstream)$')
# Where a text stands in its column, and how wide that is.
LAYOUT = re.compile(r'^strait_table_(column|wrap)$')
# What does not ask in which order.
SYMMETRIC = {'strcmp', 'memcmp', 'json_equal', 'strcasecmp', 'fmin', 'fmax', 'fminf', 'fmaxf'}
KEYWORD = set('if else for while do switch case default return break continue goto sizeof struct '
              'union enum static const extern volatile inline void typedef register'.split())
SWAP = {'<': ('<=', '>'), '<=': ('<', '>'), '>': ('>=', '<'), '>=': ('>', '<'), '==': ('!=',),
        '!=': ('==',), '&&': ('||',), '||': ('&&',), '+': ('-',), '-': ('+',), '*': ('/', '+'),
        '/': ('*',), '%': ('/',), '<<': ('>>',), '>>': ('<<',), '&': ('|',), '|': ('&',),
        '^': ('|',), '+=': ('-=', '='), '-=': ('+=', '='), '*=': ('/=', '='), '|=': ('&=', '='),
        '&=': ('|=', '='), '++': ('--',), '--': ('++',)}
NAMES = {'fmin': 'fmax', 'fmax': 'fmin', 'fminf': 'fmaxf', 'fmaxf': 'fminf', 'floor': 'ceil',
         'ceil': 'floor', 'true': 'false', 'false': 'true', 'floorf': 'ceilf', 'ceilf': 'floorf'}
OPENING, CLOSING = '([{', ')]}'


class Site:
    """One change: text[begin:end] becomes `after`."""

    def __init__(self, kind, begin, end, after, line, function):
        self.kind, self.begin, self.end, self.after = kind, begin, end, after
        self.line, self.function = line, function


class File:
    def __init__(self, text):
        self.text = text
        self.tokens = []  # (text, begin, end)
        for m in TOKEN.finditer(text):
            t = m.group().strip()
            if not t.startswith(('//', '/*', '#')):
                self.tokens.append((t, m.end() - len(t), m.end()))
        self.match = self.pairs()
        self.inside = self.functions()
        self.silent = self.silent_tokens()
        self.sites = []

    def pairs(self):
        match, open_ones = {}, []
        for i, (t, _, _) in enumerate(self.tokens):
            if t in OPENING:
                open_ones.append(i)
            elif t in CLOSING and open_ones:
                j = open_ones.pop()
                match[i], match[j] = j, i
        return match

    def functions(self):
        """Of every token: the function it stands in, '' in a table, None elsewhere."""
        inside = [None] * len(self.tokens)
        i = 0
        while i < len(self.tokens):
            if self.tokens[i][0] == '{' and i in self.match:
                before = self.tokens[i - 1][0]
                name = None
                if before == ')':
                    name = self.tokens[self.match[i - 1] - 1][0]
                elif before == '=':
                    name = ''
                for k in range(i, self.match[i] + 1):
                    inside[k] = name
                i = self.match[i]
            i += 1
        return inside

    def silent_tokens(self):
        silent = set()
        for i in range(len(self.tokens) - 1):
            if self.tokens[i + 1][0] == '(' and (SILENT.match(self.tokens[i][0]) or
                                                 LAYOUT.match(self.tokens[i][0])):
                silent.update(range(i + 1, self.match.get(i + 1, i + 1) + 1))
            elif self.is_mixed(i):  # how bits of a hash are spread: no result depends on it
                silent.update((i, i + 1))
            elif re.match(r'(cap(_\w+)?|stack_bytes)$', self.tokens[i][0]) and \
                    self.tok(i + 1) == '=':  # room
                k = i
                while k < len(self.tokens) and self.tokens[k][0] != ';':
                    k += 1
                silent.update(range(i, k))
            elif self.tokens[i + 1][0] == '[' and self.is_declared(i):  # memory
                last = i
                while self.tok(last + 1) == '[' and last + 1 in self.match:  # n[6][32]
                    last = self.match[last + 1]
                silent.update(range(i + 1, last + 1))
            elif self.tokens[i][0] == 'if' and self.lacks_memory(i):  # no test makes it run out
                last = self.match[i + 1] + 1
                silent.update(k for k in range(i + 2, last - 1) if self.tok(k) == '||')
                silent.update(range(last, self.match.get(last, self.end_of(last)) + 1))
            elif self.tokens[i][0] == 'if' and self.gives_back(i):
                silent.update(range(i, self.match[i + 1] + 1))
        return silent

    def end_of(self, i):
        while self.tok(i) not in (';', ''):
            i = self.match.get(i, i) + 1
        return i

    def lacks_memory(self, i):
        """Whether the condition of an if asks for nothing but memory that was just allocated."""
        words = [self.tok(k) for k in range(i + 2, self.match.get(i + 1, i + 1))]
        parts = ' '.join(words).split(' || ')
        if not all(re.fullmatch(r'! (\w+ (->|\.) )*\w+', p) for p in parts):
            return False
        return all(self.is_allocated(i, p.split()[-1]) for p in parts)

    def gives_back(self, i):
        """Whether all that an if does is one call that gives memory or files back."""
        k = self.match.get(i + 1, i) + 1
        while re.match(r'\w+$|->$|\.$', self.tok(k)) and self.tok(k + 1) != '(':
            k += 1
        after = self.match.get(k + 1, k) + 1
        return RELEASE.match(self.tok(k)) is not None and self.tok(after) == ';'

    def asks_for_whole(self, i):
        """floor(x) == x, or x != floor(x): ceil asks the same."""
        last = self.match.get(i + 1, i + 1)
        inner = self.source(i + 2, last - 1)
        behind = self.tok(last + 1) in ('==', '!=') and \
            self.text[self.tokens[last + 2][1]:].startswith(inner)
        before = self.tok(i - 1) in ('==', '!=') and \
            self.text[:self.tokens[i - 2][2]].endswith(inner) if inner else False
        return behind or before

    def is_allocated(self, i, name):
        """Whether `name = ... an allocation` stands shortly before i."""
        for k in range(i - 1, max(0, i - 200), -1):
            if self.inside[k] != self.inside[i]:
                return False
            if self.tok(k) == name and self.tok(k + 1) == '=':
                given = k + 2
                while self.tok(given) not in (';', ',', ''):
                    if ALLOCATES.match(self.tok(given)):
                        return True
                    given += 1
        return False

    def is_mixed(self, i):
        """The shift of x ^ (x >> 29), or ^= x >> 29."""
        before = [self.tok(i - k) for k in (3, 2, 1)]
        return self.tok(i) == '>>' and re.match(r'\d', self.tok(i + 1)) is not None and (
            before[:2] == ['^', '('] or before[1] == '^=')

    def add(self, kind, first, last, after):
        begin, end = self.tokens[first][1], self.tokens[last][2]
        if self.text[begin:end] != after:
            line = self.text.count('\n', 0, begin) + 1
            self.sites.append(Site(kind, begin, end, after, line, self.inside[first]))

    def source(self, first, last):
        return self.text[self.tokens[first][1]:self.tokens[last][2]] if first <= last else ''

    def tok(self, i):
        return self.tokens[i][0] if 0 <= i < len(self.tokens) else ''

    def is_binary(self, i):
        """A binary operator has a value before it, and (the format is clang-format's) blanks."""
        t, begin, end = self.tokens[i]
        before = self.tok(i - 1)
        value = re.match(r"[\w\)\]'\"]", before) and before not in KEYWORD
        return value and self.text[begin - 1] in ' \n' and self.text[end] in ' \n'

    def is_declared(self, i):
        """Whether the name at i is being declared: a type stands before it."""
        before = self.tok(i - 1)
        if before == '*':
            return not self.is_binary(i - 1)
        if before == ',':  # of a list of declarators, which begins with two names
            k = i - 1
            while k > 0 and self.tok(k - 1) not in (';', '{', '}', '('):
                k = self.match[k - 1] if self.tok(k - 1) in CLOSING else k - 1
            begins = [t for t in (self.tok(j) for j in range(k, k + 4)) if t != '*']
            return all(re.match(r'[A-Za-z_]', t) for t in begins[:2]) and begins[0] != 'return'
        return re.match(r'[A-Za-z_]', before) and before not in ('return', 'case', 'else')

    def scan(self):
        for i, (t, _, _) in enumerate(self.tokens):
            if self.inside[i] is None or i in self.silent:
                continue
            if re.match(r'\d|\.\d', t):
                self.number(i)
            if self.inside[i] == '':
                continue
            if t in ('++', '--') or t in SWAP and self.is_binary(i):
                for after in SWAP[t]:
                    if after.rstrip('=') != t.rstrip('=') or not self.takes_larger(i):
                        self.add('operator', i, i, after)
            elif t in NAMES and not self.asks_for_whole(i) and not self.is_flush(i):
                self.add('name', i, i, NAMES[t])
            elif t in ('break', 'continue') and self.tok(i + 1) == ';' and not self.is_last(i):
                self.add('removed ' + t, i, i, '')
            elif t in ('if', 'while') and self.tok(i + 1) == '(':
                last = self.match[i + 1]
                self.add('negated', i + 2, last - 1, '!(%s)' % self.source(i + 2, last - 1))
            elif t == 'return':
                self.returned(i)
            elif t == '?':
                self.choice(i)
            elif t == '[':
                self.index(i)
            elif t == '!' and self.tok(i + 1) != '=':
                self.add('not dropped', i, i, '')
            if re.match(r'[A-Za-z_]', t) and t not in KEYWORD:
                if self.tok(i + 1) == '(':
                    self.swapped(i)
                if self.tok(i - 1) in (';', '{', '}', ')', 'else', ':'):
                    self.statement(i)
        return self.sites

    def is_flush(self, i):
        """The side of {"a column", true}, in a function that makes columns."""
        return self.tok(i - 1) == ',' and self.tok(i + 1) == '}' and \
            self.tok(i - 2).startswith('"') and self.tok(i - 3) == '{' and \
            any(LAYOUT.match(self.tok(k)) for k in range(i, len(self.tokens))
                if self.inside[k] == self.inside[i])

    def takes_larger(self, i):
        """a > b ? a : b, and if (a > b) b = a: of two equal ones either is the same."""
        if self.tok(i) not in ('<', '>', '<=', '>='):
            return False
        first, last = i, i
        while re.match(r'[\w.]|->', self.tok(first - 1)) and self.tok(first - 1) not in KEYWORD or \
                self.tok(first - 1) == ']':
            first = self.match[first - 1] if self.tok(first - 1) == ']' else first - 1
        while re.match(r'[\w.]|->', self.tok(last + 1)) or self.tok(last + 1) == '[':
            last = self.match[last + 1] if self.tok(last + 1) == '[' else last + 1
        a, b, k = self.source(first, i - 1), self.source(i + 1, last), last + 1
        if self.tok(k) == '?':
            behind = self.text[self.tokens[k][2]:]
            return any(re.match(r'\s*%s\s*:\s*%s\s*[;,)}]' % (re.escape(x), re.escape(y)), behind)
                       for x, y in ((a, b), (b, a)))
        if self.tok(k) == ')' and self.tok(first - 1) == '(' and self.tok(first - 2) == 'if':
            behind = self.text[self.tokens[k][2]:]
            return any(re.match(r'\s*%s = %s;' % (re.escape(x), re.escape(y)), behind)
                       for x, y in ((a, b), (b, a)))
        return False

    def is_last(self, i):
        """Of a break: the end of its switch follows; of a continue, the end of its loop, or it is
        all of the loop."""
        if self.tok(i) == 'continue' and self.tok(i - 1) == ')' and \
                self.tok(self.match[i - 1] - 1) in ('for', 'while'):
            return True
        opening = self.match.get(i + 2)
        if self.tok(i + 2) != '}' or self.tok(opening - 1) != ')':
            return False
        head = self.tok(self.match[opening - 1] - 1)
        return head in (('switch',) if self.tok(i) == 'break' else ('for', 'while'))

    def number(self, i):
        t = self.tok(i)
        if t == '1' and self.tok(i - 1) == '-' and self.is_status(i - 1):
            return  # -2 is a failure as -1 is; whether it is one ask other changes
        if t == '0' and self.tok(i - 1) in ('<', '>=') and re.search(r'(^|_)fd$', self.tok(i - 2)):
            return  # descriptor 0 is the standard input's
        if t == '0' and self.tok(i - 1) == '{' and self.tok(i + 1) == '}':
            return  # nothing but a start from zeros
        if re.fullmatch(r'\d+', t):
            n = int(t)
            for after in {n + 1, n - 1} if n else {1}:
                self.add('constant', i, i, str(after))
        elif re.fullmatch(r'[\d.]+(e[+-]?\d+)?f?', t):
            if self.is_rounding(i):
                return
            f = 'f' if t.endswith('f') else ''
            value = float(t.rstrip('f'))
            for after in (2 * value, value / 2) if value else (1.0,):
                self.add('constant', i, i, repr(float(after)) + f)

    def is_rounding(self, i):
        """1 + 1e-12, x <= y + 1e-9, x > 1e-12: twice or half of what rounding may take."""
        value = float(self.tok(i).rstrip('f'))
        return re.match('1e-', self.tok(i)) and value <= 1e-9 and (self.tok(i - 1) in ('<', '>', '<=', '>=') or
                                      self.tok(i - 1) in ('+', '-') and
                                      re.match(r'[\w)\]]', self.tok(i - 2))) and \
            self.tok(i + 1) != '*'

    def is_status(self, i):
        """return -1; status = -1; ... ? 0 : -1 and the reverse."""
        before = self.tok(i - 1)
        return before == 'return' or before == '=' and self.tok(i - 2) in ('status', 'failed') or \
            before == ':' and self.tok(i - 2) == '0' or \
            before == '?' and self.tok(i + 2) == ':' and self.tok(i + 3) == '0'

    def returned(self, i):
        last = i
        while self.tok(last) != ';':
            last = self.match.get(last, last) + 1
        if last == i + 1:
            return
        value = self.source(i + 1, last - 1)
        if 'STRAIT_ERR_NOMEM' in value or re.match(r'(\w+ \? 0 : )?strait_error_memory\(', value):
            return  # no test makes memory run out
        if value in ('-1', '0'):
            self.add('returned', i + 1, last - 1, '0' if value == '-1' else '-1')
        elif re.search(r'[<>=!]=| [<>] |&&|\|\|', value) and '?' not in value:
            self.add('returned', i + 1, last - 1, '!(%s)' % value)
        elif value not in ('true', 'false', 'NULL'):
            self.add('returned', i + 1, last - 1, '0')

    def choice(self, i):
        k, depth, colon = i + 1, 0, None
        while k < len(self.tokens):
            t = self.tok(k)
            if t in OPENING:
                k = self.match[k]
            elif t in CLOSING or t in (';', ',') and colon is not None:
                break
            elif t == '?':
                depth += 1
            elif t == ':':
                if depth == 0 and colon is None:
                    colon = k
                else:
                    depth -= 1
            k += 1
        if colon is not None:
            self.add('choice swapped', i + 1, k - 1,
                     '%s : %s' % (self.source(colon + 1, k - 1), self.source(i + 1, colon - 1)))

    def index(self, i):
        if re.match(r'[\w\]\)]', self.tok(i - 1)) and not self.is_declared(i - 1):
            inner = self.source(i + 1, self.match[i] - 1)
            if inner and not re.fullmatch(r'\d+', inner):
                for sign in '+-':
                    self.add('index', i + 1, self.match[i] - 1, '%s %s 1' % (inner, sign))

    def swapped(self, i):
        name = self.tok(i)
        if self.is_declared(i) or SILENT.match(name) or LAYOUT.match(name) or name in SYMMETRIC:
            return
        starts, k = [i + 2], i + 2
        while k < self.match[i + 1]:
            if self.tok(k) in OPENING:
                k = self.match[k]
            elif self.tok(k) == ',':
                starts.append(k + 1)
            k += 1
        starts.append(k + 1)
        parts = [(starts[n], starts[n + 1] - 2) for n in range(len(starts) - 1)]
        for a, b in zip(parts, parts[1:]):
            if a[0] <= a[1] and b[0] <= b[1]:
                self.add('arguments swapped', a[0], b[1],
                         '%s, %s' % (self.source(*b), self.source(*a)))

    def statement(self, i):
        if self.tok(i - 1) == ')':  # of if, for or while, not of a cast or a call
            j = self.match.get(i - 1, 0)
            if self.tok(j - 1) not in ('if', 'for', 'while'):
                return
        if self.tok(i - 1) == ':' and self.tok(i - 3) != 'case' and self.tok(i - 2) != 'default':
            return
        if self.tok(i + 1) not in ('(', '=', '->', '.', '[', '++', '--', '+=', '-=', '*=', '/=',
                                   '|=', '&=', '<<=', '>>=', '^='):
            return
        if self.tok(i + 1) == '(' and RELEASE.match(self.tok(i)) or \
                self.tok(i) in ('assert', 'strait_error_memory'):  # which no test makes run out
            return
        last = i
        while self.tok(last) not in (';', ''):
            if self.tok(last) in CLOSING:  # the head of a for: not a statement of its own
                return
            last = self.match[last] + 1 if self.tok(last) in OPENING else last + 1
        if any(re.match(r'cap(_\w+)?$', self.tok(k)) and self.tok(k + 1) == '='
               for k in range(i, last)):  # room: asked for again where nobody knows of it
            return
        self.add('statement dropped', i, last - 1, '')


def sites_of(text):
    return File(text).scan()
