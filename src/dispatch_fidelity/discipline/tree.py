"""The identity of the files on disk: one digest for one content, whatever is committed, staged or new.

Under git the listing holds every tracked and every untracked, not ignored file with its mode and the id of
its content as git would store it, so that committing what was checked does not change the digest. Files that
git takes to be unchanged are listed from its index; all others are read. Without git every file is read.
The project's caches, where they are not tracked, and ``.verify/`` do not count.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from ..errors import DispatchFidelityError
from ..model.frozen import Frozen
from .repository import GitError, Repository, find_repository

RECORDS = ".verify"
CACHES = frozenset(
    b".verify .git .hg .svn .jj __pycache__ .pytest_cache .mypy_cache .ruff_cache .hypothesis .tox .nox "
    b".import_linter_cache .pytype .pyre .eggs .gradle .sass-cache .parcel-cache .turbo .nyc_output "
    b".ipynb_checkpoints".split()
)
_CACHE_FILES = (b".coverage", b".DS_Store", b"Thumbs.db", b".eslintcache", b".stylelintcache", b".dmypy.json")
_CACHE_ENDS = (b".pyc", b".pyo", b".tsbuildinfo")
OUTSIDE_GIT = frozenset({b"node_modules", b".venv", b"venv"})
_GITLINK = b"160000"
_LINK = b"120000"
LISTED = 2_000
_OWN = b".verify/"
_STAGED = re.compile(rb" [123]\t")


class UnreadableTreeError(DispatchFidelityError):
    """A file of the tree cannot be read, so that its content is not known (exit 65)."""

    exit_code = 65


class TreeState(Frozen, frozen=True):
    """The tree at one moment.

    ``digest`` is the SHA-256 of the listing, ``method`` "git" or "walk", ``commit`` the checked-out commit
    (empty where there is none), ``files`` how many files count. ``changes`` maps what differs from that
    commit to "mode id" ("" where it is deleted); None when there are too many to keep.
    """

    digest: str
    method: str
    commit: str = ""
    files: int = 0
    changes: dict[str, str] | None = None


class Entry(NamedTuple):
    """One file: its mode and the id of its content, as git writes them."""

    mode: bytes
    oid: bytes

    @property
    def text(self) -> str:
        """As a record holds it."""
        return f"{self.mode.decode()} {self.oid.decode()}"

    def line(self, path: bytes) -> bytes:
        """As the listing holds it: the form of ``git ls-files -s -v``."""
        return b"H %b %b 0\t%b" % (self.mode, self.oid, path)


def open_tree(folder: Path) -> tuple[Path, Repository | None]:
    """The root of the tree that ``folder`` lies in, and its repository if there is one.

    Raises GitError (65) for a repository that cannot be used.
    """
    repository = find_repository(folder)
    return (repository.root if repository else folder.absolute()), repository


def is_cache(path: bytes) -> bool:
    """Whether a relative path belongs to a tool's cache or to the records of ``gate``."""
    *folders, name = path.split(b"/")
    return (
        not CACHES.isdisjoint(folders)
        or name in CACHES
        or name in _CACHE_FILES
        or name.startswith(b".coverage.")
        or name.endswith(_CACHE_ENDS)
    )


def tree_state(root: Path, repository: Repository | None) -> TreeState:
    """The state of the tree on disk.

    Raises GitError and UnreadableTreeError (65) when the content of a file cannot be told.
    """
    if repository is None:
        return _state({path: entry.line(path) for path, entry in _walk(root)}, "walk")
    return _git_state(repository)


def _state(
    listing: dict[bytes, bytes], method: str, commit: str = "", changes: dict[str, str] | None = None
) -> TreeState:
    data = b"".join([listing[path] + b"\0" for path in sorted(listing)])
    return TreeState(_digest(data), method, commit, len(listing), changes)


def _digest(listing: bytes) -> str:
    return hashlib.sha256(b"dispatch-fidelity/tree/1\n" + listing).hexdigest()


# -- git -----------------------------------------------------------------------------------------------------


def _git_state(repository: Repository) -> TreeState:
    """1. Ask, side by side. 2. Where git sees no change, the index is the listing. 3. Else put in what is on disk."""
    # 1.
    commit = (
        repository.git("rev-parse", "--verify", "--quiet", "HEAD^{commit}", codes=(0, 1)).decode().strip()
    )
    base = commit or repository.git("hash-object", "-t", "tree", "--stdin").decode().strip()
    index, changed, others, staged = repository.side_by_side(
        ("ls-files", "-z", "-s", "-v"),
        ("diff-files", "-z", "--raw", "--no-renames", "--ignore-submodules=all"),
        ("ls-files", "-z", "-o", "--exclude-standard"),
        ("diff-index", "-z", "--raw", "--no-renames", "--ignore-submodules=none", "--cached", base),
    )
    unread = next((line for line in others.talk if "could not open directory" in line), "")
    if unread:
        raise UnreadableTreeError(unread.removeprefix("warning: "))
    edited = {path for path in _paths(changed.output) if not path.startswith(_OWN)}
    edited.update(path for path in map(_no_slash, others.output.split(b"\0")) if path and not is_cache(path))
    paths = edited.union(path for path in _paths(staged.output) if not path.startswith(_OWN))
    # 2.
    if not paths and not changed.talk and _is_plain(index.output):
        return TreeState(_digest(index.output), "git", commit, index.output.count(b"\0"), {})
    # 3.
    listing, doubtful = _entries(index.output)
    if changed.talk:  # git says what it cannot read, and goes on as if that were unchanged
        doubtful = set(listing)
    edited |= doubtful
    found = _read(repository, edited, listing)
    for path in edited:
        if path in found:
            listing[path] = found[path].line(path)
        else:
            listing.pop(path, None)
    return _state(listing, "git", commit, _changes(repository, commit, listing, paths | doubtful))


def _is_plain(index: bytes) -> bool:
    """Whether every line of the index says what is on disk: no merge, submodule, or file git is not to look at."""
    return (
        index.count(b"\0H ") + index.startswith(b"H ") == index.count(b"\0")
        and _STAGED.search(index) is None
        and b"\0H 160000 " not in index
        and not index.startswith(b"H 160000 ")
        and b"\t" + _OWN not in index
    )


def _entries(index: bytes) -> tuple[dict[bytes, bytes], set[bytes]]:
    """The index by path, and the paths of which it does not say what is on disk.

    Those are the unmerged ones, those of which git was told not to look (assume-unchanged, skip-worktree), and
    submodules, of which git looks at no more than they let it.
    """
    listing = {line[line.index(b"\t") + 1 :]: line for line in index.split(b"\0") if line}
    if _is_plain(index):
        return listing, set()
    listing = {path: line for path, line in listing.items() if not path.startswith(_OWN)}
    return listing, {
        path
        for path, line in listing.items()
        if not line.startswith(b"H ")
        or line.startswith(b"H 160000 ")
        or line[: line.index(b"\t")][-1:] != b"0"
    }


def _no_slash(path: bytes) -> bytes:
    """The path of a repository inside the tree, as git tracks it; git lists it with a slash at the end."""
    return path.rstrip(b"/")


def _parsed(line: bytes) -> Entry:
    _, mode, oid, _ = line.split(b"\t", 1)[0].split(b" ")
    return Entry(mode, oid)


def _paths(raw: bytes) -> list[bytes]:
    """The paths in the answer to ``--raw -z``."""
    return raw.split(b"\0")[1::2]


def _read(repository: Repository, paths: Iterable[bytes], index: Mapping[bytes, bytes]) -> dict[bytes, Entry]:
    """What stands on disk under these paths; a path under which there is nothing is left out."""
    root = os.fsencode(repository.root)
    found: dict[bytes, Entry] = {}
    regular: dict[bytes, bytes] = {}
    real: dict[bytes, bool] = {}
    for path in paths:
        place = os.path.join(root, path)
        if not _is_real(root, os.path.dirname(path), real):
            continue
        try:
            status = os.lstat(place)
            if stat.S_ISREG(status.st_mode):
                regular[path] = b"100755" if status.st_mode & 0o100 else b"100644"
            elif stat.S_ISLNK(status.st_mode):
                found[path] = Entry(_LINK, _link_id(repository, os.readlink(place)))
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as problem:
            raise UnreadableTreeError(f"cannot read {text_of_path(path)!r}: {problem.strerror}") from problem
        if stat.S_ISDIR(status.st_mode):
            line = index.get(path)
            inner = _inner(Path(os.fsdecode(place)), line is not None and _parsed(line).mode == _GITLINK)
            if inner is not None:
                found[path] = inner
    ids = _stored_ids(repository, list(regular), index)
    found.update((path, Entry(mode, ids[path])) for path, mode in regular.items())
    return found


def _is_real(root: bytes, folder: bytes, known: dict[bytes, bool]) -> bool:
    """Whether no part of a folder's path is a link: what lies behind one is not of the tree."""
    if folder not in known:
        parts = folder.split(b"/")
        known[folder] = not any(
            os.path.islink(os.path.join(root, *parts[:end])) for end in range(1, len(parts) + 1) if folder
        )
    return known[folder]


def _stored_ids(
    repository: Repository, paths: list[bytes], index: Mapping[bytes, bytes]
) -> dict[bytes, bytes]:
    """The ids git would store these files under, its line-ending and other filters applied."""
    ids = _content_ids(repository, paths)
    # hash-object does not know that git leaves the ends of lines alone where the index has CRLF already.
    edited = [path for path in paths if path in index and _parsed(index[path]).oid != ids[path]]
    raw = _content_ids(repository, edited, "--no-filters")
    kept = _keeping_returns(repository, [path for path in edited if raw[path] != ids[path]])
    return {**ids, **{path: raw[path] for path in kept}}


def _keeping_returns(repository: Repository, paths: list[bytes]) -> list[bytes]:
    """Those of these tracked paths whose CRLF git stores as they are."""
    kept = []
    names = [os.fsdecode(path) for path in paths]
    for start in range(0, len(names), 500):
        some = names[start : start + 500] if len(names) <= LISTED else []
        data = repository.git("ls-files", "-z", "--eol", "--", *some)
        for line in data.split(b"\0"):
            facts, _, path = line.partition(b"\t")
            stored, _, attributes = (facts.split(None, 2) + [b""] * 3)[:3]
            decides_itself = attributes.strip() == b"attr/" or attributes.startswith(b"attr/text=auto")
            if stored in (b"i/crlf", b"i/mixed") and decides_itself:
                kept.append(path)
        if not some:
            break
    return [path for path in paths if path in set(kept)]


def _content_ids(repository: Repository, paths: list[bytes], *options: str) -> dict[bytes, bytes]:
    """The ids of these files, by path."""
    if not paths:
        return {}
    lines = b"".join(_quoted(path) + b"\n" for path in paths)
    ids = repository.git("hash-object", "--stdin-paths", *options, stdin=lines).split()
    if len(ids) != len(paths):
        raise UnreadableTreeError("a file of the tree changed while it was read; try again")
    return dict(zip(paths, ids, strict=True))


def _quoted(path: bytes) -> bytes:
    """A path on one line, as git reads it: it takes a return at the end for one of the line."""
    if b"\n" not in path and not path.startswith(b'"') and not path.endswith(b"\r"):
        return path
    return b'"%b"' % path.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")


def _link_id(repository: Repository, target: bytes) -> bytes:
    return repository.git("hash-object", "--stdin", "--no-filters", stdin=target).strip()


def _inner(folder: Path, is_submodule: bool) -> Entry | None:
    """A submodule or a repository inside the tree: its commit, and the digest of what differs from it.

    Of a submodule that is not checked out, the files that lie there all the same; None where there are none.
    """
    if (folder / ".git").exists():
        repository = find_repository(folder)
        if repository is None or repository.root != folder.resolve():
            raise GitError(f"the repository in {str(folder)!r} is broken")
        state = _git_state(repository)
        oid = state.commit or "0" * 40
        if state.changes != {}:
            oid += f"+{state.digest}"
        return Entry(_GITLINK, oid.encode())
    files = tree_state(folder, None) if is_submodule else None
    return Entry(_GITLINK, f"+{files.digest}".encode()) if files is not None and files.files else None


def _changes(
    repository: Repository, commit: str, listing: dict[bytes, bytes], paths: set[bytes]
) -> dict[str, str] | None:
    """What differs from the commit among these paths; None when there are too many."""
    if len(paths) > LISTED:
        return None
    committed = _committed(repository, commit, paths)
    found = {}
    for path in sorted(paths):
        entry = _parsed(listing[path]) if path in listing else None
        if entry != committed.get(path):
            found[text_of_path(path)] = entry.text if entry else ""
    return found


def _committed(repository: Repository, commit: str, paths: Iterable[bytes]) -> dict[bytes, Entry]:
    """The entries of these paths in a commit."""
    names = [os.fsdecode(path) for path in paths]
    if not commit or not names:
        return {}
    found = {}
    for start in range(0, len(names), 500):
        data = repository.git("ls-tree", "-z", "--full-tree", commit, "--", *names[start : start + 500])
        for line in data.split(b"\0"):
            head, tab, path = line.partition(b"\t")
            if tab:
                mode, _, oid = head.split(b" ")
                found[path] = Entry(mode, oid)
    return found


def text_of_path(path: bytes) -> str:
    """A path as text; bytes that are no UTF-8 are escaped."""
    return path.decode("utf-8", "backslashreplace")


# -- without git ---------------------------------------------------------------------------------------------


def _walk(root: Path) -> Iterator[tuple[bytes, Entry]]:
    top = os.fsencode(root)

    def trouble(problem: OSError) -> None:
        raise UnreadableTreeError(f"cannot read {problem.filename!r}: {problem.strerror}") from problem

    for folder, folders, names in os.walk(top, onerror=trouble):
        linked = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        folders[:] = sorted(set(folders) - CACHES - OUTSIDE_GIT - set(linked))
        for name in [*names, *linked]:
            path = os.path.join(folder, name)
            relative = path[len(top.rstrip(b"/")) + 1 :]
            if not is_cache(relative):
                entry = _entry(path)
                if entry is not None:
                    yield relative, entry


def _entry(path: bytes) -> Entry | None:
    """A file as it is on disk; None for what is neither file nor link."""
    try:
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode):
            return Entry(_LINK, hashlib.sha256(os.readlink(path)).hexdigest().encode())
        if not stat.S_ISREG(status.st_mode):
            return None
        digest = hashlib.sha256()
        with open(path, "rb") as handle:
            while block := handle.read(1 << 20):
                digest.update(block)
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise UnreadableTreeError(f"cannot read {text_of_path(path)!r}: {problem.strerror}") from problem
    mode = b"100755" if status.st_mode & 0o100 else b"100644"
    return Entry(mode, digest.hexdigest().encode())


# -- two states ----------------------------------------------------------------------------------------------


def differing(repository: Repository | None, old: TreeState, new: TreeState) -> tuple[str, ...] | None:
    """The paths whose content differs between two states; None when that cannot be told."""
    if old.changes is None or new.changes is None or old.method != new.method or repository is None:
        return None
    before, after = {}, {}
    if old.commit != new.commit:
        if not old.commit or not new.commit:
            return None
        try:
            data = repository.git(
                "diff-tree", "-r", "-z", "--raw", "--no-renames", "--end-of-options", old.commit, new.commit
            )
        except DispatchFidelityError:
            return None
        parts = data.split(b"\0")
        for meta, path in zip(parts[::2], parts[1::2], strict=False):
            if path.startswith(_OWN):
                continue
            old_mode, new_mode, old_id, new_id = meta[1:].split(b" ")[:4]
            name = text_of_path(path)
            before[name] = "" if old_mode == b"000000" else f"{old_mode.decode()} {old_id.decode()}"
            after[name] = "" if new_mode == b"000000" else f"{new_mode.decode()} {new_id.decode()}"
    before.update(old.changes)
    after.update(new.changes)
    same = object()
    return tuple(
        name for name in sorted({*before, *after}) if before.get(name, same) != after.get(name, same)
    )
