# SPDX-License-Identifier: GPL-2.0-or-later
#
# The programs that tests/accuracy/programs runs, most of them Debian's, and
# their inputs, which are made at random.

import collections
import importlib.machinery
import importlib.util
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
GUEST = os.path.join(TOP, 'scripts', 'guest')
sys.path.insert(0, GUEST)

import artifacts  # noqa: E402  (the path above finds it)
import debian  # noqa: E402

# Directories in the guest
BIN = '/usr/bin'
LIB = '/usr/lib/x86_64-linux-gnu'
DATA = artifacts.HOME

# {package: its files that the guest gets}; the libraries that they need follow.
PACKAGES = {
    'bc': ('usr/bin/bc',),
    'bzip2': ('usr/bin/bzip2',),
    'coreutils': tuple('usr/bin/' + name for name in (
        'cat', 'cksum', 'echo', 'factor', 'md5sum', 'od', 'seq', 'sha256sum',
        'sleep', 'sort', 'tr', 'true', 'wc')),
    'cpp-14-x86-64-linux-gnu': ('usr/libexec/gcc/x86_64-linux-gnu/14/cc1',),
    'dash': ('usr/bin/dash',),
    'diffutils': ('usr/bin/diff',),
    'findutils': ('usr/bin/find',),
    'gawk': ('usr/bin/gawk',),
    'grep': ('usr/bin/grep',),
    'gzip': ('usr/bin/gzip',),
    'jq': ('usr/bin/jq',),
    'lua5.4': ('usr/bin/lua5.4',),
    'mawk': ('usr/bin/mawk',),
    'openssl': ('usr/bin/openssl',),
    'perl-base': ('usr/bin/perl',),
    'python3.13-minimal': ('usr/bin/python3.13',),
    'sed': ('usr/bin/sed',),
    'sqlite3': ('usr/bin/sqlite3',),
    'tcc': ('usr/bin/tcc',),
    'xz-utils': ('usr/bin/xz',),
    'zstd': ('usr/bin/zstd',),
}
# Directories that the programs need, too, of packages that they depend on
DIRECTORIES = ('usr/lib/python3.13',)

# name     as it is printed
# command  what the shell runs, with {values} to fill in
# quick    "make check" runs it, too
Program = collections.namedtuple('Program', 'name command quick')


def program(name, command, quick=False):
    return Program(name, command, quick)


# Each takes some 5 to 60 million instructions.  All of them run once, in this
# order, and then all once more, so that in its first run a program is new to
# the guest.
PROGRAMS = (
    program('tr', "tr 'a-z' 'n-za-m' < big", quick=True),
    program('gzip', 'gzip -nc < small'),
    program('sort', 'sort big', quick=True),
    program('awk', "mawk '{ for (i = 1; i <= NF; i++) n[$i]++ } "
            "END { for (w in n) print n[w], w }' small"),
    program('forks', 'dash forks.sh', quick=True),
    program('matrix', './matrix {random}', quick=True),
    program('gunzip', 'gzip -dc < text.gz'),
    program('bzip2', 'bzip2 -c < tiny'),
    program('xz', 'xz -1 -T1 -c < tiny'),
    program('zstd', 'zstd --single-thread -3 -c < text'),
    program('sha256sum', 'sha256sum text text'),
    program('md5sum', 'md5sum text text'),
    program('cksum', 'cksum -a bsd big'),
    program('openssl-aes', 'openssl enc -aes-256-cbc -pbkdf2 -iter 1500 '
            '-S {random}000000 -pass pass:{random} -in text'),
    program('openssl-sha3', 'openssl dgst -sha3-512 text'),
    program('grep', "grep -cE '([a-z])([a-z]).*\\2\\1 [0-9]*[aeiou]' small"),
    program('sed', "sed -E 's/([a-f]+) ([g-z]+)/\\2 \\1/g' tiny"),
    program('wc', 'wc text'),
    program('od', 'od -x tiny'),
    program('diff', 'diff text text2 || true'),
    program('find', "find /usr /usr /usr -name '*[aeiou]*.[a-m]*' -size +1k "
            "-o -path '*/[l-p]*[a-e]*/*.so*'"),
    program('factor', 'factor {numbers}'),
    program('bc', "echo '{random}^300 / 7^200' | bc"),
    program('dash', 'dash loop.sh'),
    program('jq', "jq -c '[.[] | select(.a > 50) | .b | map(. * 2) | add]' "
            'data.json'),
    program('sqlite3', 'sqlite3 :memory: < data.sql'),
    program('lua', 'lua5.4 program.lua {random}'),
    program('perl', 'PERL_HASH_SEED={random} perl program.pl {random}'),
    program('python3', 'PYTHONHASHSEED={random} python3.13 -S '
            'program.py {random}'),
    program('tcc', 'tcc -c -o tcc.o program.c'),
    program('cc1', '/usr/libexec/gcc/x86_64-linux-gnu/14/cc1 -quiet '
            '-fpreprocessed -O1 -o cc1.s short.c'),
)

LUA = '''
local seed = tonumber(arg[1]) % 1000 + 1
local primes, words = {}, {}
for i = 2, 20000 do primes[i] = true end
for i = 2, 140 do
    if primes[i] then
        for j = i * i, 20000, i do primes[j] = false end
    end
end
for i = 1, 6000 do
    local key = string.format("k%d", (i * seed) % 997)
    words[key] = (words[key] or 0) + #key
end
local keys = {}
for k in pairs(words) do keys[#keys + 1] = k end
table.sort(keys)
print(#keys, table.concat(keys, ","):len())
'''

PERL = '''
my $seed = $ARGV[0] % 1000 + 1;
my %count;
for my $i (1 .. 9000) {
    my $key = "k" . ($i * $seed % 997);
    $count{$key} += length $key;
}
my $text = join ",", map { "$_=$count{$_}" } sort keys %count;
my $n = 0;
$n++ while $text =~ /k(\\d+)=(\\d*[02468]),/g;
print "$n\\n";
'''

PYTHON = '''
import sys
seed = int(sys.argv[1]) % 1000 + 1
class Tree:
    def __init__(self, key):
        self.key, self.left, self.right = key, None, None
    def insert(self, key):
        side = 'left' if key < self.key else 'right'
        child = getattr(self, side)
        if child is None:
            setattr(self, side, Tree(key))
        else:
            child.insert(key)
    def walk(self):
        if self.left:
            yield from self.left.walk()
        yield self.key
        if self.right:
            yield from self.right.walk()
root = Tree(500)
for i in range(600):
    root.insert(i * seed % 1009)
words = {}
for key in root.walk():
    words.setdefault(str(key)[:2], []).append(key)
print(sorted((len(v), k) for k, v in words.items())[-1])
'''

FORKS = '''
count() {
    n=0
    while [ $n -lt 20 ]; do n=$((n + 1)); done
    echo $n
}
i=0
while [ $i -lt 16 ]; do
    x=$(/usr/bin/true; count $i | /usr/bin/tr 0-9 a-j)
    i=$((i + 1))
done
'''

LOOP = '''
i=0 s=%d
while [ $i -lt 1500 ]; do
    case $((s & 3)) in
    0) s=$((s * 5 + 1)) ;;
    1|2) s=$(((s >> 1) + i)) ;;
    *) s=$((s ^ 21)) ;;
    esac
    i=$((i + 1))
done
echo $s
'''

MATRIX = '''
#include <stdio.h>
#include <stdlib.h>
#define N 96
static double a[N][N], b[N][N], c[N][N];
int main(int argc, char **argv)
{
    srand(atoi(argv[argc - 1]));
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++) {
            a[i][j] = rand() / 1e6;
            b[i][j] = rand() / 1e6;
        }
    }
    for (int n = 0; n < 3; n++) {
        for (int i = 0; i < N; i++) {
            for (int j = 0; j < N; j++) {
                double s = 0;
                for (int k = 0; k < N; k++) {
                    s += a[i][k] * b[k][j];
                }
                c[i][j] += s;
            }
        }
    }
    printf("%g\\n", c[5][7]);
    return 0;
}
'''


def words(random, size):
    """Text of about @size bytes, in which words repeat as they do in text."""
    vocabulary = [''.join(random.choices('abcdefghijklmnopqrstuvwxyz',
                                         k=random.randint(2, 11)))
                  for _ in range(3000)]
    weights = [1 / (i + 1) for i in range(len(vocabulary))]
    lines, total = [], 0
    while total < size:
        line = ' '.join(random.choices(vocabulary, weights,
                                       k=random.randint(4, 16)))
        if random.random() < 0.2:
            line = '%d: %s' % (random.randrange(10000), line)
        lines.append(line)
        total += len(line) + 1
    return lines


def functions(random, number):
    """The text of a C program with a number of functions."""
    text = ['typedef struct S { int a, b; char *p; struct S *next; } S;']
    for i in range(number):
        text.append('''
static int f%d(S *s, int n)
{
    int sum = %d;
    for (int i = 0; i < n && s; i++, s = s->next) {
        switch ((s->a + i) %% %d) {
        case 0: sum += s->b * %d; break;
        case 1: sum ^= s->a << (i & 7); break;
        default: sum -= s->p ? s->p[i & 3] : %d;
        }
    }
    return sum%s;
}''' % (i, random.randrange(1000), random.randint(3, 9),
            random.randrange(1000), random.randrange(1000),
            ' + f%d(s, n / 2)' % random.randrange(i) if i else ''))
    text.append('int main(void) { return f%d(0, 9); }\n' % (number - 1))
    return '\n'.join(text)


def sql(random):
    rows = ',\n'.join("(%d, '%s', %d)" % (
        i, random.choice(('red', 'green', 'blue', 'grey')),
        random.randrange(1000)) for i in range(700))
    return '''create table t (id integer primary key, c text, v integer);
insert into t values %s;
create index i on t (v);
select c, count(*), sum(v) from t where v > %d group by c order by 2;
select count(*) from t a join t b on a.v = b.v where a.id < b.id;
update t set v = v * 3 where c = 'red';
select max(v), min(v), avg(v) from t;
''' % (rows, random.randrange(500))


def make_inputs(random, directory):
    """Write all inputs to files in @directory."""
    def write(name, text):
        with open(os.path.join(directory, name), 'w',
                  encoding='ascii') as file:
            file.write(text)

    lines = words(random, 1500000)
    write('big', '\n'.join(lines) + '\n')
    lines = lines[:len(lines) // 5]
    write('text', '\n'.join(lines) + '\n')
    write('small', '\n'.join(lines[:1500]) + '\n')
    write('tiny', '\n'.join(lines[:600]) + '\n')
    changed = [line for line in lines if random.random() > 0.03]
    write('text2', '\n'.join(changed) + '\n')
    subprocess.run(['gzip', '-k', '-n', 'text'], check=True, cwd=directory)
    write('data.json', json.dumps([
        {'a': random.randrange(100), 'name': random.choice(lines)[:12],
         'b': [random.randrange(1000) for _ in range(6)]}
        for _ in range(400)]))
    write('data.sql', sql(random))
    write('program.c', functions(random, 260))
    write('short.c', functions(random, 2))
    write('program.lua', LUA)
    write('program.pl', PERL)
    write('program.py', PYTHON)
    write('forks.sh', FORKS)
    write('loop.sh', LOOP % random.randrange(1000))


def compile_own(directory):
    """Compile the programs that are not Debian's."""
    for name, source, options in (('matrix', MATRIX, ()),
                                  ('counted', None, ('-I', GUEST))):
        path = os.path.join(HERE, name + '.c')
        if source:
            path = os.path.join(directory, name + '.c')
            with open(path, 'w', encoding='ascii') as file:
                file.write(source)
        subprocess.run([os.environ.get('CC', 'gcc'), '-std=gnu11', '-O2',
                        '-Wall', '-static', '-o',
                        os.path.join(directory, name), *options, path],
                       check=True)


def build_image():
    """Import scripts/guest/build-image; returns the module."""
    loader = importlib.machinery.SourceFileLoader(
        'build_image', os.path.join(GUEST, 'build-image'))
    spec = importlib.util.spec_from_loader('build_image', loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def unpack_programs():
    """Unpack Debian's programs below the build directory; returns what to copy
    into the guest.
    """
    build = artifacts.build_dir()
    root = os.path.join(build, 'guest', 'programs')
    image = build_image()
    wanted = [p for files in PACKAGES.values() for p in files]
    # Several comparisons may do this at once.
    with debian.Lock(root + '.lock'):
        if not all(os.path.exists(os.path.join(root, p)) for p in wanted):
            image.unpack(build, root, tuple(PACKAGES))
    copy = [(os.path.join(root, p), '/' + p)
            for p in (*wanted, *DIRECTORIES)]
    for name, path in sorted(image.libraries(root, wanted).items()):
        copy.append((os.path.realpath(path), LIB + '/' + name))
    return copy


def prepare(random, directory):
    """Make all that the guest needs; guest.Options.copy of it."""
    make_inputs(random, directory)
    compile_own(directory)
    return unpack_programs() + [
        (os.path.join(directory, name), DATA + '/' + name)
        for name in sorted(os.listdir(directory))]


def commands(random, only=None, quick=False):
    """[(name, padding of the stack, command)] of the chosen programs."""
    result = []
    for p in PROGRAMS:
        values = {'random': random.randrange(10 ** 9, 4 * 10 ** 9),
                  'numbers': ' '.join(str(random.randrange(10 ** 17, 10 ** 18))
                                      for _ in range(60))}
        pad = random.randrange(4096)
        if (p.name in only) if only else (p.quick or not quick):
            command = p.command
            for key, value in values.items():
                command = command.replace('{%s}' % key, str(value))
            result.append((p.name, pad, command))
    return result
