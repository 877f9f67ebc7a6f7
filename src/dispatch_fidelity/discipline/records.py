"""The records of ``gate`` as they lie in ``.verify/``, read; ``gate`` writes them.

``.verify/<label>/<number>.json`` is a record, ``<number>.output`` beside it everything the command printed.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

from ..errors import JSONError, UsageError
from ..jsonio import LIMITS, convert, decode, encode, encode_pretty
from ..model.frozen import Frozen
from .tree import RECORDS, TreeState

SCHEMA = "dispatch-fidelity/gate/1"
LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_NAME = re.compile(r"([0-9]{4,9})\.(json|output)")


class Output(Frozen, frozen=True):
    """Everything the command printed, standard output and standard error in the order of arrival."""

    bytes: int
    sha256: str


class GateRecord(Frozen, frozen=True):
    """One run of a check command.

    ``folder`` is where it ran, relative to the root; times are ISO 8601 in UTC. The members from ``ended`` on are
    there when it ended: ``exit_code`` as a shell tells it (128 + N for signal N, 127 not found, 126 not
    startable, with the ``problem`` in words), ``interrupted`` the signal that reached ``gate`` meanwhile. A record
    without them is of a run that is still on, or was killed together with ``gate``.
    """

    schema: str
    label: str
    number: int
    command: tuple[str, ...]
    folder: str
    started: str
    environment: dict[str, str]
    tree_before: TreeState
    ended: str = ""
    exit_code: int | None = None
    signal: str = ""
    interrupted: str = ""
    problem: str = ""
    output: Output | None = None
    tree_after: TreeState | None = None


class Stored(Frozen, frozen=True):
    """What lies under one number of a label; ``defects`` are pairs of kind and text: what is not as it was written."""

    label: str
    number: int
    record: GateRecord | None
    defects: tuple[tuple[str, str], ...] = ()

    @property
    def place(self) -> str:
        """Where it lies, relative to the root."""
        return f"{RECORDS}/{self.label}/{self.number:04}.json"


def check_label(label: str) -> str:
    """The label; UsageError (64) when it cannot be the name of a folder."""
    if not LABEL.fullmatch(label):
        raise UsageError(f"label {label!r}: letters, digits, '.', '_' and '-', at most 64, no '.' first")
    return label


def seal(document: Mapping[str, Any]) -> str:
    """The digest that ends a record: SHA-256 of its compact JSON without the digest."""
    return hashlib.sha256(encode({key: document[key] for key in document if key != "digest"})).hexdigest()


def as_written(document: Mapping[str, Any]) -> bytes:
    """The file of a record."""
    return (encode_pretty(document) + "\n").encode("ascii")


def read_records(root: Path, labels: tuple[str, ...] = ()) -> dict[str, tuple[Stored, ...]]:
    """Every record by label, oldest first; with ``labels`` those only.

    What is damaged, missing or foreign is a defect of its place, never an exception.
    """
    return read_folder(root / RECORDS, labels)


def read_folder(home: Path, labels: tuple[str, ...] = ()) -> dict[str, tuple[Stored, ...]]:
    """``read_records`` of a folder of records that lies elsewhere or has another name."""
    try:
        names = sorted(entry.name for entry in os.scandir(home) if entry.is_dir(follow_symlinks=False))
    except OSError:
        return {}
    wanted = [name for name in names if LABEL.fullmatch(name) and (not labels or name in labels)]
    found = {label: _of_label(home / label, label) for label in wanted}
    return {label: stored for label, stored in found.items() if stored}


def numbers(folder: Path) -> dict[int, set[str]]:
    """Every number that is taken in a label's folder, and the kinds of its files ("json", "output")."""
    parts: dict[int, set[str]] = {}
    for entry in os.scandir(folder):
        match = _NAME.fullmatch(entry.name)
        if match:
            parts.setdefault(int(match[1]), set()).add(match[2])
    return parts


def _of_label(folder: Path, label: str) -> tuple[Stored, ...]:
    try:
        parts = numbers(folder)
    except OSError as problem:
        text = f"the records cannot be listed: {problem.strerror}"
        return (Stored(label, 0, None, (("UNREADABLE", text),)),)
    stored: list[Stored] = []
    for number, kinds in sorted(parts.items()):
        if stored and stored[-1].number < number - 1:
            stored.append(_missing(label, number - 1, "later records are there"))
        if "json" in kinds:
            stored.append(_stored(folder, label, number))
        else:
            stored.append(_missing(label, number, "only its output is there"))
    return tuple(stored)


def _missing(label: str, number: int, left: str) -> Stored:
    return Stored(label, number, None, (("MISSING", f"the record is not there, {left}"),))


def _stored(folder: Path, label: str, number: int) -> Stored:
    defects: list[tuple[str, str]] = []
    record = None
    try:
        data = _plain_file(folder / f"{number:04}.json", LIMITS.report)
        document = decode(data)
        if not isinstance(document, dict):
            raise JSONError("it is no object")
        record = convert(document, GateRecord)
        if document.get("digest") != seal(document) or as_written(document) != data:
            defects.append(("EDITED", "the record was changed after it was written"))
        if (record.label, record.number) != (label, number):
            defects.append(("EDITED", f"the record is of {record.label!r} {record.number} and was put here"))
        if record.schema != SCHEMA:
            defects.append(("UNREADABLE", f"the record is of another format: {record.schema[:60]!r}"))
    except (OSError, JSONError) as problem:
        return Stored(label, number, None, (("UNREADABLE", f"the record is unreadable: {problem}"),))
    if record.output is not None:
        defects += _check_output(folder / f"{number:04}.output", record.output)
    return Stored(label, number, record, tuple(defects))


def _plain_file(path: Path, limit: int) -> bytes:
    with open_plain(path) as handle:
        data = handle.read(limit + 1)
    if len(data) > limit:
        raise JSONError("it is too large")
    return data


def open_plain(path: Path) -> BinaryIO:
    """A plain file, opened; OSError for a link or a pipe that was put in its place."""
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(f"{path.name} is no plain file")
    return os.fdopen(fd, "rb")


def _check_output(path: Path, told: Output) -> list[tuple[str, str]]:
    digest, size = hashlib.sha256(), 0
    try:
        with open_plain(path) as handle:
            while block := handle.read(1 << 20):
                digest.update(block)
                size += len(block)
    except FileNotFoundError:
        return [("MISSING", "the raw output is not there")]
    except OSError as problem:
        return [("UNREADABLE", f"the raw output cannot be read: {problem.strerror or problem}")]
    if (size, digest.hexdigest()) != (told.bytes, told.sha256):
        return [("EDITED", "the raw output was changed after it was recorded")]
    return []
