"""Logs of inspect_ai: ``logs/<time>_<task>_<id>.eval``, a ZIP file with one JSON file a sample, or ``.json``.

New ``.eval`` files are packed with Zstandard, which needs the extra ``inspect`` before Python 3.14. Each sample is a
run, named by its id and epoch; samples are read one at a time. What is read, and how:

- **Calls** are ``tool_calls`` of the agent's messages and the tool events; an event tells when a call began and ended
  and what was executed, a message what the model was shown (``shown``). A call that compaction took out of the messages
  stands in the events alone. Messages of the dataset (``source: input``) were not made in the run and are no calls.
  Tools that the model's provider runs are parts of a message (``tool_use``).
- **Failure** is the flag ``error`` of result and event: ``parsing`` never ran, ``approval`` was refused, ``cancelled``
  was cancelled, all others failed. An event that is ``pending`` has no end. ``truncated`` results are cut.
- **Attachments**: texts over 100 characters stand in ``attachments`` and are put back.
- **Report** is the output of the sample (``output.choices[0]``), else the last words of the agent; **task** is the
  last message of the dataset before it, not those that a solver adds.
- **Sub-agents** work inside the span of a tool: each such span is a run of its own, to which the call has delegated.
  Scorers are no agents.
- **Closed** is a sample without ``error``, ``limit`` and invalidation; a sample is written when it has ended. A file
  that was cut has lost its directory, and perhaps samples: those that are whole are read and are partial.
- Samples in chunks (version 3 of the log, which inspect_ai itself reads only on request) are damaged runs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import InvalidInputError, JSONError
from ..jsonio import collector_paused, decode, decode_marking
from ..log.reader import open_input
from ..model.run import DamageKind, ImportedRun
from .archive import Archive, BrokenMemberError, read_archive, unpack
from .building import RunBuilder
from .harness import items, members, run_name
from .inspect_sample import Sample
from .registry import opening, values

NAME = "inspect-ai"

_FIRST = re.compile(
    rb"PK\x03\x04.{26}(?:_journal/|samples/[^/]{1,200}_epoch_\d|header\.json|summaries\.json)", re.DOTALL
)
_SAMPLE = re.compile(r"samples/[^/]+_epoch_\d+\.json")
_CHUNKED = re.compile(r"samples/[^/]+_epoch_\d+/sample\.json")
_EVAL = frozenset({"run_id", "eval_id", "created", "task_id", "dataset"})


def recognise(head: bytes) -> float:
    """How sure it is: the first member of a ZIP file, or the head of a log."""
    if head.startswith(b"PK"):
        return 0.95 if _FIRST.match(head) else 0.0
    log = members(next(iter(opening(head)), None))
    told = members(log.get("eval"))
    return 0.95 if "task" in told and len(_EVAL & told.keys()) >= 2 else 0.0


def read(path: Path) -> Iterator[ImportedRun]:
    """Every sample in the file as a run.

    Raises MissingInputError when the file cannot be opened, InvalidInputError when it holds no sample, and
    MissingExtraError when it is packed with Zstandard and no library for it is installed.
    """
    with open_input(path) as handle:
        is_archive = handle.read(2) == b"PK"
    names: set[str] = set()
    found = False
    for name, sample, reason in _archived(path) if is_archive else _listed(path):
        inner = members(sample)
        run_id = f"sample-{run_name(inner.get('id'), inner.get('epoch')) or run_name(name) or len(names)}"[
            :110
        ]
        run_id = run_id if run_id not in names else f"{run_id}.run-{len(names)}"
        names.add(run_id)
        builder = RunBuilder(NAME, path, run_id=run_id)
        if reason is not None:
            reason(builder)
        found = True
        yield from (
            Sample(builder, inner).runs() if isinstance(sample, dict) else (builder.finish(closed=False),)
        )
    if not found:
        raise InvalidInputError(
            f"{str(path)!r} holds no sample of an inspect_ai log (it may have log_samples off)"
        )


class _Source(NamedTuple):
    """A sample, its name in the file, and what is wrong with it, to be noted in its run."""

    name: str
    sample: Any
    reason: Callable[[RunBuilder], None] | None = None


def _unreadable(text: str) -> Callable[[RunBuilder], None]:
    return lambda builder: builder.unreadable(text)


def _listed(path: Path) -> Iterator[_Source]:
    """The samples of a log in one JSON document."""
    for value, _, damage, _ in values(path):
        log = members(value)
        if damage is not None or "eval" not in log:
            raise InvalidInputError(f"{str(path)!r} is no log of inspect_ai")
        samples = log.get("samples")
        if samples is not None and not isinstance(samples, list):
            yield _Source("", None, _unreadable("the samples of the log are no list"))
        for sample in items(samples):
            is_object = isinstance(sample, dict)
            yield _Source("", sample, None if is_object else _unreadable("a sample is no object"))


def _archived(path: Path) -> Iterator[_Source]:
    """The samples of a ZIP file, in the order in which they were written."""
    with open_input(path) as handle:
        archive = read_archive(handle)
        for name, member in archive.members.items():
            if _CHUNKED.fullmatch(name):
                yield _Source(
                    name.split("/")[1], None, _unreadable("the sample is in chunks, which are not read")
                )
            if not _SAMPLE.fullmatch(name):
                continue
            try:
                sample, problem = _decoded(unpack(handle, member)), ""
            except (BrokenMemberError, JSONError) as error:
                sample, problem = None, str(error)
            if not problem and not isinstance(sample, dict):
                problem = "it is no object"
            reason = _unreadable(f"the sample cannot be read: {problem}") if problem else _torn(archive)
            yield _Source(name.removeprefix("samples/").removesuffix(".json"), sample, reason)


def _torn(archive: Archive) -> Callable[[RunBuilder], None] | None:
    def note(builder: RunBuilder) -> None:
        if archive.torn:
            builder.defect(
                DamageKind.TORN, "the file was cut: its directory, and perhaps samples, are missing"
            )
        if archive.replaced:
            builder.notes.append(
                f"{archive.replaced} members of the file were written again; the last ones are read"
            )

    return note if archive.torn or archive.replaced else None


def _decoded(data: bytes) -> Any:
    with collector_paused():
        try:
            return decode(data)
        except JSONError:
            return decode_marking(data, mark=True)
