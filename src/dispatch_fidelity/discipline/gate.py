"""Runs a check command and records it: the one writer of ``.verify/``.

The record is on disk before the command starts and is replaced when it ended, so that a run that was killed
leaves a record that says so.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ..errors import DispatchFidelityError, RecordingError
from ..jsonio import decode, encode
from ..model.frozen import changed
from .records import SCHEMA, GateRecord, Output, as_written, check_label, numbers, seal
from .running import hold_standard_streams, run_command
from .tree import RECORDS, open_tree, text_of_path, tree_state

# Settings that change what a check does and hold no secrets.
VARIABLES = (
    "CI",
    "CONDA_DEFAULT_ENV",
    "LANG",
    "LC_ALL",
    "NODE_ENV",
    "PYTEST_ADDOPTS",
    "PYTHONHASHSEED",
    "PYTHONPATH",
    "PYTHONWARNINGS",
    "TZ",
    "VIRTUAL_ENV",
)


def record_run(
    argv: Sequence[str],
    label: str,
    folder: Path,
    *,
    quiet: bool = False,
    now: Callable[[], datetime] = lambda: datetime.now(timezone.utc),
) -> tuple[GateRecord, Path]:
    """Run a command in ``folder``, pass its output on (unless ``quiet``), and record it; the record and where it lies.

    Raises, before anything runs: UsageError (64) for the label, GitError and UnreadableTreeError (65) where
    the tree cannot be told, RecordingError (70) where nothing can be written.
    """
    hold_standard_streams()
    root, repository = open_tree(folder)
    before = tree_state(root, repository)
    slot = _Slot(root, check_label(label))
    record = GateRecord(
        schema=SCHEMA,
        label=label,
        number=slot.number,
        command=tuple(map(_text, argv)),
        folder=_text(os.path.relpath(folder.resolve(), root.resolve())),
        started=now().isoformat(timespec="microseconds"),
        environment=_environment(argv[0]),
        tree_before=before,
    )
    try:
        slot.write(record)
    except RecordingError as refusal:
        slot.give_back()
        raise RecordingError(f"{refusal}; the command was not run") from refusal
    ended = run_command(argv, slot.keep, folder=folder, quiet=quiet)
    output = slot.end_output()
    problem = ended.problem
    try:
        after = tree_state(root, repository)
    except DispatchFidelityError as trouble:
        after, problem = None, "; ".join(filter(None, [problem, f"the tree afterwards: {trouble}"]))
    record = changed(
        record,
        ended=now().isoformat(timespec="microseconds"),
        exit_code=ended.exit_code,
        signal=ended.signal,
        interrupted=ended.interrupted,
        problem=_text(problem),
        output=output,
        tree_after=after,
    )
    slot.write(record)
    return record, slot.path


def _text(value: str) -> str:
    """Text as JSON holds it; bytes that are no UTF-8 are escaped."""
    return text_of_path(os.fsencode(value)) if not value.isascii() else value


def _environment(program: str) -> dict[str, str]:
    facts = {
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "platform": platform.platform(),
        "machine": platform.machine(),
        "program": shutil.which(program) or "",
    }
    facts.update({name: os.environ[name] for name in VARIABLES if name in os.environ})
    return {name: _text(value) for name, value in facts.items()}


class _Slot:
    """The next free number of a label: its record and its output, written as they come."""

    def __init__(self, root: Path, label: str) -> None:
        self._digest = hashlib.sha256()
        self._size = 0
        self._trouble: OSError | None = None
        try:
            self._folder = _folder(root, label)
            self.number, self._output = self._claim()
        except OSError as problem:
            raise RecordingError(
                f"cannot record under {RECORDS}/{label}: {problem.strerror or problem}; the command was not run"
            ) from problem
        self.path = self._folder / f"{self.number:04}.json"

    def _claim(self) -> tuple[int, int]:
        """A number that no other run has: its output file is created by us alone."""
        number = max(numbers(self._folder), default=0) + 1
        while True:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            try:
                return number, os.open(self._folder / f"{number:04}.output", flags, 0o600)
            except FileExistsError:
                number += 1

    def give_back(self) -> None:
        """Nothing was run under this number."""
        os.close(self._output)
        with suppress(OSError):
            self.path.with_suffix(".output").unlink()

    def keep(self, data: bytes) -> None:
        """Append to the output; a full disk costs the record, not the command."""
        self._digest.update(data)
        self._size += len(data)
        if self._trouble is not None:
            return
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._output, view) :]
        except OSError as problem:
            self._trouble = problem

    def end_output(self) -> Output:
        """The output is durable and whole; RecordingError (70) where it could not be written."""
        try:
            if self._trouble is not None:
                raise self._trouble
            os.fsync(self._output)
        except OSError as problem:
            raise RecordingError(
                f"the output could not be recorded: {problem.strerror or problem}; the record stays without an end"
            ) from problem
        finally:
            os.close(self._output)
        return Output(self._size, self._digest.hexdigest())

    def write(self, record: GateRecord) -> None:
        """Put the record in its place, as a whole, durably."""
        document = _document(record)
        document["digest"] = seal(document)
        data = as_written(document)
        temporary = self.path.with_suffix(f".{os.getpid()}.tmp")
        try:
            with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as handle:
                handle.write(data)
                handle.flush()
                os.fsync(handle.fileno())
            temporary.replace(self.path)
            _sync(self._folder)
        except OSError as problem:
            with suppress(OSError):
                temporary.unlink()
            raise RecordingError(f"cannot write {self.path.name}: {problem.strerror or problem}") from problem


def _sync(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _document(record: GateRecord) -> dict[str, Any]:
    document: dict[str, Any] = decode(encode(record))
    return document


def _folder(root: Path, label: str) -> Path:
    """The label's folder; a new ``.verify/`` tells git not to list it."""
    home = root / RECORDS
    with suppress(FileExistsError):  # perhaps another run was faster
        home.mkdir(mode=0o700)
        (home / ".gitignore").write_text("*\n", encoding="ascii")
    folder = home / label
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder
