"""Every suppression in the tree is declared with a reason, and every declaration still covers one.

Files are searched for the words of markers first, by ``git grep`` where there is git; only those that hold one are
tokenised. Not scanned: ignored files, submodules, links, and files in encodings that are no superset of ASCII.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path, PurePosixPath

from ..jsonio import LIMITS
from ..model.frozen import Frozen
from .findings import Area, Finding
from .markers import RULES, STEMS, Marker, find_markers
from .records import open_plain
from .repository import GitError, Repository, finish
from .tree import OUTSIDE_GIT

FILE = "waivers.txt"
_OWN = frozenset({b"waivers.txt", b"ANCHOR.txt"})
_NAMED = 12


class Waiver(Frozen, frozen=True):
    """One declaration: the file, the rule it is about (empty: all rules), and the reason; ``line`` counts from 1."""

    path: str
    rule: str
    reason: str
    line: int


class Waivers(Frozen, frozen=True):
    """What was found: findings, every marker with its file, every declaration."""

    findings: tuple[Finding, ...]
    markers: tuple[tuple[str, Marker], ...]
    waivers: tuple[Waiver, ...]


def read_waivers(text: str) -> tuple[tuple[Waiver, ...], tuple[Finding, ...]]:
    """The declarations of a file, and its lines that are none."""
    waivers: dict[tuple[str, str], Waiver] = {}
    findings = []
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        waiver = _waiver(line, number)
        if isinstance(waiver, Waiver) and (waiver.path, waiver.rule) in waivers:
            waiver = f"this is declared in line {waivers[waiver.path, waiver.rule].line} already"
        if isinstance(waiver, Waiver):
            waivers[waiver.path, waiver.rule] = waiver
        else:
            findings.append(Finding(Area.WAIVER, "MALFORMED", f"{FILE}:{number}", waiver))
    return tuple(waivers.values()), tuple(findings)


def _waiver(line: str, number: int) -> Waiver | str:
    path, bar, rest = (part.strip() for part in line.partition("|"))
    first, second, last = (part.strip() for part in rest.partition("|"))
    rule, reason = "", rest
    if second and first in RULES:
        rule, reason = first, last
    elif second and rest.rpartition("|")[2].strip() in RULES:
        reason, _, rule = (part.strip() for part in rest.rpartition("|"))
    if not bar or not path or not reason:
        return "a line is: path | reason, or: path | rule | reason"
    if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
        return "a path is relative to the root and stays below it"
    return Waiver(str(PurePosixPath(path)), rule, reason, number)


def check_waivers(root: Path, repository: Repository | None, skip: Callable[[bytes], bool]) -> Waivers:
    """Find every marker below the root and hold it against the declarations.

    ``skip`` tells the paths of caches. Raises GitError (65) when git cannot search.
    """
    waivers, findings = _load(root)
    markers, unreadable = _scan(root, repository, skip)
    unseen = {finding.subject for finding in unreadable}
    read = tuple(waiver for waiver in waivers if waiver.path not in unseen)
    compared = (*_undeclared(markers, waivers), *_stale(markers, read))
    return Waivers((*findings, *unreadable, *compared), tuple(markers), waivers)


def _load(root: Path) -> tuple[tuple[Waiver, ...], tuple[Finding, ...]]:
    try:
        with open_plain(root / FILE) as handle:
            return read_waivers(handle.read(LIMITS.report).decode("utf-8"))
    except FileNotFoundError:
        return (), ()
    except UnicodeDecodeError as problem:
        text = f"it is no UTF-8 text at byte {problem.start}"
    except OSError as problem:
        text = f"it cannot be read: {problem.strerror or problem}"
    return (), (Finding(Area.WAIVER, "UNREADABLE", FILE, text),)


def _by_rule(markers: list[tuple[str, Marker]]) -> dict[tuple[str, str], list[Marker]]:
    """The markers of each file and rule."""
    found: dict[tuple[str, str], list[Marker]] = {}
    for path, marker in markers:
        found.setdefault((path, marker.rule), []).append(marker)
    return found


def _undeclared(markers: list[tuple[str, Marker]], waivers: tuple[Waiver, ...]) -> Iterator[Finding]:
    """A finding for each rule of each file that is not declared."""
    declared = {(waiver.path, waiver.rule) for waiver in waivers}
    for (path, rule), places in _by_rule(markers).items():
        if (path, rule) in declared or (path, "") in declared:
            continue
        lines = ", ".join(str(marker.line) for marker in places[:_NAMED])
        more = f" and {len(places) - _NAMED} more" if len(places) > _NAMED else ""
        where = f"line{'s' * (len(places) > 1)} {lines}{more}"
        text = f"{rule} in {where} ({places[0].text}); remove it, or declare in {FILE}: {path} | {rule} | why"
        yield Finding(Area.WAIVER, "UNDECLARED", f"{path}:{places[0].line}", text)


def _stale(markers: list[tuple[str, Marker]], waivers: tuple[Waiver, ...]) -> Iterator[Finding]:
    """A finding for each declaration that covers nothing."""
    found = _by_rule(markers)
    covered = {path for path, _ in found}
    for waiver in waivers:
        if waiver.path in covered if not waiver.rule else (waiver.path, waiver.rule) in found:
            continue
        what = f"no {waiver.rule}" if waiver.rule else "no suppression"
        text = f"{FILE} line {waiver.line} covers nothing any more: the file holds {what}; remove the line"
        yield Finding(Area.WAIVER, "STALE", waiver.path, text)


def _scan(
    root: Path, repository: Repository | None, skip: Callable[[bytes], bool]
) -> tuple[list[tuple[str, Marker]], list[Finding]]:
    found: list[tuple[str, Marker]] = []
    findings: list[Finding] = []
    top = os.fsencode(root)
    if repository is None:
        paths = set(_walked(top, skip))
    else:
        paths, troubles = _grepped(repository, skip)
        findings += [Finding(Area.WAIVER, "UNREADABLE", "tree", text) for text in troubles]
    for path in sorted(paths):
        name = path.decode("utf-8", "backslashreplace")
        data = _read(os.path.join(top, path))
        if isinstance(data, str):
            findings.append(Finding(Area.WAIVER, "UNREADABLE", name, data))
        elif data is not None:
            found += [(name, marker) for marker in find_markers(_decoded(data), name)]
    return found, findings


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _read(path: bytes) -> bytes | str | None:
    """The content of a plain file; None for what is none or is gone, a text for what cannot be read."""
    try:
        status = os.lstat(path)
        if not stat.S_ISREG(status.st_mode):
            return None
        if status.st_size > LIMITS.report:
            return f"a file of {status.st_size} bytes is too large to be scanned"
        with open(path, "rb") as handle:
            return handle.read()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as problem:
        return f"it cannot be read: {problem.strerror}"


def _walked(top: bytes, skip: Callable[[bytes], bool]) -> Iterator[bytes]:
    for folder, folders, names in os.walk(top):
        inner = os.path.relpath(folder, top)
        prefix = b"" if inner == b"." else inner + b"/"
        folders[:] = [name for name in folders if name not in OUTSIDE_GIT and not skip(prefix + name)]
        yield from _allowed((prefix + name for name in names), skip)


def _grepped(repository: Repository, skip: Callable[[bytes], bool]) -> tuple[set[bytes], list[str]]:
    """Files on disk that hold a stem of a marker, and what git could not read.

    Of untracked files, and of tracked ones that git does not look at, all are named: git searches only what it tracks,
    since it takes no ignored file for tracked when it is asked for both.
    """
    new = repository.start("ls-files", "-z", "-o", "--exclude-standard")
    listed = repository.start("ls-files", "-z", "-v")
    output, talk = _searched(repository)
    hidden = (line[2:] for line in finish(listed).split(b"\0") if line and line[:1] != b"H")
    paths = [*output.split(b"\0"), *hidden, *finish(new).split(b"\0")]
    troubles = [line for line in talk.decode("utf-8", "replace").splitlines() if line.startswith("error: ")]
    return set(_allowed(paths, skip)), troubles[:_NAMED]


def _searched(repository: Repository) -> tuple[bytes, bytes]:
    """What git finds, and says, by the faster of its ways that it was built with."""
    for way in ("-P", "-E"):
        options = ("grep", "-l", "-z", "-a", "--no-color", "--no-recurse-submodules", way, "-e", STEMS)
        process = repository.start(*options)
        output, talk = process.communicate()
        if process.returncode in (0, 1):
            return output, talk
    raise GitError(f"git grep failed: {talk.decode('utf-8', 'replace').strip()[:200]}")


def _allowed(paths: Iterable[bytes], skip: Callable[[bytes], bool]) -> Iterator[bytes]:
    return (path for path in paths if path and path not in _OWN and not skip(path))
