"""What the two Codex readers share: how a call ended, by the words, codes and flags that Codex itself writes.

Codex keeps no flag of failure with the output that the model is shown (``told``). What it writes there: JSON with
``metadata.exit_code``; a head with "Exit code: N", "Process exited with code N" or "Process running with session ID
N" before "Output:"; for a script of code mode "Script completed", "failed", "terminated" or "running with cell ID N";
else a fixed sentence, which stands at the very beginning: rejected by the user or by policy (refused), an unknown tool
or arguments that cannot be read (invalid), aborted (cancelled), failed in the sandbox (raised). Sentences are looked
for only where Codex itself writes the output: not in that of an MCP server, except those that are about its call.
Events and items beside it (``SHOWN``) carry ``exit_code``, ``success``, ``status`` and ``isError``, which say more.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeGuard

from ..errors import JSONError
from ..jsonio import decode
from ..model.call import Learned, Status, Unknown
from ..model.frozen import UNSET
from .building import Call, RunBuilder, result_of, text_of

NOT_CAPTURED = Unknown("not captured")
UNREADABLE = Unknown("unreadable")
IMAGE = Unknown("image")

_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_TEXTS = ("input_text", "inputText", "output_text", "text")
_IMAGES = ("input_image", "inputImage")

_TIME = r"Wall time:? [\d.]{1,20} seconds?\n"
_COUNT = r"(?:(?:Original token count|Total output lines): \d{1,12}\n){0,2}"
_HEAD = re.compile(
    rf"Exit code: (?P<exit>-?\d{{1,10}})\n{_TIME}{_COUNT}Output:\n?"
    rf"|(?:Chunk ID: [^\n]{{1,80}}\n)?{_TIME}(?:Process exited with code (?P<code>-?\d{{1,10}})\n)?"
    rf"(?:Process running with session ID (?P<session>[^\n]{{1,80}})\n)?{_COUNT}Output:\n?"
    r"|Script (?:(?P<script>completed|failed|terminated)|running with cell ID (?P<cell>[^\n]{1,80}))\n"
    rf"{_TIME}Output:\n?"
)
_ANY_TOOL = (
    (Status.REFUSED, r"user (?:rejected|cancelled) MCP tool call\b|MCP tool call blocked\b"),
    (Status.INVALID, r"unsupported (?:custom tool )?call: |failed to parse function arguments\b"),
    (Status.CANCELLED, r"aborted(?: by user after [\d.]{1,20}s)?\Z"),
    (Status.RAISED, r"tool call error: |err: "),
)
_OWN_TOOL = (
    (
        Status.REFUSED,
        r"(?:exec command|patch) rejected\b|approval (?:policy is|required by policy)\b"
        r"|This action was rejected due to unacceptable risk\b|(?:Command|Tool call) blocked by PreToolUse hook\b",
    ),
    (
        Status.INVALID,
        r"failed to parse \w{1,40} arguments\b|apply_patch verification failed\b|invalid patch\b"
        r"|patch detected without explicit call\b|unsupported unified exec function\b|LocalShellCall without\b",
    ),
    (Status.CANCELLED, rf"{_TIME}aborted by user\b"),
    (
        Status.RAISED,
        r"failed in sandbox\b|execution error: |exec_command failed\b|write_stdin failed\b|sandbox error: "
        r"|command timed out after \d|command failed inside sandbox\b|unable to \w{1,20} image\b|image path `"
        r"|collab \w{1,20} failed\b|[Aa]gent (?:with id \S{1,80} not found|(?:thread|depth) limit reached)\b",
    ),
)
_PATTERNS = {
    is_own: tuple((status, re.compile(pattern)) for status, pattern in table)
    for is_own, table in ((False, _ANY_TOOL), (True, _ANY_TOOL + _OWN_TOOL))
}
_SCRIPTS = {"completed": None, "failed": Status.RAISED, "terminated": Status.CANCELLED}
_STATUSES = {
    "completed": Status.RETURNED,
    "failed": Status.RAISED,
    "declined": Status.REFUSED,
    "in_progress": Status.UNFINISHED,
    "inProgress": Status.UNFINISHED,
    "incomplete": Status.UNFINISHED,
}
_CUT = re.compile(
    r"…\d{1,12} (?:tokens|chars) truncated…|\[\.\.\. omitted \d{1,12} of \d{1,12} lines \.\.\.\]"
)


class Ending(NamedTuple):
    """How a call ended; without ``status`` it returned. ``running`` names the process or script that goes on.

    ``message`` is the sentence or the error that told it; ``damage`` says what of it has another shape than Codex
    gives it.
    """

    status: Status | None = None
    learned: Learned = Learned.DEFAULT
    result: Any = UNSET
    message: str = ""
    running: str = ""
    cut: bool = False
    damage: str = ""


def unreadable(what: str) -> Ending:
    """An end of which no more is known than that something stands there."""
    return Ending(Status.UNKNOWN, result=UNREADABLE, damage=what)


# -- what the model was shown -------------------------------------------------------------------------------------


def told(output: Any, tool: str = "", args: Any = None) -> Ending:
    """The end of a call by what the model was shown as its output."""
    flag = None
    if isinstance(output, dict) and "content" in output:
        flag, output = output.get("success"), output["content"]
    if flag is not None and not isinstance(flag, bool):
        return unreadable("the success of an output is neither true nor false")
    parts = [output] if isinstance(output, dict) else output
    if isinstance(parts, list) and all(map(_is_part, parts)):
        text = text_of(parts, _TEXTS)
        if not text and parts:
            return Ending(result=IMAGE)
    elif isinstance(parts, str):
        text = parts
    else:
        return unreadable("an output is neither text nor parts")
    ending = _by_text(text, tool, args)
    if flag is None or ending.status is not None:
        return ending
    return ending._replace(status=Status.RETURNED if flag else Status.RAISED, learned=Learned.FLAG)


def _is_part(part: Any) -> bool:
    if not isinstance(part, dict):
        return False
    kind = part.get("type")
    return kind in _IMAGES or (kind in _TEXTS and isinstance(part.get("text"), str))


def _by_text(text: str, tool: str, args: Any) -> Ending:
    cut = bool(_CUT.search(text))
    # 1. JSON around the output of a command.
    if text.startswith('{"output"'):
        return _by_metadata(text, cut=cut)
    # 2. A head before it.
    if head := _HEAD.match(text):
        rest = text[head.end() :]
        if head["script"]:
            rest = rest.removeprefix("\n")
            return Ending(_SCRIPTS[head["script"]], Learned.TEXT_PATTERN, rest, cut=cut)
        if running := head["session"] or head["cell"]:
            return Ending(Status.BACKGROUND, Learned.TEXT_PATTERN, rest, running=running, cut=cut)
        code = head["exit"] or head["code"]
        return Ending(result=rest, cut=cut) if code is None else exited(int(code), rest, cut=cut)
    # 3. A sentence.
    if status := _sentence(text, tool, args):
        return Ending(status, Learned.TEXT_PATTERN, text, text, cut=cut)
    return Ending(result=text, cut=cut)


def _by_metadata(text: str, *, cut: bool) -> Ending:
    try:
        value = decode(text.encode())
    except (JSONError, UnicodeEncodeError):
        return Ending(result=text, cut=True) if cut else unreadable("the JSON of an output cannot be read")
    metadata = value.get("metadata")
    if not isinstance(metadata, dict):
        return Ending(result=text, cut=cut)
    code, output = metadata.get("exit_code"), value["output"]
    if not _is_code(code) or not isinstance(output, str):
        return unreadable("the exit code or the text of an output has another type")
    return exited(code, output, cut=cut)


def _sentence(text: str, tool: str, args: Any) -> Status | None:
    """The status that a sentence of Codex tells."""
    is_own = "__" not in tool
    if is_own:
        if text.startswith("`") and "` rejected: " in text:
            return Status.REFUSED
        if text.startswith("exec_command failed") and "Rejected(" in text:
            return Status.REFUSED
        if text.startswith("error: ") and (tool == "apply_patch" or _program(args) == "apply_patch"):
            return Status.INVALID
    return next((status for status, pattern in _PATTERNS[is_own] if pattern.match(text)), None)


def _program(args: Any) -> Any:
    """The program that a command starts, without the shell around it."""
    command = args.get("command") if isinstance(args, dict) else None
    if not isinstance(command, list) or not command:
        return None
    script = command[-1]
    return (
        script.split(None, 1)[0] if len(command) == 3 and isinstance(script, str) and script else command[0]
    )


def exited(code: int, result: Any, *, cut: bool = False) -> Ending:
    """The end of a command by its exit code."""
    return Ending(Status.RAISED if code else Status.RETURNED, Learned.EXIT_CODE, result, cut=cut)


def by_status(status: Any, result: Any, message: str = "") -> Ending:
    """The end of a call by the status of its item."""
    if not isinstance(status, str):
        return unreadable("the status of a call is no text")
    found = _STATUSES.get(status, Status.UNKNOWN)
    return Ending(found, Learned.FLAG if status in _STATUSES else Learned.DEFAULT, result, message)


def _is_code(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


# -- what events and items show -----------------------------------------------------------------------------------


class Shown(NamedTuple):
    """A call as an event or an item shows it; what is not ``final`` yields to the output that the model was shown."""

    tool: Any
    args: Any
    ending: Ending
    final: bool = True


def _command(item: dict[str, Any]) -> Shown:
    args = {key: item[key] for key in ("command", "cwd") if item.get(key) is not None}
    command, ending = args.get("command"), _command_ended(item)
    words = command if isinstance(command, list) else [command]
    if not words or not all(isinstance(word, str) for word in words):
        return Shown("exec_command", UNREADABLE, ending._replace(damage="the command of a call is no text"))
    return Shown("exec_command", args, ending)


def _line(item: dict[str, Any]) -> Shown:
    """A command as the stream has it: as one text."""
    shown = _command(item)
    if isinstance(item.get("command"), str):
        return shown
    return Shown(shown.tool, UNREADABLE, shown.ending._replace(damage="the command of a call is no text"))


def _command_ended(item: dict[str, Any]) -> Ending:
    """The end of a command by its exit code, or by its status where there is none."""
    status, code = item.get("status"), item.get("exit_code")
    output = next((item[key] for key in ("aggregated_output", "stdout") if item.get(key) is not None), None)
    if not isinstance(output, (str, type(None))):
        return unreadable("the output of a command is no text")
    result, damage = (output, "") if output is not None else (NOT_CAPTURED, "a command has no output")
    if status == "declined":
        return by_status(status, result, output or "")
    if code is None and status in ("in_progress", "inProgress"):
        return by_status(status, result)
    ending = (
        exited(code, result) if _is_code(code) else unreadable("a command has no exit code that can be read")
    )
    return ending._replace(damage=ending.damage or damage)


def _patch(item: dict[str, Any]) -> Shown:
    success, status = item.get("success"), item.get("status")
    printed = [item.get(stream, "") for stream in ("stdout", "stderr")]
    output = "".join(text for text in printed if isinstance(text, str))
    if not isinstance(success, (bool, type(None))):
        ending = unreadable("the success of a patch is neither true nor false")
    elif success is None or status == "declined":
        ending = by_status(status, output or NOT_CAPTURED, output)
    else:
        ending = Ending(Status.RETURNED if success else Status.RAISED, Learned.FLAG, output)
    if not all(isinstance(text, str) for text in printed) or (success is not None and "stdout" not in item):
        ending = unreadable("what a patch printed cannot be read")
    changes = item.get("changes")
    if isinstance(changes, list):
        paths = [
            (each.get("path"), each.get("kind")) if isinstance(each, dict) else (None, None)
            for each in changes
        ]
        whole = all(isinstance(path, str) and isinstance(kind, str) for path, kind in paths)
    else:
        whole = isinstance(changes, dict) and all(isinstance(change, dict) for change in changes.values())
    if whole:
        return Shown("apply_patch", {"changes": changes}, ending)
    return Shown("apply_patch", UNREADABLE, ending._replace(damage="the changes of a patch cannot be read"))


def _mcp(item: dict[str, Any]) -> Shown:
    inner = item.get("invocation", item)
    server, tool, args = (
        map(inner.get, ("server", "tool", "arguments")) if isinstance(inner, dict) else (None,) * 3
    )
    ending = _mcp_ended(item.get("result"), item.get("error"), item.get("status"))
    if not isinstance(args, (dict, type(None))):
        args, ending = UNREADABLE, ending._replace(damage="the arguments of an MCP call are no object")
    if isinstance(server, str) and isinstance(tool, str) and tool:
        return Shown(f"mcp__{server}__{tool}", args, ending)
    return Shown(tool, args, ending._replace(damage="an MCP call names no server and tool"))


def _mcp_ended(result: Any, error: Any, status: Any) -> Ending:
    """The end of a call to an MCP server: its result, or the error of Codex around it."""
    if isinstance(result, dict) and ("Ok" in result or "Err" in result):
        result, error = result.get("Ok"), result.get("Err")
    if isinstance(error, dict):
        error = error.get("message")
    if isinstance(error, str):
        return Ending(_sentence(error, "__", None) or Status.RAISED, Learned.FLAG, error, error)
    if result is None and error is None and status not in (None, "completed"):
        return by_status(status, NOT_CAPTURED)
    flag = result.get("isError", result.get("is_error")) if isinstance(result, dict) else None
    if error is not None or not isinstance(result, dict) or not isinstance(flag, (bool, type(None))):
        return unreadable("the result of an MCP call has another shape")
    content = result.get("content")
    structured = result.get("structuredContent", result.get("structured_content"))
    if not isinstance(content, list) or not all(map(_is_block, content)):
        return unreadable("the result of an MCP call has no content that can be read")
    value = result_of(content) if content or structured is None else structured
    if flag is not None:
        return Ending(Status.RAISED if flag else Status.RETURNED, Learned.FLAG, value)
    return Ending(result=value) if status is None else by_status(status, value)


def _is_block(part: Any) -> bool:
    """Whether this is a content block of MCP."""
    kind = part.get("type") if isinstance(part, dict) else None
    return isinstance(kind, str) and (kind != "text" or isinstance(part.get("text"), str))


def _search(item: dict[str, Any]) -> Shown:
    results, action = item.get("results"), item.get("action")
    args = action if isinstance(action, dict) else {"query": item.get("query")}
    tool = "web_search" if item.keys() & {"query", "action"} else item.get("kind")
    if not isinstance(results, (list, type(None))):
        return Shown(tool, args, unreadable("the results of a search are no list"))
    return Shown(tool, args, Ending(result=NOT_CAPTURED if results is None else results))


def _view(item: dict[str, Any]) -> Shown:
    return Shown("view_image", {"path": item.get("path")}, Ending(result=IMAGE), final=False)


def _paint(item: dict[str, Any]) -> Shown:
    args = {"prompt": item.get("revised_prompt")}
    return Shown("image_generation", args, by_status(item.get("status"), IMAGE), final=False)


def _dynamic(item: dict[str, Any]) -> Shown:
    """The answer of a tool that the host of Codex offers."""
    success, parts = item.get("success"), item.get("content_items")
    if isinstance(success, bool) and isinstance(parts, list) and all(map(_is_item, parts)):
        result = text_of(parts, _TEXTS)
        ending = Ending(Status.RETURNED if success else Status.RAISED, Learned.FLAG, result)
    else:
        ending = unreadable("the answer of a tool has another shape")
    return Shown(item.get("tool"), item.get("arguments"), ending)


def _is_item(part: Any) -> bool:
    """Whether this is a part of the answer of such a tool."""
    kind = part.get("type") if isinstance(part, dict) else None
    return isinstance(kind, str) and (kind not in _TEXTS or isinstance(part.get("text"), str))


def _collaboration(item: dict[str, Any]) -> Shown:
    """A call to another agent."""
    tool, args = item.get("tool"), {}
    if isinstance(tool, str):
        tool = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", tool).lower()
    if isinstance(item.get("prompt"), str):
        args = {"prompt": item["prompt"]}
    status = item.get("status")
    ending = by_status(status, NOT_CAPTURED) if "sender_thread_id" in item else Ending(result=NOT_CAPTURED)
    return Shown(tool, args, ending, final=False)


SHOWN: dict[str, Callable[[dict[str, Any]], Shown]] = {
    # events
    "exec_command_end": _command,
    "patch_apply_end": _patch,
    "mcp_tool_call_end": _mcp,
    "web_search_end": _search,
    "view_image_tool_call": _view,
    "image_generation_end": _paint,
    "dynamic_tool_call_response": _dynamic,
    # items of a turn
    "CommandExecution": _command,
    "FileChange": _patch,
    "McpToolCall": _mcp,
    "WebSearch": _search,
    "Extension": _search,
    "ImageView": _view,
    "ImageGeneration": _paint,
    "DynamicToolCall": _dynamic,
    "CollabAgentToolCall": _collaboration,
    # items of the stream of ``codex exec``
    "command_execution": _line,
    "file_change": _patch,
    "mcp_tool_call": _mcp,
    "web_search": _search,
    "collab_tool_call": _collaboration,
}


# -- other agents -------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Helpers:
    """The agents that worked for this one: the call that asked each, and its report where it is shown."""

    asked: dict[str, Call | None] = field(default_factory=dict)
    reports: dict[str, str] = field(default_factory=dict)

    def add(self, name: Any, call: Call | None) -> None:
        """An agent of this name works for this one."""
        if isinstance(name, str) and name:
            self.asked[name] = self.asked.get(name) or call

    def ended(self, states: Any) -> None:
        """How agents stand, by their names: the text of one that has completed is its report."""
        for name, state in states.items() if isinstance(states, dict) else ():
            if isinstance(state, dict):
                done = state.get("message") if state.get("status") == "completed" else state.get("completed")
                if isinstance(done, str):
                    self.reports[name] = done

    def finish(self, builder: RunBuilder) -> None:
        """Tell the run of them."""
        for name, call in self.asked.items():
            if call is None:
                builder.lacks("an agent worked for this one, and no call shows who asked it")
            else:
                builder.delegated(call, name, self.reports.get(name, ""))


def run_id_of(value: Any, otherwise: str) -> str:
    """An id of the source as the id of a run, where it has the letters of one."""
    return value if isinstance(value, str) and _RUN_ID.fullmatch(value) else otherwise
