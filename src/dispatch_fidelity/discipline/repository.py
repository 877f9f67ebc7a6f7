"""The git work tree a folder belongs to, asked through git's plumbing without writing to it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ..errors import DispatchFidelityError

# Set by git for hooks; they would make git look at another repository or index than the one on disk.
_LOCAL = (
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_ATTR_SOURCE",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
    "GIT_DIR",
    "GIT_GLOB_PATHSPECS",
    "GIT_GRAFT_FILE",
    "GIT_ICASE_PATHSPECS",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_NAMESPACE",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
)
# Nothing of the user's configuration may hide a change, start a hook, or shape the output.
_SETTINGS = (
    "core.fsmonitor=false",
    "core.trustctime=true",
    "core.checkStat=default",
    "core.ignoreStat=false",
    "core.fileMode=true",
    "core.symlinks=true",
    "core.quotePath=false",
    "color.ui=false",
    "submodule.recurse=false",
)


class GitError(DispatchFidelityError):
    """git could not answer; nothing is known of the tree (exit 65)."""

    exit_code = 65


class Answer(NamedTuple):
    """What a git command printed; ``talk`` are its lines on standard error, where it tells what it left out."""

    output: bytes
    talk: tuple[str, ...]


class Repository(NamedTuple):
    """A work tree under git; ``root`` is its top folder."""

    root: Path

    def start(self, *args: str, stdin: bool = False) -> subprocess.Popen[bytes]:
        """A running git command, its output to be read; it takes no optional lock and writes nothing."""
        # Told to ignore case where names differ by it, git would take a new file for a tracked one.
        case = "true" if (self.root / ".GIT").exists() else "false"
        return _start(self.root, ["-c", f"core.ignoreCase={case}", *args], stdin=stdin)

    def side_by_side(self, *questions: Sequence[str]) -> list[Answer]:
        """The answers of git commands that run at the same time."""
        running = [self.start(*question) for question in questions]
        try:
            return [_answer(process) for process in running]
        finally:
            for process in running:
                if process.returncode is None:
                    process.kill()
                    process.communicate()

    def git(self, *args: str, stdin: bytes = b"", codes: Sequence[int] = (0,)) -> bytes:
        """The output of a git command; GitError when it ends with another code than ``codes``."""
        return finish(self.start(*args, stdin=bool(stdin)), stdin, codes)

    def ask(self, *args: str) -> str | None:
        """One line of answer; None when git has none."""
        process = self.start(*args)
        output = process.communicate()[0]
        return os.fsdecode(output).rstrip("\n") if process.returncode == 0 else None


def _start(folder: Path, args: Sequence[str], *, stdin: bool = False) -> subprocess.Popen[bytes]:
    env = {name: value for name, value in os.environ.items() if name not in _LOCAL}
    env.update(GIT_OPTIONAL_LOCKS="0", GIT_LITERAL_PATHSPECS="1", GIT_TERMINAL_PROMPT="0", LC_ALL="C")
    settings = [part for setting in _SETTINGS for part in ("-c", setting)]
    return subprocess.Popen(
        ["git", *settings, *args],
        cwd=folder,
        env=env,
        stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def finish(process: subprocess.Popen[bytes], stdin: bytes = b"", codes: Sequence[int] = (0,)) -> bytes:
    """The whole output of a started git command; GitError when it failed."""
    return _answer(process, stdin, codes).output


def _answer(process: subprocess.Popen[bytes], stdin: bytes = b"", codes: Sequence[int] = (0,)) -> Answer:
    output, talk = process.communicate(stdin or None)
    said = talk.decode("utf-8", "replace").strip().splitlines()
    if process.returncode not in codes:
        words = list(process.args) if isinstance(process.args, list) else []
        del words[:1]
        while words[:1] == ["-c"]:
            del words[:2]
        name = words[0] if words else "command"
        raise GitError(f"git {name} failed: {said[0] if said else f'exit {process.returncode}'}")
    return Answer(output, tuple(said))


def find_repository(folder: Path) -> Repository | None:
    """The work tree that ``folder`` lies in; None when it lies in none, or git is not installed.

    Raises GitError where there is a repository that cannot be used: a bare one, one that git refuses.
    """
    try:
        process = _start(
            folder, ["rev-parse", "--is-bare-repository", "--is-inside-work-tree", "--show-cdup"]
        )
    except OSError as problem:
        if not folder.is_dir():
            raise GitError(f"{str(folder)!r} is no folder") from None
        if isinstance(problem, FileNotFoundError):
            return None
        raise GitError(f"git cannot be run: {problem.strerror}") from problem
    output, talk = process.communicate()
    if process.returncode:
        said = talk.decode("utf-8", "replace").strip().splitlines()
        if said and "not a git repository" in said[0] and not _holds_git(folder):
            return None
        raise GitError(f"git cannot read this repository: {said[0] if said else process.returncode}")
    bare, inside, *up = os.fsdecode(output).rstrip("\n").split("\n")
    if inside != "true":
        what = "a bare repository" if bare == "true" else "the inside of a .git folder"
        raise GitError(f"{str(folder)!r} is {what}: there are no files on disk that could be checked")
    return Repository((folder / (up[0] if up else "")).resolve())


def _holds_git(folder: Path) -> bool:
    """Whether a ``.git`` stands in the folder or above it, so that git should have found a repository."""
    return any((place / ".git").exists() for place in [folder.absolute(), *folder.absolute().parents])
