"""Anchors: commands whose answer was written down before the change that they now judge.

``ANCHOR.txt`` holds lines ``name | command | expected``. An anchor holds when its command exits 0 and prints the
expected text as a whole token, and when its line stood there before the change under test.
"""

from __future__ import annotations

import os
import re
import select
import shlex
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

from ..errors import DispatchFidelityError
from ..jsonio import LIMITS
from ..model.frozen import Frozen
from .findings import Area, Finding
from .records import open_plain
from .repository import GitError, Repository

FILE = "ANCHOR.txt"
TIMEOUT = 900
# Colours and movements; titles and links; character sets; the short ones.
_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]+[0-~]|[0-OQ-WYZ\\`-~])"
)
_BEGUN = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b]*\x1b?|[ -/]*)\Z")
_SHELL = frozenset("|&;<>()$`*?[]{}~#!\n")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_OVERLAP = 4096
_BEFORE = 2  # so many characters before a token decide whether it is a whole one
_LONG = 86_400.0
_LEFT_BEHIND = 1 << 20  # no pipe holds more


class Anchor(Frozen, frozen=True):
    """One line: the command as it stands there, and the text it has to print; ``line`` counts from 1."""

    name: str
    command: str
    expected: str
    line: int

    @property
    def argv(self) -> tuple[str, ...]:
        """What is run: the words of the command, or ``sh -c`` with it where it uses the syntax of a shell."""
        if needs_shell(self.command):
            return ("sh", "-c", self.command)
        return tuple(shlex.split(self.command))


class Ran(Frozen, frozen=True):
    """How the command of an anchor ended; ``seen`` says whether it printed the expected text, ``last`` what it did."""

    exit_code: int | None
    seen: bool
    last: str = ""
    problem: str = ""


def needs_shell(command: str) -> bool:
    """Whether a command uses syntax of a shell: operators, expansions, patterns or assignments outside quotes."""
    quote = ""
    escaped = False
    for character in command:
        if escaped:
            if quote and character in "$`":  # in quotes a shell takes the backslash away, shlex does not
                return True
            escaped = False
        elif quote == "'":
            quote = "" if character == "'" else quote
        elif character == "\\":
            escaped = True
        elif quote:
            if character in "$`":
                return True
            quote = "" if character == '"' else quote
        elif character in "'\"":
            quote = character
        elif character in _SHELL:
            return True
    return _ASSIGNMENT.match(command) is not None


def read_anchors(text: str) -> tuple[tuple[Anchor, ...], tuple[Finding, ...]]:
    """The anchors of a file, and its lines that are none."""
    anchors: dict[str, Anchor] = {}
    findings = []
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        anchor = _anchor(line, number)
        if isinstance(anchor, Anchor) and anchor.name in anchors:
            anchor = f"the name {anchor.name!r} is taken in line {anchors[anchor.name].line}"
        if isinstance(anchor, Anchor):
            anchors[anchor.name] = anchor
        else:
            findings.append(Finding(Area.ANCHOR, "MALFORMED", f"{FILE}:{number}", anchor))
    return tuple(anchors.values()), tuple(findings)


def _anchor(line: str, number: int) -> Anchor | str:
    name, _, rest = line.partition("|")
    command, bar, expected = rest.rpartition("|")
    name, command, expected = name.strip(), command.strip(), expected.strip()
    if not bar or not name or not command or not expected:
        return "a line is: name | command | expected"
    if "\0" in line:
        return "a line holds a NUL byte"
    anchor = Anchor(name, command, expected, number)
    try:
        empty = not anchor.argv
    except ValueError as problem:
        return f"the command cannot be read: {problem}"
    return "the command is empty" if empty else anchor


# -- before the change -----------------------------------------------------------------------------------------


class Base(Frozen, frozen=True):
    """The commit before the change under test; ``problem`` where none is known."""

    commit: str = ""
    problem: str = ""


def find_base(repository: Repository | None, given: str = "") -> Base:
    """The commit to compare with: the given one, else where the branch left the default branch.

    On the default branch it is HEAD. Without a remote the current branch is the default one.
    """
    if repository is None:
        return Base(
            problem="there is no git history: nothing shows that the anchors stood there before the change"
        )
    if given:
        commit = repository.ask("rev-parse", "--verify", "--quiet", "--end-of-options", f"{given}^{{commit}}")
        return Base(commit) if commit else Base(problem=f"--base {given!r} is no commit of this repository")
    head = repository.ask("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    if head is None:
        if repository.ask("for-each-ref", "--count=1") == "":
            return Base()
        return Base(problem="HEAD has no commit here, but there are others; give --base")
    remotes = (repository.ask("remote") or "").split("\n")
    remotes = [name for name in remotes if name]
    if not remotes:
        return Base(head)
    remote = "origin" if "origin" in remotes else remotes[0]
    default = _default_branch(repository, remote)
    if default is None:
        return Base(problem=f"the default branch of {remote!r} is not known here; fetch it, or give --base")
    if repository.ask("symbolic-ref", "--quiet", "HEAD") == f"refs/heads/{default[len(remote) + 1 :]}":
        return Base(head)
    merge = repository.ask("merge-base", f"refs/remotes/{default}", "HEAD")
    if merge is None:
        return Base(
            problem=f"no merge base with {default} (a shallow clone?); fetch the history, or give --base"
        )
    return Base(merge.split("\n")[0])


def _default_branch(repository: Repository, remote: str) -> str | None:
    """The remote's default branch as "remote/branch"."""
    named = repository.ask("symbolic-ref", "--quiet", f"refs/remotes/{remote}/HEAD")
    names = [named.removeprefix("refs/remotes/")] if named else [f"{remote}/main", f"{remote}/master"]
    for name in names:
        if repository.ask("rev-parse", "--verify", "--quiet", f"refs/remotes/{name}^{{commit}}"):
            return name
    return None


def compare(
    anchors: tuple[Anchor, ...], before: tuple[Anchor, ...]
) -> tuple[tuple[str, ...], tuple[Finding, ...]]:
    """The names that are new since the base, and a finding for each anchor that was edited or removed."""
    now = {anchor.name: anchor for anchor in anchors}
    old = {anchor.name: anchor for anchor in before}
    findings = []
    for name, anchor in old.items():
        kept = now.get(name)
        was = f"{anchor.command} | {anchor.expected}"
        if kept is None:
            findings.append(
                Finding(Area.ANCHOR, "REMOVED", name, f"removed in the change under test; it was: {was}")
            )
        elif (kept.command, kept.expected) != (anchor.command, anchor.expected):
            findings.append(
                Finding(Area.ANCHOR, "EDITED", name, f"edited in the change under test; it was: {was}")
            )
    return tuple(name for name in now if name not in old), tuple(findings)


def anchors_at(repository: Repository, commit: str) -> tuple[Anchor, ...]:
    """The anchors of a commit; none where it holds no such file. Raises GitError (65)."""
    entry = repository.git("ls-tree", "--full-tree", commit, "--", FILE) if commit else b""
    if not entry:
        return ()
    if not entry.startswith(b"100"):
        raise GitError(f"{FILE} is no plain file there")
    data = repository.git("cat-file", "blob", f"{commit}:{FILE}")
    return read_anchors(data.decode("utf-8", "replace").replace("\r\n", "\n"))[0]


# -- now -------------------------------------------------------------------------------------------------------


def run_anchor(anchor: Anchor, root: Path, timeout: float = TIMEOUT) -> Ran:
    """Run the command of an anchor at the root, without standard input; its output is searched as it comes.

    It ends with its first process, or when the time is over; what it left running is ended.
    """
    try:
        process = subprocess.Popen(
            anchor.argv,
            cwd=root,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except (OSError, ValueError) as problem:
        return Ran(
            None,
            False,
            problem=f"the command cannot be started: {getattr(problem, 'strerror', None) or problem}",
        )
    search = _Search(anchor.expected)
    with process:
        in_time = _follow(process, search.feed, time.monotonic() + timeout)
    search.end()
    if not in_time:
        text = f"the command took longer than {timeout:g} seconds and was ended"
        return Ran(None, search.seen, search.last, text)
    return Ran(process.returncode, search.seen, search.last)


def _follow(process: subprocess.Popen[bytes], feed: Callable[[bytes], None], deadline: float) -> bool:
    """Hand on what comes until the process ended, and end what it left running; whether that was in time."""
    seen, ended = os.pipe()

    def wait() -> None:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        _end_session(process.pid)
        os.close(ended)

    watch = threading.Thread(target=wait, daemon=True)
    watch.start()
    assert process.stdout is not None
    outlet = process.stdout.fileno()
    watched = [seen, outlet]
    late = False
    try:
        while seen in watched:
            patience = None if late else min(max(deadline - time.monotonic(), 0), _LONG)
            ready = select.select(watched, [], [], patience)[0]
            if not ready and time.monotonic() >= deadline:
                late = True
                _end_session(process.pid)
            if outlet in ready and not _hand_on(outlet, feed):
                watched.remove(outlet)
            if seen in ready:
                watched.remove(seen)
        # A process that left the session may hold the output open, and print on.
        rest = _LEFT_BEHIND
        while rest > 0 and outlet in watched and select.select(watched, [], [], 0)[0]:
            size = _hand_on(outlet, feed)
            rest = rest - size if size else 0
    finally:  # also after Ctrl-C: what was started here ends here
        _end_session(process.pid)
        watch.join()
        os.close(seen)
    return not late


def _hand_on(outlet: int, feed: Callable[[bytes], None]) -> int:
    """Hand on the next piece; its size, 0 at the end."""
    data = os.read(outlet, 1 << 16)
    feed(data)
    return len(data)


def _end_session(pid: int) -> None:
    """End what the command left running in its own session."""
    import signal

    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


class _Search:
    """Looks for a whole token in a stream of bytes, escape sequences of terminals left out, in flat memory."""

    def __init__(self, expected: str) -> None:
        import codecs

        self.seen = False
        self.last = ""
        self._pattern = whole_token(expected)
        self._first = expected.split()[0]
        self._margin = len(expected) + _OVERLAP
        self._start = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._kept = ""

    def feed(self, data: bytes) -> None:
        """The next piece."""
        self._look(self._decoder.decode(data), last=False)

    def end(self) -> None:
        """No more is to come."""
        self._look(self._decoder.decode(b"", True), last=True)

    def _look(self, text: str, *, last: bool) -> None:
        text = self._kept + text
        # An escape sequence that has begun goes on in the next piece.
        held = ""
        if "\x1b" in text:
            begun = None if last else _BEGUN.search(text, max(0, len(text) - _OVERLAP))
            held = text[begun.start() :] if begun else ""
            text = _ESCAPES.sub("", text[: len(text) - len(held)])
        # What stands at the very end may go on in the next piece too: "2 passed" in "2 passed_over", 2 in 2.5.
        match = self._pattern.search(text, self._start) if self._first in text else None
        if match and (last or match.end() + 1 < len(text)):
            self.seen = True
        self.last = " ".join(text[-400:].split())[-160:] or self.last
        if len(text) > self._margin:
            text = text[-self._margin :]
            self._start = _BEFORE
        self._kept = text + held


def whole_token(expected: str) -> re.Pattern[str]:
    """Finds the text where it is no part of a longer word or number; white space in it stands for any."""
    body = r"\s+".join(re.escape(word) for word in expected.split())
    first, last = expected.strip()[0], expected.strip()[-1]
    before = r"(?<!\w)(?<!\d[.,])" if _wordy(first) else ""
    if first.isdigit():
        before += r"(?<![-\u2212])"
    after = r"(?!\w)(?![.,]\d)" if _wordy(last) else ""
    return re.compile(before + body + after)


def _wordy(character: str) -> bool:
    return character.isalnum() or character == "_"


def judge(anchor: Anchor, ran: Ran) -> Finding | None:
    """None when the anchor holds."""
    said = f"; it printed last: {ran.last}" if ran.last else ""
    if text := _failure(anchor, ran):
        return Finding(Area.ANCHOR, "FAILED", anchor.name, text + said)
    if not ran.seen:
        text = f"{anchor.command!r} did not print {anchor.expected!r} as a whole token{said}"
        return Finding(Area.ANCHOR, "BROKEN", anchor.name, text)
    return None


def _failure(anchor: Anchor, ran: Ran) -> str:
    if ran.problem:
        return ran.problem
    if ran.exit_code == 0:
        return ""
    printed = "although it printed the expected text" if ran.seen else "without the expected text"
    return f"{anchor.command!r} exited {ran.exit_code}, {printed}"


def load_anchors(root: Path) -> tuple[tuple[Anchor, ...], tuple[Finding, ...]]:
    """The anchors on disk; a file that cannot be read is a finding, a missing one holds none."""
    path = root / FILE
    try:
        with open_plain(path) as handle:
            data = handle.read(LIMITS.report + 1)
        text = data.decode("utf-8")
    except FileNotFoundError:
        return (), ()
    except UnicodeDecodeError as problem:
        where = f"byte {problem.start}"
        return (), (Finding(Area.ANCHOR, "UNREADABLE", FILE, f"it is no UTF-8 text at {where}"),)
    except OSError as problem:
        return (), (
            Finding(Area.ANCHOR, "UNREADABLE", FILE, f"it cannot be read: {problem.strerror or problem}"),
        )
    if len(data) > LIMITS.report:
        return (), (Finding(Area.ANCHOR, "UNREADABLE", FILE, "it is too large"),)
    return read_anchors(text)


def check_against_base(
    anchors: tuple[Anchor, ...], repository: Repository | None, given: str = ""
) -> tuple[Base, tuple[str, ...], tuple[Finding, ...]]:
    """The base, the names that are new since, and what was done to anchors in the change under test."""
    base = find_base(repository, given)
    if base.problem:
        if repository is None and not anchors and not given:
            return base, (), ()
        return base, (), (Finding(Area.ANCHOR, "NO-BASE", FILE, base.problem),)
    assert repository is not None
    try:
        before = anchors_at(repository, base.commit)
    except DispatchFidelityError as problem:
        return base, (), (Finding(Area.ANCHOR, "NO-BASE", FILE, f"the base cannot be read: {problem}"),)
    return base, *compare(anchors, before)
