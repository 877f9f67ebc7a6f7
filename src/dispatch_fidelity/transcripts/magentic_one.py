"""Logs of Magentic-One and of group chats of AutoGen 0.2, as AgentRx and Who&When publish them: words, no calls.

- **Where.** Benchmarks only: a list of ``{content, role}`` (Magentic-One), or an object with ``history`` beside the
  question and the labels, which are not read. In group chats ``name`` says who speaks, and ``role`` means nothing.
- **The Orchestrator** hands work on: ``Orchestrator (-> WebSurfer)`` is a call of the tool ``WebSurfer``, ended by
  that member's next message, by default without failure. Its thoughts are no report. The words after ``FINAL ANSWER:``,
  which the harness asks for at the end, are its report; what was printed on the console meanwhile is left out.
- **Members** with words of their own (``Assistant``, ``Coder``, experts) are runs, with ``Orchestrator`` as parent
  where there is one. Surfers only describe pages: what they did is in no log, and the record of their parent says so.
- **Code**: a message of the terminal that begins with ``exitcode:`` (or "The script ran, then exited with ...") is the
  end of a call of that terminal by whoever wrote the last code blocks; failed by its exit code. Several blocks ran as
  one call. Other messages of a terminal (there was no code) are no calls.
- **The first message** of a group chat is a prompt that its manager wrote, though the first speaker's name is on it;
  code in it is run all the same. ``TERMINATE`` alone is no report.
- **Never closed**: calls of other kinds than code are not shown. Failure labels (``failures``) are a side file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..model.call import Learned, Status, Unknown
from ..model.run import DamageKind, ImportedRun
from .building import Call, RunBuilder
from .entries import shared_damage, teamed
from .harness import is_sound, items, members, run_name, runs_in, words
from .registry import opening

NAME = "magentic-one"

WORDS_ONLY = "this is a log of words: calls of other kinds than code are not shown in it"

_LEADER = "Orchestrator"
_ROLE = re.compile(r"Orchestrator(?: \((?P<kind>thought|termination condition|-> (?P<to>[^)\n]{1,100}))\))?")
_PEOPLE = frozenset({"human", "user"})
_TERMINALS = frozenset({"computerterminal", "executor"})
_PROMPT = "You are given: (1) a task and advises from your manager"
_EXIT = re.compile(
    r"\s{0,20}(?:exitcode: (?P<new>-?\d{1,9})\b[^\n]{0,80}|"
    r"The script ran, then exited with (?:an error )?\(?(?:Unix|POSIX) exit code: (?P<old>-?\d{1,9})\)?)"
    r"(?:\n(?:Code output|Its output was):[ \n]?|\Z|\n)"
)
_FENCE = re.compile(r"^```[^\n`]*\n(.*?)^```", re.DOTALL | re.MULTILINE)
_FINAL = re.compile(r"^FINAL ANSWER:(.*?)(?=^SCENARIO\.PY COMPLETE|\Z)", re.DOTALL | re.MULTILINE)
_CONSOLE = re.compile(
    r"^(?:Error processing publish message$|FINAL ANSWER:|SCENARIO\.PY COMPLETE|"
    r"/[^\n]{1,300}\.py:\d{1,6}: \w{1,40}Warning:)",
    re.MULTILINE,
)
_STOP_WORD = "TERMINATE"
_BESIDE = frozenset(
    {"question", "question_ID", "ground_truth", "mistake_agent", "is_correct", "is_corrected"}
)


def recognise(head: bytes) -> float:
    """How sure it is: the roles of Magentic-One, or a history beside what Who&When says of it."""
    return max(map(_confidence, opening(head)[:20]), default=0.0)


def _confidence(value: Any) -> float:
    if _history(value) is None:
        return 0.0
    return 0.9 if isinstance(value, dict) or any(map(_leads, items(value)[:20])) else 0.0


def _leads(message: Any) -> bool:
    return bool(_ROLE.fullmatch(words(members(message).get("role")))) and "content" in message


def _history(value: Any) -> list[Any] | None:
    """The messages in a value; None where it is of another format."""
    if isinstance(value, dict):
        found = value.get("history")
        if not isinstance(found, list) or not value.keys() & _BESIDE:
            return None
        return found if any({"content", "role"} <= members(each).keys() for each in found) else None
    return value if isinstance(value, list) and any(map(_leads, value)) else None


def side(head: bytes) -> str:
    """What the labels of Magentic-One runs are; empty for any other file."""
    labels = [members(each) for value in opening(head)[:1] for each in items(value)[:5]]
    named = [each for each in labels if "failures" in each and isinstance(each.get("trajectory_id"), str)]
    return "labels of Magentic-One runs (which steps failed, and why)" if named else ""


def read(path: Path) -> Iterator[ImportedRun]:
    """Every speaker with words of its own as a run."""
    return runs_in(path, NAME, lambda value, line: _runs(value, line, path))


def _runs(value: Any, line: int, path: Path) -> Iterator[ImportedRun]:
    history = _history(value)
    if history is None:
        return
    log = _Log(path, line)
    question = members(value).get("question")
    if question is not None and not isinstance(question, str):
        log.common.unreadable("the question is no text")
    log.wanted = words(question)
    for index, message in enumerate(history):
        log.take(index, message)
    yield from log.runs()


@dataclass(slots=True)
class _Log:
    """Reads the messages of one log; ``common`` takes what is damaged or missing for all that speak in it."""

    path: Path
    line: int
    wanted: str = ""
    common: RunBuilder = field(init=False)
    builders: dict[str, RunBuilder] = field(default_factory=dict)
    asked: dict[str, list[Call]] = field(default_factory=dict)
    code: tuple[str, str] | None = None
    ended: bool = False

    def __post_init__(self) -> None:
        self.common = RunBuilder(NAME, self.path, line=self.line)

    def take(self, index: int, message: Any) -> None:
        """The next message."""
        if not isinstance(message, dict) or not is_sound(message):
            self.common.unreadable(f"message {index} cannot be read")
            return
        role, name, text = message.get("role"), message.get("name"), message.get("content")
        if not isinstance(role, str) or not isinstance(text, str) or not isinstance(name, (str, type(None))):
            self.common.unreadable(f"message {index} has no role, no name or no content that is text")
            return
        leader = _ROLE.fullmatch(role)
        if leader and name is None:
            self._lead(index, leader, text)
        elif name is None and role in _PEOPLE:
            self._wanted(text)
        elif _is_terminal(name or role):
            self._ran(index, name or role, text)
        elif index == 0 and text.startswith(_PROMPT):
            if not self.wanted:
                self._wanted(text)
            self._wrote(name or role, text)
        else:
            self._spoke(name or role, text)

    def _builder(self, name: str) -> RunBuilder:
        if name not in self.builders:
            run_id = run_name(name) or f"agent-{len(self.builders)}"
            parent = _LEADER if _LEADER in self.builders else ""
            builder = RunBuilder(
                NAME, self.path, run_id=run_id, agent=name or "agent", parent=parent, line=self.line
            )
            self.builders[name] = builder
        self.builders[name].asked(self.wanted)
        return self.builders[name]

    def _wanted(self, text: str) -> None:
        self.wanted = text

    def _lead(self, index: int, role: re.Match[str], text: str) -> None:
        builder = self._builder(_LEADER)
        self._final(text)
        to = role.group("to")
        if to:
            call = builder.begin(to, {"instruction": text}, step=index)
            self.asked.setdefault(to, []).append(call)
            if not _is_surfer(to) and not _is_terminal(to) and to not in self.builders:
                self._builder(to)
            if not _is_terminal(to):
                builder.delegated(call, to)
        elif role.group("kind") is None and not _FINAL.search(text):
            builder.said(text)

    def _final(self, text: str) -> None:
        found = _FINAL.search(text)
        if found:
            self.ended = True
            self._builder(_LEADER if _LEADER in self.builders else "team").said(found.group(1).strip())

    def _answered(self, name: str, text: str) -> None:
        """A member's message ends what the leader last asked of it."""
        waiting = self.asked.get(name)
        if waiting:
            self._builder(_LEADER).end(waiting.pop(), text, status=Status.RETURNED)

    def _spoke(self, name: str, text: str) -> None:
        self._final(text)
        if console := _CONSOLE.search(text):
            text = text[: console.start()].rstrip()
        self._answered(name, text)
        if _is_surfer(name):
            return
        self.ended = self.ended or text.rstrip().endswith(_STOP_WORD)
        if text.strip() != _STOP_WORD:
            self._builder(name).said(text)
        self._wrote(name, text)

    def _wrote(self, name: str, text: str) -> None:
        blocks = _FENCE.findall(text)
        if blocks:
            self.code = name, "\n".join(blocks)

    def _ran(self, index: int, name: str, text: str) -> None:
        self._final(text)
        self._answered(name, text)
        found = _EXIT.match(text)
        if found is None:
            return
        owner, written = self.code or ("", "")
        args: Any = {"code": written} if self.code else Unknown("not captured")
        builder = self._builder(owner) if self.code else self.common
        if not self.code:
            self.common.lacks("code was run that is not in the log")
            if not self.builders:
                return
            builder = next(reversed(self.builders.values()))
        call = builder.begin(name, args, step=index)
        exit_code = int(found.group("new") or found.group("old"))
        output = text[found.end() :]
        if console := _CONSOLE.search(output):
            output = output[: console.start()]
        status = Status.RAISED if exit_code else Status.RETURNED
        message = output if exit_code else ""
        error = f"exit code {exit_code}" if exit_code else ""
        builder.end(call, output, status=status, learned=Learned.EXIT_CODE, message=message, error=error)

    def runs(self) -> Iterator[ImportedRun]:
        """The runs of all that spoke."""
        if not self.builders:
            self.common.defect(DamageKind.EMPTY, "no agent speaks in this log")
        found = []
        for builder in self.builders.values() or [self.common]:
            if builder is not self.common:
                builder.damage += shared_damage(self.common.damage)
            for text in (*self.common.missing, WORDS_ONLY):
                builder.lacks(text)
            found.append(builder.finish(closed=self.ended))
        # Below a leader, its members are joined to it by what it handed on.
        yield from found if _LEADER in self.builders or len(found) == 1 else teamed(found)


def _is_terminal(name: str) -> bool:
    return name.replace("_", "").lower() in _TERMINALS


def _is_surfer(name: str) -> bool:
    return name.lower().endswith("surfer")
