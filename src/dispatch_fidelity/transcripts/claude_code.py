"""Sessions of Claude Code: ``~/.claude/projects/<folder with - for />/<session>.jsonl``, one event a line.

- **Agents.** Each is a run. A sub-agent's lines stand in ``agent-<id>.jsonl`` beside the session, since 2.1 in
  ``<session>/subagents/``, those of a workflow in ``<session>/subagents/workflows/<run>/``; in the oldest files
  inside the session's own, as a side chain that is told apart by its ``parentUuid`` and takes the ``uuid`` of its
  first line as its id. The parent's ``Task`` or ``Agent`` call names the agent, or has the side chain's prompt.
- **Lines** of other types than ``user`` and ``assistant`` are no words of a conversation; neither are ``isMeta`` lines,
  summaries of a compaction and messages of the model ``<synthetic>``. What a user typed into a running turn stands
  in an ``attachment``. See ``claude_blocks`` for calls, ends, and words.
- **Repeated lines**, which a resumed session may hold, are dropped by ``uuid``; the same ``uuid`` over another
  message is damage.
- **Forks.** Who goes back and asks again leaves a branch: the new request follows on a line before calls that were
  made already. The run is the path to the last request. Calls of the branch left did happen, but the agent knows of
  them no longer: they are a run of their own with the words said there, and neither run is closed.
- **Closed** is a run whose last line ends the turn (``end_turn``, or text without calls), with nothing asked or left
  open after it, no damage, and every line that another follows on in the file. A session that continues another
  file begins with such a line, and is partial.
- **Repeated keys** and other violations of strict JSON are damage. ``toolUseResult`` is read where it says more than
  the result (launches, interruptions, sub-agents); else only its syntax is checked.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from operator import itemgetter
from pathlib import Path
from typing import IO, Any

from ..errors import InvalidInputError, JSONError
from ..jsonio import LIMITS, UNSET, Defect, Marked, collector_paused, decode_lines, holds_defect
from ..log.reader import BOM, open_input
from ..model.run import Damage, DamageKind, ImportedRun
from .building import RunBuilder, text_of
from .claude_blocks import Conversation, Line, asks_something, is_result
from .registry import HEAD, opening

NAME = "claude-code"

_MAIN = "agent"
_MESSAGES = frozenset({"user", "assistant"})
_OTHERS = frozenset(
    {
        "summary",
        "system",
        "progress",
        "attachment",
        "file-history-snapshot",
        "queue-operation",
        "last-prompt",
        "permission-mode",
        "custom-title",
        "ai-title",
        "agent-name",
        "agent-color",
        "agent-setting",
        "attribution-snapshot",
        "content-replacement",
        "mode",
        "pr-link",
        "tag",
        "worktree-state",
    }
)
_SYNTHETIC = "<synthetic>"
_NAMES = ("type", "timestamp", "uuid", "parentUuid", "isSidechain")
_MEMBERS = itemgetter(*_NAMES)
_NOT_IN_A_RUN_ID = re.compile(r"[^A-Za-z0-9._-]+")
_NAME = re.compile(r"[\w.-]{1,200}")
_MOST_DAMAGE = 1000
_FEW = 1 << 16
_BLOCK = 1 << 16
_KEYS = (1 << 64) - 1
# A mark holds, of a line, how many calls the main conversation had made, whose it is, and a check of what it says.
_OWNER_BITS = _CHECK_BITS = 16
_OWNERS = (1 << _OWNER_BITS) - 1
_CHECK = (1 << _CHECK_BITS) - 1
_OWNED = _OWNERS << _CHECK_BITS
_POSITION = _OWNER_BITS + _CHECK_BITS


def recognise(head: bytes) -> float:
    """How sure it is that the file is of this format: its messages make it sure, its other lines likely."""
    lines = [value for value in opening(head)[:200] if isinstance(value, dict)]
    if any(_is_message(line) for line in lines):
        return 0.95
    return 0.7 if len(head) >= HEAD and any(_is_other(line) for line in lines) else 0.0


def side(head: bytes) -> str:
    """What a file of a session's folder is that holds no conversation; empty for any other."""
    lines = [value for value in opening(head)[:200] if isinstance(value, dict)]
    if not lines or recognise(head):
        return ""
    first = lines[0]
    if "agentType" in first and len(lines) == 1 and isinstance(first["agentType"], str):
        return "the metadata of a sub-agent of Claude Code"
    if first.get("type") in ("started", "result") and "agentId" in first and "key" in first:
        return "the journal of a workflow of Claude Code"
    if "workflowProgress" in first and "runId" in first:
        return "the state of a workflow of Claude Code"
    return "a session file of Claude Code without a conversation" if all(map(_is_other, lines)) else ""


def _is_message(line: dict[str, Any]) -> bool:
    return (
        line.get("type") in ("user", "assistant")
        and "message" in line
        and ("sessionId" in line or "isSidechain" in line)
        and ("uuid" in line or "parentUuid" in line)
    )


def _is_other(line: dict[str, Any]) -> bool:
    kind = line.get("type")
    if not isinstance(kind, str) or kind not in _OTHERS or "message" in line:
        return False
    return any(name in line for name in ("sessionId", "leafUuid", "snapshot", "isSidechain"))


def companions(path: Path) -> Iterator[Path]:
    """The logs of a session's sub-agents: those in its folder, and those beside it that name the session."""
    yield from sorted((path.parent / path.stem / "subagents").rglob("agent-*.jsonl"))
    session, agent = _first_names(path)
    if session and not agent:
        beside = (other for other in sorted(path.parent.glob("agent-*.jsonl")) if other != path)
        yield from (other for other in beside if _first_names(other)[0] in (session, path.stem))


def _first_names(path: Path) -> tuple[str, str]:
    """The session and the agent that the first message of a file names."""
    try:
        with path.open("rb") as handle:
            head = handle.read(HEAD)
    except OSError:
        return "", ""
    for line in opening(head):
        if isinstance(line, dict) and _is_message(line):
            session, agent = line.get("sessionId"), line.get("agentId")
            return session if isinstance(session, str) else "", agent if isinstance(agent, str) else ""
    return "", ""


def read(path: Path) -> Iterator[ImportedRun]:
    """The runs of one file: the session's own, its side chains, and branches that were left.

    Raises MissingInputError when it cannot be opened, and InvalidInputError when it holds no message of this format or
    a line beyond the limit.
    """
    session = _Session(path)
    # The collector stays paused until the calls are gone: it would look at each of them.
    with open_input(path) as handle, collector_paused():
        session.read(handle)
        runs = [conversation.finish() for conversation in session.conversations()]
    yield from runs


def _blocks(handle: IO[bytes], path: Path) -> Iterator[tuple[bytes, bool]]:
    """The lines of a file, many at a time, without the last line feed of each block; and whether it had one."""
    pieces: list[bytes] = []
    size = 0
    while (piece := handle.read(_BLOCK)) and size <= LIMITS.line:
        end = piece.rfind(b"\n")
        if end < 0:
            pieces.append(piece)
            size += len(piece)
            continue
        yield b"".join([*pieces, piece[:end]]), True
        pieces = [piece[end + 1 :]]
        size = len(pieces[0])
    if size > LIMITS.line:
        raise InvalidInputError(f"{str(path)!r} holds more than {LIMITS.line} bytes in one line")
    if size:
        yield b"".join(pieces), False


class _Flat:
    """A mapping of texts, which it does not keep, to numbers from 0 to 2**64, in flat memory."""

    def __init__(self, pairs: Iterable[tuple[str, int]], size: int) -> None:
        self._fill(((hash(text) & _KEYS, value) for text, value in pairs), size)

    def get(self, text: str, default: int) -> int:
        """The value of a text, or ``default`` where it has none."""
        slot = self._slot(hash(text) & _KEYS)
        return self._values[slot] if self._keys[slot] else default

    def __setitem__(self, text: str, value: int) -> None:
        self._set(hash(text) & _KEYS, value)
        if 3 * self._count > 2 * len(self._keys):
            pairs = zip(self._keys, self._values, strict=True)
            self._fill((pair for pair in pairs if pair[0]), 2 * len(self._keys))

    def _fill(self, pairs: Iterable[tuple[int, int]], size: int) -> None:
        self._keys, self._values = array("Q", bytes(8 * size)), array("Q", bytes(8 * size))
        self._count = 0
        for key, value in pairs:
            self._set(key, value)

    def _set(self, key: int, value: int) -> None:
        slot = self._slot(key)
        self._count += not self._keys[slot]
        self._keys[slot], self._values[slot] = key or 1, value

    def _slot(self, key: int) -> int:
        keys, mask, key = self._keys, len(self._keys) - 1, key or 1
        slot = key & mask
        while keys[slot] and keys[slot] != key:
            slot = (slot + 1) & mask
        return slot


class _Agent:
    """A conversation in the file.

    ``last`` is the line of its last message, ``after`` how many calls the main one had made before a side chain began,
    ``mark`` how its lines are marked.
    """

    def __init__(self, path: Path, index: int, agent: str, line: Line) -> None:
        parent = _MAIN if index else ""
        self.conversation = Conversation(RunBuilder(NAME, path, agent=agent, parent=parent), line)
        self.index = index
        self.after = -1
        self.prompt = ""
        self.last: dict[str, Any] | None = None
        self.mark = min(index, _OWNERS) << _CHECK_BITS


class _Session:
    """Reads the lines of a file, each into the conversation that it belongs to."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._line = Line(self._place)
        self._main = _Agent(path, 0, _MAIN, self._line)
        self._agents = [self._main]
        self._by_id: dict[str, _Agent] = {}
        self._left: list[Conversation] = []
        self._marks: dict[str, int] | _Flat = {}
        self._missing: set[str] = set()
        self._damage: list[Damage] = []
        self._damaged = 0
        self._repeated = 0
        self._number = 0
        self._block = b""
        self._offset = 0
        self._first = 0
        self._starts: list[int] = []

    # -- lines -------------------------------------------------------------------------------------------------

    def read(self, handle: IO[bytes]) -> None:
        """Every line of the file."""
        for block, whole in _blocks(handle, self._path):
            if not self._number and block.startswith(BOM):
                block = block.removeprefix(BOM)
                self._offset = len(BOM)
            self._block, self._first, self._starts = block, self._number, []
            for found in decode_lines(block):
                self._number += 1
                if type(found) is dict:
                    self._take(found)
                elif found is not UNSET:
                    self._take_odd(found, whole=whole)
            self._offset += len(block) + 1
            if self._number > _FEW and isinstance(self._marks, dict):
                self._marks = _Flat(self._marks.items(), 4 * _FEW)

    def _place(self) -> tuple[int, int]:
        """Where the present line stands in the file: its offset and its length in bytes."""
        if not self._starts:
            ends = [found.start() for found in re.finditer(b"\n", self._block)]
            self._starts = [0, *(end + 1 for end in ends), len(self._block) + 1]
        index = self._number - self._first - 1
        start, end = self._starts[index], self._starts[index + 1] - 1
        return self._offset + start, end - start

    def _take_odd(self, found: Any, *, whole: bool) -> None:
        """A line that is no object, or violates strict JSON; where that is of no account, it is read as any other."""
        if isinstance(found, JSONError):
            kind = DamageKind.UNREADABLE if whole else DamageKind.TORN
            self._defect(f"this line cannot be read: {str(found)[:200]}", kind)
            return
        line = found.value if isinstance(found, Marked) else found
        if not isinstance(line, dict):
            self._defect(line.reason if isinstance(line, Defect) else "this line is no object")
            return
        if holds_defect(line.get("message")):
            self._defect("the message of this line violates strict JSON")
            self._line.strict = False
        self._take(line)
        self._line.strict = True

    def _take(self, line: dict[str, Any]) -> None:
        """One line; what cannot be read in it is damage of every run in the file."""
        marks, agent, before, message = self._marks, self._main, -1, line.get("message")
        try:
            kind, at, uuid, parent, is_side = _MEMBERS(line)
            check = hash(at) & _CHECK
        except (KeyError, TypeError):
            kind, at, uuid, parent, is_side = map(line.get, _NAMES)
            check = 0
        # 1. Is it a line that was read already?
        if type(uuid) is str:
            mark = marks.get(uuid, -1)
            if mark >= 0 and self._is_repeated(mark, check):
                return
            if self._missing:
                self._missing.discard(uuid)
        elif uuid is not None:
            self._defect("the uuid of this line is no text")
            uuid = None
        # 2. Which line does it follow on, and whose is it?
        if parent is None:
            parent = line.get("logicalParentUuid")
        if type(parent) is str:
            before = marks.get(parent, -1)
            if before < 0:
                self._missing.add(parent)
        elif parent is not None:
            self._defect("the parentUuid of this line is no text")
        if is_side is not False or (before > 0 and before & _OWNED):
            agent = self._agent(line, before)
        # 3. What does it say?
        if type(message) is not dict or (kind != "assistant" and kind != "user"):
            self._other(agent, line, kind, message, at)
        else:
            conversation = agent.conversation
            conversation.builder.line = self._number
            role = message.get("role")
            if role != kind and role is not None:
                self._defect("the role of this message is not the type of its line")
            if kind == "user":
                self._user(agent, line, message, at, before)
            elif message.get("model") == _SYNTHETIC:
                conversation.ended = conversation.ended and not line.get("isApiErrorMessage")
            elif conversation.assistant(message, at) and agent is self._main:
                agent.mark = conversation.builder.begun << _POSITION
            agent.last = line
        if uuid is not None:
            marks[uuid] = agent.mark | check

    def _is_repeated(self, mark: int, check: int) -> bool:
        """Whether a line with a uuid that was read before is the same line."""
        if mark & _CHECK != check:
            self._defect("this line has the uuid of another one")
            return False
        self._repeated += 1
        return True

    def _other(self, agent: _Agent, line: dict[str, Any], kind: Any, message: Any, at: Any) -> None:
        """A line that is no message of a conversation."""
        if kind == "assistant" or kind == "user":
            self._defect("the message of this line is no object")
        elif not isinstance(kind, str):
            self._defect("this line has no type")
        elif message is not None and kind not in _OTHERS:
            self._defect(f"this line holds a message, and is of an unknown type: {kind[:80]!r}")
        elif kind == "attachment":
            self._attachment(agent, line.get("attachment"), at)

    def _defect(self, text: str, kind: DamageKind = DamageKind.UNREADABLE) -> None:
        self._damaged += 1
        if self._damaged <= _MOST_DAMAGE:
            self._damage.append(Damage(kind, text, line=self._number))

    def _agent(self, line: dict[str, Any], before: int) -> _Agent:
        """The conversation of a line: by its agent's id, else by the line that it follows on."""
        is_side, agent_id, owner = line.get("isSidechain"), line.get("agentId"), None
        is_message = isinstance(line.get("message"), dict)
        if before >= 0 and len(self._agents) <= _OWNERS:
            owner = self._agents[before >> _CHECK_BITS & _OWNERS]
        if is_side is not True:
            if is_side is not False and "isSidechain" in line:
                self._defect("isSidechain is neither true nor false")
            agent = self._main if is_message or owner is None else owner
        elif isinstance(agent_id, str) and agent_id:
            agent = self._by_id.get(agent_id) or self._new(agent_id)
            self._by_id[agent_id] = agent
        elif agent_id is not None:
            self._defect("the agentId of this line is no text")
            agent = owner or self._main
        elif owner is not None and owner is not self._main:
            agent = owner
        elif not is_message:
            agent = self._main
        elif before < 0 and line.get("parentUuid") is not None and len(self._agents) > 1:
            agent = self._agents[-1]
        else:
            uuid = line.get("uuid")
            agent = self._new(uuid if isinstance(uuid, str) and uuid else f"side-{len(self._agents)}")
            agent.after = before >> _POSITION if before >= 0 else -1
            if line.get("type") != "user":
                agent.conversation.builder.lacks("the side chain does not begin with a request")
        if is_message and owner is not None and owner is not agent:
            agent.conversation.builder.lacks(
                "it follows on a line of another agent, so lines of its own may be missing"
            )
        return agent

    def _new(self, name: str) -> _Agent:
        agent = _Agent(self._path, len(self._agents), name, self._line)
        self._agents.append(agent)
        return agent

    def _user(
        self, agent: _Agent, line: dict[str, Any], message: dict[str, Any], at: Any, before: int
    ) -> None:
        conversation, content, extra = agent.conversation, message.get("content"), line.get("toolUseResult")
        # Most are one result.
        if type(content) is list and len(content) == 1 and is_result(content[0]):
            conversation.result(content[0], at, extra)
            return
        asks = not (line.get("isMeta") or line.get("isCompactSummary"))
        if agent.last is None and line.get("isCompactSummary"):
            conversation.builder.lacks("what came before its first compaction is not in the file")
        position = before >> _POSITION
        if (
            asks
            and agent is self._main
            and not before & _OWNED
            and 0 <= position < conversation.builder.begun
        ):
            self._fork(position, message)
        request = conversation.user(message, at, extra, asks)
        if agent.last is None:
            agent.prompt = request

    def _attachment(self, agent: _Agent, attachment: Any, at: str) -> None:
        kind = attachment.get("type") if isinstance(attachment, dict) else None
        if kind == "queued_command":
            agent.conversation.words(text_of(attachment.get("prompt")), at)
        elif kind == "deferred_tools_delta" and isinstance(attachment.get("addedNames"), list):
            names = [name for name in attachment["addedNames"] if isinstance(name, str)]
            agent.conversation.builder.tools += names

    def _fork(self, position: int, message: dict[str, Any]) -> None:
        """The user may have gone back to a point with this many calls before it, and asked again."""
        if not asks_something(message):
            return
        main = self._main.conversation
        calls = main.builder.calls
        first = bisect_left(calls, position, key=lambda call: call.number)
        # Calls of one message are on one path, though each follows on the line of the one before it.
        while 0 < first < len(calls) and calls[first].step == calls[first - 1].step:
            first += 1
        if first >= len(calls):
            return
        self._left.append(main.split(calls[first].number))

    # -- runs --------------------------------------------------------------------------------------------------

    def conversations(self) -> Iterator[Conversation]:
        """Every conversation in the file, the session's own first.

        Raises InvalidInputError when there is none.
        """
        agents = [agent for agent in self._agents if agent.last is not None]
        if not agents:
            raise InvalidInputError(f"{str(self._path)!r} holds no message of a session of {NAME}")
        self._marks = {}  # no longer needed, and large where there are very many lines
        for conversation in [*(agent.conversation for agent in agents), *self._left]:
            self._pair(conversation)
        named = (agents[0].last or {}).get("sessionId")
        session = named.partition("#")[0][:60] if isinstance(named, str) else ""
        session = _NOT_IN_A_RUN_ID.sub("-", session).lstrip("._-") or "run-0"
        for agent in agents:
            name = _NOT_IN_A_RUN_ID.sub("-", agent.conversation.builder.agent[:60])
            agent.conversation.builder.run_id = f"{session}.{name}" if agent.index else session
            yield self._finished(agent.conversation)
        for index, conversation in enumerate(self._left, 1):
            conversation.builder.run_id = f"{session}.branch-{index}"
            yield self._finished(conversation)

    def _finished(self, conversation: Conversation) -> Conversation:
        """A conversation with what is wrong with its file."""
        builder = conversation.builder
        builder.damage += self._damage
        if self._damaged > len(self._damage):
            builder.lacks(f"{self._damaged - len(self._damage)} more lines are damaged")
        if self._missing:
            builder.lacks(f"{len(self._missing)} lines that others follow on are not in the file")
        if self._repeated:
            builder.notes.append(f"{self._repeated} lines repeat earlier ones, and were read once")
        return conversation

    def _pair(self, conversation: Conversation) -> None:
        """Name the helpers that the source does not: side chains by their prompt, a workflow's by their files."""
        builder = conversation.builder
        for handed in list(conversation.handed.values()):
            if handed.workflow:
                folder = self._path.parent / self._path.stem / "subagents" / "workflows"
                logs = (
                    sorted(folder.glob(f"{handed.workflow}/agent-*.jsonl"))
                    if _NAME.fullmatch(handed.workflow)
                    else []
                )
                for log in logs:
                    builder.delegated(handed.call, log.stem.removeprefix("agent-"))
                if logs:
                    del conversation.handed[handed.call.number]
                else:
                    handed.agent = handed.workflow
        nameless = [
            handed for handed in conversation.handed.values() if not handed.agent and not handed.workflow
        ]
        chains = [
            agent
            for agent in self._agents[1:]
            if agent.last is not None and agent.conversation is not conversation
        ]
        if not nameless or not chains:
            return
        by_prompt: dict[str, list[_Agent]] = {}
        by_call = {agent.after - 1: agent for agent in chains if agent.after > 0}
        for agent in reversed(chains):
            by_prompt.setdefault(agent.prompt, []).append(agent)
        for handed in nameless:
            prompt = handed.call.args.get("prompt") if isinstance(handed.call.args, dict) else None
            waiting = by_prompt.get(prompt) if isinstance(prompt, str) and prompt else None
            found = waiting.pop() if waiting else by_call.get(handed.call.number)
            if found is not None:
                handed.agent = found.conversation.builder.agent
