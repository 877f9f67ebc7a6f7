"""Messages of Claude Code as a run: what its session files, its output stream and its hooks have in common.

- **Parallel calls** are those of one message id; a message is written as several lines, mostly a block each.
- **Ends.** ``is_error`` is the flag; absent means not failed. What never ran is told by the product's own sentences
  (``_REFUSED``, ``_INVALID``, ``_CANCELLED``; learned: text pattern), and only of a result that is flagged.
- **Background.** A launch (``backgroundTaskId``, ``async_launched``) leaves a call in the background; a later
  ``<task-notification>`` or a look at the task says how it ended. A stopped task stays in the background: who stops a
  server that he started has not failed.
- **Sub-agents.** The result of a ``Task`` or ``Agent`` call names the agent, its report and how many calls it made.
- **Words.** The last text block is the report, the user's last request before it the task. Commands, notifications,
  reminders and other text that the product puts into the user's mouth are no requests.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from ..jsonio import encode_lenient, too_deep
from ..model.call import Learned, Status, Unknown
from ..model.run import DamageKind, ImportedRun
from .building import Call, RunBuilder, text_of

AGENT_TOOLS = frozenset({"Task", "Agent"})
_CALLS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
_SILENT = frozenset(
    {
        "thinking",
        "redacted_thinking",
        "image",
        "document",
        "tool_reference",
        "search_result",
        "container_upload",
        "fallback",
        "compaction",
    }
)
_ENDED = frozenset({"end_turn", "stop_sequence"})
_LAUNCHED = frozenset({"async_launched", "remote_launched", "teammate_spawned"})
_LOOKS = frozenset({"TaskOutput", "BashOutput", "AgentOutput", "AgentOutputTool", "BashOutputTool"})
_LOOK_IDS = ("task_id", "bash_id", "shell_id", "agentId")

# What a flagged result says in its first line when the call did not run; an "Error: " before it is left out.
_REFUSED = (
    "The user doesn't want to proceed with this tool use",
    "Permission for this tool use ",
    "Permission for this action ",
    "Claude requested permissions to ",
    "This command requires approval",
    "This Bash command contains multiple operations",
    "Execution stopped by PreToolUse hook",
    "The agent proposed a plan that was rejected by the user",
    "User rejected tool use",
)
_REFUSED_WITHIN = (
    " was blocked. For security, Claude Code may only ",
    " was blocked by a deny rule",
    " require explicit approval",
    " requires explicit approval",
)
_REFUSED_BY_RULE = re.compile(r"Permission to .+ (?:has been|was) denied|PreToolUse:.{0,200} hook ")
_CANCELLED = (
    "The user doesn't want to take this action right now",
    "[Request interrupted by user",
    "<tool_use_error>Sibling tool call errored",
    "<tool_use_error>Cancelled: parallel tool call",
)
_INVALID = ("<tool_use_error>", "InputValidationError: ")
_EXIT = re.compile(r"Exit code (-?\d{1,10})\b")
_MISSING = "[Tool result missing due to internal error]"
_CLEARED = "[Old tool result content cleared]"
_CUT = re.compile(r"\[\d{1,12} (?:lines|characters) truncated\]|\(Results are truncated")
_MESSAGE = 4000
_BY_FLAG, _BY_DEFAULT = Learned.FLAG, Learned.DEFAULT
_CALL_MEMBERS = itemgetter("name", "input", "id")
# Results that need no second look: without these first characters, shorter than what the product cuts, with no such
# member in the richer result, and of no such tool.
_TELLING = frozenset("<[{CA") | {""}
_CUT_FROM = 8000
_SAYS_MORE = frozenset({"backgroundTaskId", "agentId", "isAsync"})
_WATCHED = AGENT_TOOLS | _LOOKS
# Tools that start nothing, and whose richer results may be whole files.
_PLAIN = frozenset(
    {"Read", "Edit", "MultiEdit", "Write", "NotebookEdit", "Glob", "Grep", "LS", "TodoWrite", "WebFetch"}
)
_SCALARS = frozenset({str, int, float, bool, type(None)})

_LAUNCH = re.compile(
    r"(?:Command running in background with ID: |Async agent launched successfully\.\s+agentId: )([\w-]{1,80})"
)
_LAUNCH_WORDS = ("Command running in background with ID: ", "Async agent launched successfully.")
_AGENT_LINE = re.compile(r"agentId: ([\w-]{1,80})")
_COUNT_LINE = re.compile(r"^tool_uses: (\d{1,9})$", re.MULTILINE)
_LOOKED = re.compile(
    r"(?:<retrieval_status>[^<]{0,80}</retrieval_status>\s*)?(?:<task_id>[^<]{0,80}</task_id>\s*)?"
    r"(?:<task_type>[^<]{0,80}</task_type>\s*)?<status>(?P<status>[^<]{0,80})</status>\s*"
    r"(?:<exit_code>(?P<code>-?\d{1,10})</exit_code>)?"
)
_SUMMARY_CODE = re.compile(r"(?:exit code|code) (-?\d{1,10})\)?\s*\Z")

_NOTIFICATION = "<task-notification>"
_INTERRUPTED = "[Request interrupted"
_TEAMMATE = re.compile(r"<teammate-message\b[^>]{0,1000}>(.*?)</teammate-message>", re.DOTALL)
_COMMAND = re.compile(r"<command-name>\s*([^<]{1,200}?)\s*</command-name>")
_COMMAND_ARGS = re.compile(r"<command-args>(.*?)</command-args>", re.DOTALL)
_NOT_THE_USERS = (
    "<local-command-",
    "<bash-",
    "<ide_",
    "<system-reminder>",
    "<user-memory-input>",
    "<user-prompt-submit-hook>",
    "<post-tool-use-hook>",
    "<new-diagnostics>",
    "<teammate-message",
    _NOTIFICATION,
    _INTERRUPTED,
    "Caveat: The messages below were generated by the user while running local commands.",
    "This session is being continued from a previous conversation that ran out of context.",
)


@dataclass(slots=True)
class Handed:
    """Work that a call handed to another agent, as far as the transcript says."""

    call: Call
    agent: str = ""
    report: str = ""
    calls: int = -1
    workflow: str = ""


@dataclass(slots=True)
class Line:
    """The line that is read: what tells where it stands in the file, and whether its message is strict JSON."""

    place: Callable[[], tuple[int, int]] | None = None
    strict: bool = True


class Conversation:
    """One agent's messages, taken in their order, and the run that they make.

    ``ended`` says that the agent's turn has ended and nothing was asked of it since; ``line`` is what the reader says
    of the line that a message stands in.
    """

    def __init__(self, builder: RunBuilder, line: Line | None = None) -> None:
        self.builder = builder
        self.line = line or Line()
        self.ended = False
        self.handed: dict[int, Handed] = {}
        self._tasks: dict[str, Call] = {}
        self._message: Any = None
        self._step = -1

    # -- the agent ---------------------------------------------------------------------------------------------

    def assistant(self, message: dict[str, Any], at: Any) -> bool:
        """What the agent says and calls in one message, or in one line of it; whether it calls anything."""
        builder = self.builder
        get = message.get
        content, stop, identity = get("content"), get("stop_reason"), get("id")
        if identity != self._message or not identity:
            self._message, self._step = identity, builder.begun
        spoke = called = False
        if type(content) is not list:
            content = [{"type": "text", "text": content}]
        for block in content:
            kind = block.get("type") if type(block) is dict else None
            if kind == "tool_use":
                self._call(block, at)
                called = True
            elif kind == "text":
                text = block.get("text")
                if type(text) is str:
                    spoke = builder.said(text) or spoke
                else:
                    builder.unreadable("a text of the agent is no text")
            elif kind == "thinking":
                continue
            elif type(kind) is not str:
                builder.unreadable("a block of a message of the agent has no type")
            elif kind in _CALLS:
                self._call(block, at)
                called = True
            elif kind.endswith("tool_result"):
                self.result(block, at)
            elif kind not in _SILENT:
                builder.unreadable(f"a block of the agent is of an unknown type: {kind[:80]!r}")
        if not (stop is None or isinstance(stop, str)):
            builder.unreadable("the stop reason of a message is no text")
        elif called:
            self.ended = False
        elif stop:
            self.ended = stop in _ENDED
        elif spoke:
            self.ended = True
        return called

    def _call(self, block: dict[str, Any], at: Any) -> None:
        builder = self.builder
        try:
            tool, given, source_id = _CALL_MEMBERS(block)
        except KeyError:
            tool, given, source_id = block.get("name"), block.get("input"), block.get("id")
        if type(given) is not dict or (not _is_flat(given) and too_deep(encode_lenient(given))):
            builder.unreadable("the input of a call is no object, or nested too deeply")
            given = Unknown("unreadable")
        if type(source_id) is not str or not source_id:
            builder.unreadable("a call has no id that is text")
        elif self.line.strict and type(tool) is str and tool and type(at) is str:
            builder.begin(tool, given, source_id, self._step, at)
            return
        builder.call(tool, given, source_id=source_id, step=self._step, at=at)

    # -- the user ----------------------------------------------------------------------------------------------

    def user(self, message: dict[str, Any], at: Any, extra: Any = None, asks: bool = True) -> str:
        """What the user's side says: results of calls, and words.

        ``extra`` is the richer result that stands beside the message; without ``asks`` the words are not the user's.
        Returns the user's request, if any.
        """
        content = message.get("content")
        if type(content) is str:
            return self.words(content, at, asks=asks)
        if type(content) is not list:
            self.builder.unreadable("the content of a message of the user is no text and no list of blocks")
            return ""
        texts = []
        single = sum(map(is_result, content)) == 1
        for block in content:
            kind = block.get("type") if type(block) is dict else None
            if kind == "tool_result":
                self.result(block, at, extra if single else None)
            elif kind == "text" and type(block.get("text")) is str:
                texts.append(block["text"])
            elif type(kind) is not str or kind == "text":
                self.builder.unreadable("a block of a message of the user has no type or no text")
        if not texts:
            return ""
        request = "\n".join(filter(None, [self.words(text, at, asks=asks) for text in texts]))
        self.builder.asked(request)
        return request

    def words(self, text: str, at: Any = "", *, asks: bool = True) -> str:
        """The user's request in a text; empty for what the product itself has written there."""
        if text.startswith(_NOTIFICATION):
            self._notified(text, at)
            return ""
        if text.startswith(_INTERRUPTED):
            self.ended = False
            return ""
        if not asks:
            return ""
        request = self._request(text)
        if request:
            self.builder.asked(request)
        return request

    def _request(self, text: str) -> str:
        if text.lstrip()[:100].startswith("<teammate-message"):
            self.ended = False
            # To a helper it is the task; to the agent whose helpers they are, it is their words.
            return (
                "\n".join(found.strip() for found in _TEAMMATE.findall(text)) if self.builder.parent else ""
            )
        request = _requested(text)
        # What a command sends to the agent, if anything, stands in a line of its own.
        if request and request is text:
            self.ended = False
        return request

    # -- results -----------------------------------------------------------------------------------------------

    def result(self, block: dict[str, Any], at: Any, extra: Any = None) -> None:
        """The result of a call; ``extra`` as in ``user``."""
        builder = self.builder
        self.ended = False
        get = block.get
        content, flag = get("content"), get("is_error")
        call = builder.open_call(get("tool_use_id"))
        if call is None:
            source_id = str(get("tool_use_id"))[:80]
            builder.defect(DamageKind.LIFECYCLE, f"a result is of no open call: {source_id!r}")
            return
        if (
            (flag is False or (flag is None and "is_error" not in block))
            and type(content) is str
            and content[:40].lstrip()[:1] not in _TELLING
            and len(content) < _CUT_FROM
            and type(extra) is not str
            and (extra is None or call.tool in _PLAIN or not _says_more(extra))
            and call.tool not in _WATCHED
            and type(at) is str
        ):
            builder.returned(call, content, _BY_DEFAULT if flag is None else _BY_FLAG, at, self.line.place)
            return
        value: Any
        if type(content) is str:
            value = text = content
        elif _are_parts(content):
            value, text = _parts(content)
        else:
            value, text = None, ""
        lost = flag is not True and type(extra) is str and _is_failure(extra)
        if value is None or lost or not (flag is False or flag is True or "is_error" not in block):
            builder.unreadable(
                "a result cannot be read: its content is no text, or its flag is lost or neither true nor false"
            )
            builder.end(call, Unknown("unreadable"), status=Status.UNKNOWN, until=at)
            return
        richer = self._richer(call, extra) if extra is not None else None
        status: Status | None = None
        learned, error, message = Learned.FLAG, "", ""
        if flag:
            status, learned, error = _failure(text)
            message = text[:_MESSAGE]
        elif (richer or text.startswith(_LAUNCH_WORDS)) and self._launched(call, richer or {}, text):
            status, learned = Status.BACKGROUND, Learned.FLAG if richer else Learned.TEXT_PATTERN
        elif richer and richer.get("interrupted") is True:
            status, message = Status.CANCELLED, text[:_MESSAGE]
        elif flag is False:
            status = Status.RETURNED
        else:
            learned = Learned.DEFAULT
        if status is Status.UNKNOWN or text == _CLEARED:
            value = Unknown("not captured", text)
        cut = text.startswith("<persisted-output>") or _is_cut(text)
        builder.end(
            call,
            value,
            status=status,
            learned=learned,
            error=error,
            message=message,
            cut=cut,
            until=at,
            place=self.line.place,
        )
        if richer or call.tool in AGENT_TOOLS:
            self._hand_over(call, richer or {}, content)
        elif call.tool in _LOOKS and not message:
            self._looked_at(call, text, at)

    def _richer(self, call: Call, extra: Any) -> dict[str, Any] | None:
        """The richer result where it says more than the content does; None for any other."""
        if call.tool in _PLAIN or (call.tool not in AGENT_TOOLS and not _says_more(extra)):
            return None
        return extra if type(extra) is dict else None

    def _launched(self, call: Call, richer: dict[str, Any], text: str) -> bool:
        """Whether a call only started something, which is noted by its id."""
        named = [richer.get(name) for name in ("backgroundTaskId", "agentId", "taskId")]
        ids = [name for name in named if isinstance(name, str) and name]
        status = richer.get("status")
        started = richer.get("backgroundTaskId") or richer.get("isAsync") is True
        if not started and not (isinstance(status, str) and status in _LAUNCHED):
            found = _LAUNCH.match(text)
            if not found:
                return False
            ids.append(found[1])
        for name in (*ids, call.source_id):
            self._tasks[name] = call
        return True

    # -- work in the background --------------------------------------------------------------------------------

    def _looked_at(self, look: Call, text: str, at: Any) -> None:
        """A call looked at a task in the background: how it stands."""
        args = look.args if isinstance(look.args, dict) else {}
        named = next((args[name] for name in _LOOK_IDS if isinstance(args.get(name), str)), "")
        found = _LOOKED.match(text)
        if found:
            self._task_ended(self._tasks.get(named), found["status"], found["code"], at)

    def _notified(self, text: str, at: Any) -> None:
        """The product tells the agent, in the user's place, how tasks in the background have ended."""
        self.ended = False
        for notification in text.split(_NOTIFICATION)[1:]:
            ids = (_tag(notification, "task-id"), _tag(notification, "tool-use-id"))
            call = next((self._tasks[name] for name in ids if name in self._tasks), None)
            code = _SUMMARY_CODE.search(_tag(notification, "summary"))
            result = _whole_tag(notification, "result")
            count = _COUNT_LINE.search(_tag(notification, "usage"))
            self._task_ended(call, _tag(notification, "status"), code[1] if code else None, at, result)
            handed = self.handed.get(call.number) if call is not None else None
            if handed is not None:
                handed.report = result or handed.report
                handed.calls = int(count[1]) if count else handed.calls

    def _task_ended(
        self, call: Call | None, status: str, code: str | None, at: Any, result: str = ""
    ) -> None:
        if call is None or call.status is not Status.BACKGROUND or status not in ("completed", "failed"):
            return
        failed = status == "failed" or (code is not None and int(code) != 0)
        self.builder.end(
            call,
            result or Unknown("not captured", "its output stands elsewhere"),
            status=Status.RAISED if failed else Status.RETURNED,
            learned=Learned.VALUE if code is None else Learned.EXIT_CODE,
            error=f"Exit code {code}" if failed and code is not None else "",
            message=(result or status) if failed else "",
            until=at,
        )

    # -- sub-agents --------------------------------------------------------------------------------------------

    def _hand_over(self, call: Call, richer: dict[str, Any], content: Any) -> None:
        """Note which agent did the work of a call, what it reported, and how many calls it made."""
        agent, run_id, count = richer.get("agentId"), richer.get("runId"), richer.get("totalToolUseCount")
        if call.tool not in AGENT_TOOLS and not isinstance(agent, str) and not isinstance(run_id, str):
            return
        if call.status in (Status.REFUSED, Status.INVALID):
            return
        parts = content if isinstance(content, list) else [content]
        last = text_of(parts[-1:])
        if not isinstance(agent, str):
            named = _AGENT_LINE.search(last) if "agentId: " in last else None
            agent = named[1] if named else ""
        if isinstance(count, bool) or not isinstance(count, int):
            told = _COUNT_LINE.search(last)
            count = int(told[1]) if told else -1
        report = ""
        if call.status is not Status.BACKGROUND:
            given = richer.get("content")
            own = [part for part in parts if not text_of([part]).startswith("agentId: ")]
            report = text_of(given if isinstance(given, list) else own)
        workflow = run_id if isinstance(run_id, str) and not agent else ""
        self.handed[call.number] = Handed(call, agent, report, count, workflow)

    # -- the run -----------------------------------------------------------------------------------------------

    def split(self, number: int) -> Conversation:
        """The calls from this number on and the words said last, as a conversation of their own that was left."""
        left = Conversation(self.builder.split(number), self.line)
        left.handed = {key: handed for key, handed in self.handed.items() if key >= number}
        self.handed = {key: handed for key, handed in self.handed.items() if key < number}
        left.builder.lacks("the user left this branch; the calls before it are in the run of the session")
        self.builder.lacks("the user went back: the calls of a branch that was left are a run of their own")
        return left

    def finish(self) -> ImportedRun:
        """The run; it is closed when the turn has ended and nothing is missing or damaged."""
        for handed in self.handed.values():
            name = handed.agent or handed.call.source_id or "unnamed"
            self.builder.delegated(handed.call, name, handed.report, handed.calls)
        return self.builder.finish(closed=self.ended)


def _is_flat(given: dict[str, Any]) -> bool:
    """Whether a value is nested no deeper than a list of flat objects, as nearly all are."""
    if _SCALARS.issuperset(map(type, given.values())):
        return True
    for value in given.values():
        for item in value if type(value) is list else (value,):
            if type(item) is dict and not _SCALARS.issuperset(map(type, item.values())):
                return False
            if type(item) is list:
                return False
    return True


def _is_cut(text: str) -> bool:
    """Whether the product has left out a part of a long result."""
    return len(text) >= _CUT_FROM and "truncated" in text and _CUT.search(text) is not None


def _says_more(extra: Any) -> bool:
    """Whether a richer result tells of a launch, an agent or an interruption."""
    return type(extra) is dict and (not _SAYS_MORE.isdisjoint(extra) or extra.get("interrupted") is True)


def is_result(block: Any) -> bool:
    """Whether a block of the user's side is the result of a call."""
    return type(block) is dict and block.get("type") == "tool_result"


def asks_something(message: dict[str, Any]) -> bool:
    """Whether a message of the user's side holds words of the user, other than commands."""
    content = message.get("content")
    texts = [content] if isinstance(content, str) else content if isinstance(content, list) else []
    return any(bool(text) and _requested(text) is text for text in (text_of([item]) for item in texts))


def _requested(text: str) -> str:
    """The user's words: the text itself, or the command in it; empty where it holds none."""
    start = text.lstrip()[:100]
    if start.startswith("<command-"):
        name, args = _COMMAND.search(text), _COMMAND_ARGS.search(text)
        return f"{name[1] if name else ''} {args[1].strip() if args else ''}".strip()
    return text if start and not start.startswith(_NOT_THE_USERS) else ""


def _failure(text: str) -> tuple[Status, Learned, str]:
    """How a flagged result came about: it never ran, was stopped, or failed."""
    line = text[:2000].removeprefix("Error: ").partition("\n")[0]
    if text.startswith(_MISSING):
        return Status.UNKNOWN, Learned.TEXT_PATTERN, ""
    if line.startswith(_CANCELLED):
        return Status.CANCELLED, Learned.TEXT_PATTERN, ""
    if line.startswith(_INVALID):
        return Status.INVALID, Learned.TEXT_PATTERN, ""
    if (
        line.startswith(_REFUSED)
        or _REFUSED_BY_RULE.match(line)
        or any(map(line.__contains__, _REFUSED_WITHIN))
    ):
        return Status.REFUSED, Learned.TEXT_PATTERN, ""
    code = _EXIT.match(line)
    return Status.RAISED, Learned.FLAG, f"Exit code {code[1]}" if code else ""


def _is_failure(extra: str) -> bool:
    """Whether a richer result that is a text is of a call that failed, or that never ran."""
    return extra.startswith("Error: ") or _failure(extra)[1] is Learned.TEXT_PATTERN


def _are_parts(content: Any) -> bool:
    return isinstance(content, list) and all(
        isinstance(part, dict)
        and isinstance(part.get("type"), str)
        and (part["type"] != "text" or isinstance(part.get("text"), str))
        for part in content
    )


def _parts(content: Any) -> tuple[Any, str]:
    """A list of parts as it is kept, without the bytes of images; and its texts."""
    text = text_of(content)
    if all(part["type"] == "text" for part in content):
        return text, text
    return [{key: part[key] for key in part if key not in ("source", "data")} for part in content], text


def _tag(text: str, name: str) -> str:
    """What stands in the first element of this name; empty where there is none."""
    _, found, rest = text.partition(f"<{name}>")
    inner, closed, _ = rest.partition(f"</{name}>")
    return inner.strip() if found and closed else ""


def _whole_tag(text: str, name: str) -> str:
    """What stands between the first opening and the last closing tag of this name."""
    _, _, rest = text.partition(f"<{name}>")
    inner, closed, _ = rest.rpartition(f"</{name}>")
    return inner.strip() if closed else ""
