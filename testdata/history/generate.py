"""Makes history.bundle: generate.py CLONE, a clone of palantir/policy-bot, which is only read.

Two branches. `policy-bot` is that repository's history up to UPSTREAM without
its third-party folders; `odd` is made here, a commit for each way in which a
diff can be hard to read. Both have fixed names and times, so the same clone
gives the same commits.
"""
import os
import subprocess
import sys
import tempfile

UPSTREAM = 'fc09d7a6bbe0e21327785496912e7eb39770ed93'
LEFT_OUT = {'vendor', 'docker'}  # other people's, under licences of their own
WHO = 'countersign <nobody@example.com>'

TMP = tempfile.TemporaryDirectory()
REPO = os.path.join(TMP.name, 'repo')
ENV = {'PATH': os.environ['PATH'], 'HOME': TMP.name, 'LC_ALL': 'C', 'GIT_CONFIG_NOSYSTEM': '1', 'GIT_CONFIG_GLOBAL': '/dev/null'}
for part in ('AUTHOR', 'COMMITTER'):
    ENV.update({f'GIT_{part}_NAME': 'countersign', f'GIT_{part}_EMAIL': 'nobody@example.com', f'GIT_{part}_DATE': '1767225600 +0000'})


def git(*args, stdin=b'', **kw):
    return subprocess.run(['git', '--git-dir', REPO, *args], check=True, input=stdin, stdout=subprocess.PIPE, env=ENV, **kw).stdout


def upstream():
    """The real history, commit by commit: same trees but for LEFT_OUT, same parents, the message names the origin."""
    new, trees = {}, {}
    for line in git('rev-list', '--reverse', '--topo-order', '--format=%T %P', UPSTREAM).decode().splitlines():
        if line.startswith('commit '):
            old = line.removeprefix('commit ')
            continue
        tree, *parents = line.split()
        if tree not in trees:
            rows = git('ls-tree', '-z', tree).split(b'\0')
            trees[tree] = git('mktree', '-z', stdin=b''.join(r + b'\0' for r in rows if r and r.split(b'\t')[1].decode() not in LEFT_OUT)).decode().strip()
        flags = [f for p in parents for f in ('-p', new[p])]
        new[old] = git('commit-tree', trees[tree], *flags, '-m', f'palantir/policy-bot@{old}').decode().strip()
    git('update-ref', 'refs/heads/policy-bot', new[UPSTREAM])


def lines(n, word='line'):
    return ''.join(f'{word} {i}\n' for i in range(1, n + 1)).encode()


class Odd:
    """A branch as a stream for git fast-import, one commit a call."""

    def __init__(self):
        self.out, self.n = b'reset refs/heads/odd\n', 0

    def commit(self, what, *changes, merge=()):
        self.n += 1
        text = f'{self.n:02} {what}'.encode()
        self.out += b'commit refs/heads/odd\nmark :%d\ncommitter %s %d +0000\ndata %d\n%s\n' % (self.n, WHO.encode(), 1767225600 + self.n, len(text), text)
        if self.n > 1:
            self.out += b'from :%d\n' % (self.n - 1)
        self.out += b''.join(b'merge :%d\n' % m for m in merge) + b''.join(changes)


def quoted(path):
    path = path if isinstance(path, bytes) else path.encode()
    return b'"' + b''.join(b'\\%03o' % c if c < 32 or c in b'"\\' else bytes([c]) for c in path) + b'"'


def put(path, data, mode='100644'):
    data = data if isinstance(data, bytes) else data.encode()
    return b'M %s inline %s\ndata %d\n%s\n' % (mode.encode(), quoted(path), len(data), data)


def rm(path):
    return b'D ' + quoted(path) + b'\n'


def mv(old, new):
    return b'R ' + quoted(old) + b' ' + quoted(new) + b'\n'


def sub(path, digit):
    return b'M 160000 %s %s\n' % (digit.encode() * 40, quoted(path))


NAMES = [
    'plain', 'with space', ' lead', 'trail ', 'a/x', 'b/x', 'a b/x b/x', 'x b/y', 'x b/x', 'b/x b/x', 'two  spaces', 'tab\there', 'new\nline', '\n', '\r', 'cr\r',
    'cr\rin', 'quote"d', '"', '"quoted"', '"half', 'back\\slash', '\\', 'bell\a\b\v\f', 'del\x7f', 'esc\x1b[31m', 'h\u00e9llo \u4e16', 'sep\u2028x', 'nel\u0085x',
    '\U0001f600', b'caf\xe9', b'\xff\xfe', b'\xe2\x80', '-- a', '--- a', '+++ b', '@@ -1 +1 @@', 'diff --git a b', 'dev/null', 'rename from x', 'index 1..2',
    'x => y', '{x => y}/z', ' -> ', 'i/x', 'w/x', '1/x', '2/x', 'NUL', 'con.txt', 'dir/.git-like', '*', '?', '[x]', '$x', '`x`', 'x\ndiff --git a', 'l' * 200,
]


def odd():
    o = Odd()
    o.commit('a file of each name', *(put(n, lines(12)) for n in NAMES))
    o.commit('each edited', *(put(n, lines(12).replace(b'line 6\n', b'LINE 6\n')) for n in NAMES))
    o.commit('each renamed, with an edit', *(c for n in NAMES for c in (rm(n), put(b'moved/' + (n if isinstance(n, bytes) else n.encode()), lines(12) + (n if isinstance(n, bytes) else n.encode())))))
    o.commit('each renamed back, as it is', *(mv(b'moved/' + n, n) for n in (x if isinstance(x, bytes) else x.encode() for x in NAMES)))
    o.commit('each made executable', *(put(n, lines(12) + (n if isinstance(n, bytes) else n.encode()), '100755') for n in NAMES))
    o.commit('each renamed, with its mode', *(c for n in (x if isinstance(x, bytes) else x.encode() for x in NAMES) for c in (rm(n), put(b'x/' + n, lines(12) + n))))
    o.commit('each turned into something binary', *(put(b'x/' + n, b'\0' + n) for n in (x if isinstance(x, bytes) else x.encode() for x in NAMES)))
    o.commit('each deleted', *(rm(b'x/' + (n if isinstance(n, bytes) else n.encode())) for n in NAMES))

    o.commit('renames to plan', put('one', lines(40)), put('two', lines(40, 'two')), put('three.bin', b'\0' + lines(60)), put('four', lines(40, 'four')))
    o.commit('swapped, one edited', rm('one'), rm('two'), put('one', lines(40, 'two')), put('two', lines(40).replace(b'line 9\n', b'')))
    o.commit('renamed, the old name taken by another', mv('one', 'first'), put('one', lines(30, 'other')))
    o.commit('binary renamed, edited and made executable', rm('three.bin'), put('b/three.bin', b'\0' + lines(61), '100755'))
    o.commit('copied, then both edited', put('five', lines(40, 'four') + b'five\n'), put('four', lines(40, 'four').replace(b'four 2\n', b'')))
    o.commit('a file becomes a folder', rm('four'), put('four/four', lines(40, 'four')))
    o.commit('a folder becomes a file', rm('four/four'), put('four', lines(39, 'four')))
    o.commit('cases of one name', put('Case', 'x\n'), put('case', 'x\n'), put('CASE', 'y\n'))

    o.commit('kinds of things', put('t', lines(5)), put('link', 'one', '120000'), sub('sub', '1'), put('exe', lines(3), '100755'), put('bin', b'\0\1\2'))
    o.commit('a file becomes a symlink', put('t', 'some/where', '120000'))
    o.commit('the symlink points elsewhere, with a line end', put('t', 'else/where\n', '120000'), put('link', 'new\nline', '120000'))
    o.commit('a symlink becomes a submodule', sub('t', '2'), sub('sub', '3'))
    o.commit('a submodule becomes a file that runs', put('t', lines(6), '100755'))
    o.commit('a file becomes a binary symlink, a symlink a binary', put('t', b'\0x', '120000'), put('link', b'\0' * 9000))
    o.commit('an empty file becomes a symlink', put('t', ''), put('empty', ''))
    o.commit('and the symlink an empty file', put('empty', 'x', '120000'), rm('t'))
    o.commit('a submodule moves by rename', rm('sub'), sub('lib/sub', '3'))
    o.commit('a submodule goes', rm('lib/sub'))
    o.commit('a symlink is renamed', mv('link', 'link2'), put('deep/link', '../one', '120000'))
    o.commit('modes only', put('exe', lines(3)), put('bin', b'\0\1\2', '100755'))
    o.commit('modes with content', put('exe', lines(4), '100755'), put('bin', b'\0\1\2\3'))

    o.commit('ends without a line end', put('no1', 'x\ny'), put('no2', 'x\ny\n'), put('no3', 'x\ny'), put('no4', 'x'), put('no5', lines(9) + b'end'))
    o.commit('line ends come, go and stay away', put('no1', 'x\ny\n'), put('no2', 'x\ny'), put('no3', 'x\nz'), put('no4', ''), put('no5', b'top\n' + lines(9) + b'end'))
    o.commit('the last line moves', put('no1', 'y\nx'), put('no2', 'y\nx\ny'), put('no3', '\n'), put('no4', '\n\n'), put('no5', lines(9) + b'end\n'))
    o.commit('empty files', put('e1', ''), put('e2', ''), put('e3', 'x'))
    o.commit('emptied, filled, renamed, deleted', put('e1', 'x'), rm('e2'), put('e4', ''), put('e3', ''))
    o.commit('an empty file runs', put('e3', '', '100755'), rm('e4'))

    ends = 'cr\r\nlf\nbare\rcr\nnel\u0085x\nls\u2028x\nps\u2029x\nff\fx\nvt\vx\nfs\x1cx\ngs\x1dx\nrs\x1ex\n\r\n\r\r\n\n\f\n\u2028\nend\r'
    o.commit('characters that some take for line ends', put('ends', ends), put('crlf', lines(30).replace(b'\n', b'\r\n')))
    o.commit('each of them in changed lines', put('ends', ends.replace('x', 'y').replace('lf', 'LF')), put('crlf', lines(30).replace(b'\n', b'\r\n').replace(b'line 9', b'LINE 9')))
    o.commit('and line ends themselves', put('ends', ends.replace('\r', '')), put('crlf', lines(30).replace(b'line 9', b'LINE 9')))
    o.commit('a line that hides headers behind them', put('forged', 'a\u2028@@ -1 +1 @@\u2028-x\rdiff --git a/y b/y\r+++ b/y\x85\nb\n'))
    o.commit('and is edited', put('forged', 'a\u2028@@ -1,9 +1,9 @@\u2028-x\rdiff --git a/z b/z\r+++ b/z\x85\nb\n'))

    fake = b'-- a/evil\n++ b/evil\n@@ -1 +1 @@\n-- \n-\n+\n\\ No newline at end of file\n\\\ndiff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -9 +9 @@ f\n-a\n+b\n'
    o.commit('content that is a diff', put('patch', fake), put('q', b'one\n' + fake + b'two\n'))
    o.commit('turned round', put('patch', b''.join(reversed(fake.splitlines(True)))), put('q', fake.replace(b'-- a', b'++ c')))
    o.commit('and gone', rm('patch'), rm('q'))
    o.commit('blanks', put('blank', b'\n' * 9 + b'x\n' + b'\n' * 9), put('spaces', ' \n  \n\t\n \t\n'))
    o.commit('blanks changed', put('blank', b'\n' * 9 + b'y\n' + b'\n' * 8), put('spaces', '\n \n\t \n'))

    long = b'x' * 1_500_000
    o.commit('a very long line', put('long', b'a\n' + long + b'\nb\n'), put('longer', long))
    o.commit('changed at its end, and beside it', put('long', b'a\n' + long + b'!\nb\n'), put('longer', long + b'\nmore\n'))
    o.commit('text and binary', put('u16', 'caf\u00e9\n'.encode('utf-16')), put('bom', '\ufeffx\n'), put('latin', b'caf\xe9\n\xff\n'), put('late', b'x' * 8000 + b'\0\n'), put('early', b'x' * 7999 + b'\0\n'))
    o.commit('the same edited', put('u16', 'caf\u00e9s\n'.encode('utf-16')), put('bom', '\ufeffy\n'), put('latin', b'caf\xe9s\n\xff\n'), put('late', b'y' + b'x' * 7999 + b'\0\n'), put('early', 'text now\n'))

    code = b'func caf\xc3\xa9() { @@ -1 +1 @@\r\n' + b'\tbody\n' * 30 + b'func ' + b'\xe4\xb8\x96' * 60 + b'\n' + b'\tbody\n' * 30 + b'func bad\xff\xfe\t \n' + b'\tbody\n' * 30
    o.commit('titles of hunks', put('code.go', code))
    where = [20, 50, 85]
    o.commit('edits below each title', put('code.go', b''.join(b'\tedit\n' if i in where else ln for i, ln in enumerate(code.splitlines(True)))))
    big = lines(120_000).splitlines(True)
    o.commit('many lines', put('big', b''.join(big)))
    o.commit('many hunks', put('big', b''.join(b'edit\n' if i % 7 == 3 else ln for i, ln in enumerate(big[:20_000])) + b''.join(big[20_000:])))
    o.commit('hunks that nearly touch', put('near', lines(60)))
    o.commit('six, seven and eight lines apart', put('near', b''.join(ln.upper() if i in (5, 12, 20, 29) else ln for i, ln in enumerate(lines(60).splitlines(True)))))
    o.commit('cut at both ends', put('near', b''.join(lines(60).splitlines(True)[3:-3])))

    o.commit('a merge that changes by itself', put('near', lines(61)), merge=(o.n - 3,))
    o.commit('an octopus', put('near', lines(62, 'Line')), merge=(o.n - 5, o.n - 9, 12))
    o.commit('nothing')
    git('fast-import', '--quiet', '--date-format=raw', stdin=o.out)


subprocess.run(['git', 'init', '-q', '--bare', REPO], check=True, env=ENV)
with open(os.path.join(REPO, 'objects/info/alternates'), 'w') as f:
    f.write(os.path.join(os.path.abspath(sys.argv[1]), 'objects') + '\n')
upstream()
odd()
OUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'history.bundle')
git('-c', 'pack.threads=1', '-c', 'pack.window=50', '-c', 'pack.compression=9', 'bundle', 'create', '--quiet', OUT, '--branches')
print(git('for-each-ref', '--format=%(refname) %(objectname)').decode(), os.path.getsize(OUT), 'bytes')
