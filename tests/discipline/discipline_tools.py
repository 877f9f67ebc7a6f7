"""Real repositories, gates and terminals for the tests of this folder."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import shutil
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from dispatch_fidelity.discipline.records import GateRecord, Stored, read_records
from dispatch_fidelity.discipline.tree import TreeState, differing, open_tree, tree_state

WAIT = 60  # seconds after which a test that hangs says so; nothing here depends on how long things take
AUDIT = (sys.executable, "-m", "dispatch_fidelity")


def use_plain_git(patch: pytest.MonkeyPatch) -> None:
    """git as it comes, for this process and its children: nobody's configuration, a known author."""
    for name in list(os.environ):
        if name.startswith("GIT_"):
            patch.delenv(name)
    patch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    patch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for role in ("AUTHOR", "COMMITTER"):
        patch.setenv(f"GIT_{role}_NAME", "Test")
        patch.setenv(f"GIT_{role}_EMAIL", "test@example.org")


class Repo:
    """A work tree, changed by a test and looked at by the product."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @classmethod
    def create(cls, root: Path, *options: str) -> Repo:
        """An empty repository."""
        root.mkdir(parents=True, exist_ok=True)
        repo = cls(root)
        repo.git("init", "-q", "--template=", "-b", "main", *options)
        return repo

    @classmethod
    def copy(cls, template: Path, root: Path) -> Repo:
        """A copy of a repository, its index fresh."""
        shutil.copytree(template, root, symlinks=True)
        repo = cls(root)
        repo.git("update-index", "-q", "--refresh")
        return repo

    def git(self, *args: str | bytes, stdin: bytes = b"", check: bool = True) -> bytes:
        """The output of a git command."""
        command = ["git", "-c", "protocol.file.allow=always", *args]
        done = subprocess.run(command, cwd=self.root, input=stdin, capture_output=True, timeout=WAIT)
        if check and done.returncode:
            raise AssertionError(f"git {args!r}: {done.stderr.decode('utf-8', 'replace')}")
        return done.stdout

    def path(self, name: str | bytes) -> Path:
        return self.root / os.fsdecode(name)

    def write(self, name: str | bytes, content: str | bytes, mode: int = 0o644) -> Path:
        """A file with this content; folders are made as needed."""
        path = self.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        path.chmod(mode)
        return path

    def commit(self, message: str = "change") -> str:
        """Everything that git sees, committed; the commit."""
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.head()

    def head(self) -> str:
        return self.git("rev-parse", "HEAD").decode().strip()

    def state(self) -> TreeState:
        """The state as the product sees it."""
        return tree_state(*open_tree(self.root))

    def digest(self) -> str:
        return self.state().digest

    def changed(self, old: TreeState, new: TreeState) -> tuple[str, ...] | None:
        """What the product says differs between two states."""
        return differing(open_tree(self.root)[1], old, new)

    def after(self, act: Callable[[], object]) -> tuple[bool, tuple[str, ...] | None]:
        """Whether an act leaves the digest as it was, and the paths that are said to differ."""
        old = self.state()
        act()
        new = self.state()
        return old.digest == new.digest, self.changed(old, new)


def snapshot(root: Path) -> dict[str, tuple[object, ...]]:
    """Every file, link and folder under a root: type and mode, inode, time of change, content."""
    found: dict[str, tuple[object, ...]] = {}
    for folder, folders, names in os.walk(root):
        for name in [*folders, *names]:
            path = Path(folder, name)
            status = path.lstat()
            content: object = None
            if path.is_symlink():
                content = path.readlink()
            elif path.is_file():
                content = path.read_bytes()
            found[str(path)] = (status.st_mode, status.st_ino, status.st_mtime_ns, content)
    return found


# -- gate ------------------------------------------------------------------------------------------------------


class Done(NamedTuple):
    """What a finished gate left."""

    code: int
    out: bytes
    err: bytes


def words(*command: str | bytes, label: str = "check") -> list[str | bytes]:
    """The command line of a gate."""
    return [*AUDIT, "gate", "--label", label, "--", *command]


def gate(
    folder: Path,
    *command: str | bytes,
    label: str = "check",
    stdin: bytes = b"",
    env: dict[str, str] | None = None,
    before: Sequence[str] = (),
    merged: bool = False,
) -> Done:
    """Run a gate to its end; ``before`` are words in front of its command line."""
    done = subprocess.run(
        [*before, *words(*command, label=label)],
        cwd=folder,
        input=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if merged else subprocess.PIPE,
        env={**os.environ, **(env or {})},
        timeout=WAIT,
    )
    return Done(done.returncode, done.stdout, done.stderr or b"")


@contextmanager
def started(
    folder: Path,
    *command: str | bytes,
    label: str = "check",
    before: Sequence[str] = (),
    pass_fds: Sequence[int] = (),
) -> Iterator[subprocess.Popen[bytes]]:
    """A running gate with pipes for all three; ended by closing its standard input, at the latest at the end."""
    process = subprocess.Popen(
        [*before, *words(*command, label=label)],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        pass_fds=pass_fds,
    )
    try:
        yield process
    finally:
        if process.stdin is not None:
            process.stdin.close()
        for stream in (process.stdout, process.stderr):
            if stream is not None and not stream.closed:
                read_all(stream.fileno())
                stream.close()
        process.wait(timeout=WAIT)


def read_until(fd: int, wanted: bytes) -> bytes:
    """What comes, up to and with ``wanted``."""
    got = b""
    while wanted not in got:
        ready, _, _ = select.select([fd], [], [], WAIT)
        assert ready, f"{wanted!r} did not come after {got!r}"
        data = os.read(fd, 1 << 16)
        assert data, f"the end came before {wanted!r}, after {got!r}"
        got += data
    return got


def read_all(fd: int) -> bytes:
    """What comes until the end; a terminal says it with an error."""
    got = b""
    while True:
        ready, _, _ = select.select([fd], [], [], WAIT)
        assert ready, f"no end came after {got[-400:]!r}"
        try:
            data = os.read(fd, 1 << 16)
        except OSError:
            data = b""
        if not data:
            return got
        got += data


OWN_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execvp(sys.argv[1], sys.argv[1:])
"""


class Terminal:
    """A terminal of 33 lines by 97 columns, and a gate that runs on it."""

    def __init__(self, folder: Path, *command: str | bytes, before: Sequence[str] = ()) -> None:
        self.fd, inlet = pty.openpty()
        self.resize(33, 97)
        self.process = subprocess.Popen(
            [sys.executable, "-c", OWN_TERMINAL, *before, *words(*command)],
            cwd=folder,
            stdin=inlet,
            stdout=inlet,
            stderr=inlet,
            start_new_session=True,
        )
        os.close(inlet)

    def resize(self, lines: int, columns: int) -> None:
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def type(self, keys: bytes) -> None:
        os.write(self.fd, keys)

    def until(self, wanted: bytes) -> bytes:
        return read_until(self.fd, wanted)

    def end(self) -> tuple[int, bytes]:
        """The gate's exit code, and what is left on the terminal."""
        rest = read_all(self.fd)
        code = self.process.wait(timeout=WAIT)
        os.close(self.fd)
        return code, rest


def stored(root: Path, label: str = "check") -> tuple[Stored, ...]:
    """The runs of a label, oldest first."""
    return read_records(root).get(label, ())


def newest(root: Path, label: str = "check") -> GateRecord:
    """The newest record of a label, which is whole."""
    last = stored(root, label)[-1]
    assert last.defects == ()
    assert last.record is not None
    return last.record


def output(root: Path, label: str = "check") -> bytes:
    """The recorded output of the newest run."""
    last = stored(root, label)[-1]
    return (root / last.place).with_suffix(".output").read_bytes()


def python(script: str) -> tuple[str, str, str]:
    """The command that runs a script, its output unbuffered."""
    return sys.executable, "-uc", script
