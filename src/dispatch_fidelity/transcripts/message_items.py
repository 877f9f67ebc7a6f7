"""What the readers of messages, items and parts share: one conversation on its way into a run.

- Ids repeat: a result belongs to the latest open call of its id; calls that were made together and share an id get
  their results in order. An id that is used again while its call is open is damage.
- Words before a place that cannot be read are not known to be the last ones: they are no report.
- A call without a result is unknown once the conversation went on, and unfinished at its end.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from ..jsonio import Defect, holds_defect
from ..log.surface import failure_by_surface
from ..model.call import Learned, Status, Unknown
from ..model.run import DamageKind, ImportedRun
from .building import Call, RunBuilder, result_of, text_of
from .registry import Place, Value

# How harnesses begin a result that tells of a failure, where no flag does.
FAILED = re.compile(
    r"\s{0,20}(?:(?P<name>[A-Za-z_][\w.]{0,80}(?:Error|Exception)):|Error:|error:|ERROR:"
    r"|Traceback \(most recent call last\):|Error (?:executing|calling|running|invoking)\b"
    r"|An error occurred while (?:running the tool|parsing tool arguments)\b)"
)


@dataclass(slots=True)
class Exchange:
    """One conversation on its way into a RunBuilder, entry by entry.

    ``step`` counts what was made together. ``begun``: the first entry is a request, so nothing before it is missing;
    ``ended``: the agent's last deed is text without calls after it. ``place`` is where the entry stands in the file.
    """

    builder: RunBuilder
    step: int = 0
    begun: bool = False
    ended: bool = False
    note: str = ""
    place: Place | None = None
    _started: bool = False
    _turn: int = -1
    _torn: bool = False
    _words: list[str] = field(default_factory=list)
    _open: dict[str, list[tuple[int, deque[Call]]]] = field(default_factory=dict)
    _orphans: int = 0

    # -- entries ---------------------------------------------------------------------------------------------

    def read(self, value: Value) -> None:
        """One entry, or a line that cannot be read."""
        entry, line, damage, self.place = value
        self.builder.line, self._torn = line, False
        if damage is not None:
            self.builder.damage.append(damage)
            self.builder.report = ""
        elif isinstance(entry, Defect):
            self.lost(f"an entry cannot be read: {entry.reason}")
        elif not isinstance(entry, dict):
            self.lost("an entry is no object")
        else:
            self.take(entry)

    def take(self, entry: dict[str, Any]) -> None:
        """One entry that is an object."""
        raise NotImplementedError

    def opens(self, *, request: bool) -> None:
        """The first entry was found; ``request`` says whether it is one."""
        if not self._started:
            self._started, self.begun = True, request

    def lost(self, text: str) -> None:
        """Something cannot be read that may have been the agent's last words, or a piece of them."""
        self._torn = True
        self.builder.unreadable(text)
        self.builder.report = ""
        self.ended = False

    # -- words -----------------------------------------------------------------------------------------------

    def asked(self, text: str) -> None:
        """The user's words."""
        self.flush()
        self.builder.asked(text)
        self._next()

    def word(self, text: Any, what: str = "a text of the agent") -> None:
        """A part of the agent's words; parts that no call stands between are one text."""
        if isinstance(text, str):
            self._words.append(text)
        else:
            self.lost(f"{what} is no text")

    def flush(self) -> None:
        """The agent's words end here, by a call or by the end of its message."""
        text = "".join(self._words)
        self._words.clear()
        if self._torn:
            self._torn = False
        elif text.strip():
            self.builder.said(text)
            self.ended = True
            self._next()

    def _next(self) -> None:
        """The conversation goes on after what was made together."""
        self.step += 1
        self._turn = self.step

    # -- calls -----------------------------------------------------------------------------------------------

    def begin(
        self, tool: Any, args: Any = None, source_id: Any = "", *, agent: Any = "", joins: bool = True
    ) -> Call | None:
        """The agent makes a call; with ``joins`` its result comes later, by its id."""
        self.flush()
        self.ended = False
        self._turn = self.step
        agent = agent if isinstance(agent, str) else ""
        call = self.builder.call(tool, args, source_id=source_id, step=self.step, agent=agent)
        if call is None or not joins:
            return call
        if not isinstance(source_id, str):
            self.builder.unreadable("a call has no id that is text")
            return call
        groups = self._open.setdefault(source_id, [])
        if groups:
            reason = f"the id {source_id[:80]!r} is used again while its call is open"
            self.builder.defect(DamageKind.LIFECYCLE, reason)
        if groups and groups[-1][0] == self.step:
            groups[-1][1].append(call)
        else:
            groups.append((self.step, deque((call,))))
        return call

    def ends(self, source_id: Any) -> Call | None:
        """A result is found: the call that it belongs to, which is open no longer; None, and noted, without one."""
        self.flush()
        self.ended = False
        if not isinstance(source_id, str):
            self.builder.unreadable("a result names no call")
            return None
        groups = self._open.get(source_id)
        if not groups:
            if self.begun:
                reason = f"a result is of no open call: {source_id[:80]!r}"
                self.builder.defect(DamageKind.LIFECYCLE, reason)
            else:
                self._orphans += 1
            return None
        call = groups[-1][1].popleft()
        if not groups[-1][1]:
            groups.pop()
        self.step += 1
        return call

    def result(
        self,
        call: Call,
        content: Any,
        *,
        flagged: bool = False,
        failed: bool = False,
        error: str = "",
        cut: bool = False,
    ) -> None:
        """The result of a call. ``flagged``: the source has a flag for failure; ``failed``: which is set.

        A structured result that says it failed is a failure. Without a flag, so is a text that begins as harnesses
        begin one.
        """
        if isinstance(content, Defect) or holds_defect(content):
            self.unknown(call, "a result cannot be read")
            return
        value = result_of(content)
        text = value if isinstance(value, str) else text_of(content)
        if failed:
            self.builder.end(
                call,
                value,
                status=Status.RAISED,
                learned=Learned.FLAG,
                error=error or failure_by_surface(text),
                message=text,
                cut=cut,
                place=self.place,
            )
            return
        self.builder.end(call, value, cut=cut, place=self.place)
        if call.status is not Status.RETURNED:
            return
        if flagged:
            call.learned = Learned.FLAG
        elif told := FAILED.match(text):
            call.status, call.learned, call.message = Status.RAISED, Learned.TEXT_PATTERN, text
            call.error = told.groupdict().get("name") or failure_by_surface(text)

    def unknown(self, call: Call, why: str = "") -> None:
        """The end of a call whose result cannot be read (then ``why`` is damage): neither success nor failure."""
        if why:
            self.builder.unreadable(why)
        self.builder.end(call, Unknown("unreadable"), status=Status.UNKNOWN)

    def uncaptured(self, call: Call, setting: str, *, status: Status = Status.RETURNED) -> None:
        """The end of a call whose result the source does not hold; ``setting`` says what would make it hold it."""
        self.builder.end(call, Unknown("not captured"), status=status, learned=Learned.FLAG)
        if setting not in self.builder.notes:
            self.builder.notes.append(setting)

    def object_of(self, entry: dict[str, Any], name: str) -> Any:
        """Arguments that are an object in the format; unknown, and damage, where they are not."""
        given = entry.get(name)
        if isinstance(given, dict):
            return given
        self.builder.unreadable(f"the {name} of a call is no object")
        return Unknown("unreadable")

    # -- the end -----------------------------------------------------------------------------------------------

    def finish(self) -> ImportedRun:
        """The run."""
        self.flush()
        gone = [
            call
            for call in self.builder.open_calls()
            if call.status is Status.UNFINISHED and call.step < self._turn
        ]
        for call in gone:
            call.status = Status.UNKNOWN
        if gone:
            self.builder.lacks(f"{len(gone)} calls have no result, and the conversation went on")
        if self._orphans:
            self.builder.lacks(f"{self._orphans} results are of calls that are not in the file")
        if not self.begun:
            self.builder.lacks("the conversation does not begin with a request")
        if self.note:
            self.builder.notes.insert(0, self.note)
        return self.builder.finish(closed=self.ended)


def words_of(content: Any, kinds: Iterable[str] = ("text", "input_text", "output_text")) -> str | None:
    """The words of a user's content: a text or the texts of its parts; None where it is neither."""
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list) or not all(isinstance(part, (str, dict)) for part in content):
        return None
    wanted = tuple(kinds)
    for part in content:
        if isinstance(part, dict) and not isinstance(part.get("type"), str):
            return None
        if isinstance(part, dict) and part["type"] in wanted and not isinstance(part.get("text"), str):
            return None
    return text_of(content, wanted)


def listed(value: Any) -> list[Any]:
    """A list as it is, and an empty one for anything else."""
    return value if isinstance(value, list) else []


def named(value: Any, *names: str) -> str:
    """The first of the members that is text; empty where none is."""
    if not isinstance(value, dict):
        return ""
    return next((value[name] for name in names if isinstance(value.get(name), str)), "")


def surest(found: Iterable[Any], confidence: Callable[[Any], float]) -> float:
    """The highest confidence of the first hundred values."""
    return max((confidence(value) for _, value in zip(range(100), found, strict=False)), default=0.0)
