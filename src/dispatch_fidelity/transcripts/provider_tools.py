"""Calls that a model's provider runs itself, as their two interfaces write them; other products keep them as they are.

- **Anthropic blocks**: ``server_tool_use`` and ``mcp_tool_use`` with a block ``*_tool_result`` of the same id, often in
  the same message. Failure is a type that ends in ``_error`` inside the content, a ``return_code``, or ``is_error``.
  Web pages found by a search are encrypted: such a result is cut.
- **OpenAI items**: ``*_call``. One with a ``call_id`` is answered by an item ``*_output`` of that id, whoever runs it;
  one without holds its end itself: ``status``, for MCP ``error`` and ``output``. Hosted tools keep their results back
  unless ``include`` asks for them; a search for the web never shows the pages. Pictures are opaque.
- A shell call holds several commands: it failed when all did, and is unknown when some did.
"""

from __future__ import annotations

from typing import Any

from ..jsonio import holds_defect, joined_parts
from ..model.call import Learned, Status, Unknown
from .building import Call, as_text
from .message_items import Exchange, listed, named, words_of

_USES = ("tool_use", "server_tool_use", "mcp_tool_use")
_OWN = frozenset(
    {"id", "type", "status", "call_id", "output", "outputs", "result", "results", "error", "agent", "caller"}
)
_INCLUDE = {
    "web_search": "web_search_call.action.sources",
    "file_search": "file_search_call.results",
    "code_interpreter": "code_interpreter_call.outputs",
}
_REJECTED = "Tool execution was not approved."  # openai-agents
_RUNNING = frozenset({"in_progress", "searching", "interpreting", "generating", "calling", "queued"})
_OUTPUTS = frozenset({"program_output", "tool_search_output"})


def is_block(kind: str) -> bool:
    """Whether a block of this type is a call or a result of the Anthropic interface."""
    return kind in _USES or kind == "tool_result" or kind.endswith("_tool_result")


def is_item(kind: str) -> bool:
    """Whether an item of this type is a call or a result of the OpenAI interface."""
    return kind == "program" or kind.endswith(("_call", "_call_output")) or kind in _OUTPUTS


def take_block(exchange: Exchange, block: dict[str, Any]) -> None:
    """A block for which ``is_block`` holds, but ``tool_result``: it has its own rule for failure."""
    if block["type"] in _USES:
        exchange.begin(block.get("name"), exchange.object_of(block, "input"), block.get("id"))
        return
    call = exchange.ends(block.get("tool_use_id"))
    if call is None:
        return
    content, flag = block.get("content"), block.get("is_error")
    inner = content if isinstance(content, dict) else {}
    kind, code = named(inner, "type"), inner.get("return_code")
    if not _is_readable(block) or not isinstance(flag, (bool, type(None))):
        exchange.unknown(call, "the result of a server tool cannot be read")
    elif kind.endswith("_error"):
        exchange.result(call, content, flagged=True, failed=True, error=named(inner, "error_code"))
        call.message = named(inner, "error_message") or call.error
    elif isinstance(code, int):
        value = Unknown("opaque") if kind.startswith("encrypted_") else content
        _exit(exchange, call, value, [f"exit code {code}" if code else ""])
    else:
        hidden = any(isinstance(each, dict) and "encrypted_content" in each for each in listed(content))
        exchange.result(call, content, flagged=True, failed=flag is True, cut=hidden)


def _is_readable(block: dict[str, Any]) -> bool:
    """Whether the content of a result is of a shape that its interface gives it."""
    content = block.get("content")
    if isinstance(content, dict):
        texts = ("type", "error_code", "stdout", "stderr", "encrypted_stdout")
        if "type" not in content or not all(isinstance(content.get(name, ""), str) for name in texts):
            return False
        return type(content.get("return_code", 0)) is int
    if isinstance(content, str):
        return named(block, "type") == "mcp_tool_result"
    return (
        isinstance(content, list)
        and all(named(part, "type") for part in content)
        and words_of(content) is not None
    )


def take_item(exchange: Exchange, item: dict[str, Any]) -> None:
    """An item for which ``is_item`` holds."""
    kind = item["type"]
    if kind in _OUTPUTS or kind.endswith("_output"):
        _output(exchange, item)
        return
    tool = kind.removesuffix("_call")
    if kind in ("function_call", "custom_tool_call", "mcp_call"):
        tool = item.get("name")
    joins = kind in ("function_call", "custom_tool_call") or "call_id" in item
    call = exchange.begin(tool, _arguments(exchange, item), item.get("call_id"), joins=joins)
    if call is not None and not joins:
        call.source_id = named(item, "id")
        _hosted(exchange, call, item, kind.removesuffix("_call"))
        exchange.step += 1


def _arguments(exchange: Exchange, item: dict[str, Any]) -> Any:
    kind = item["type"]
    if kind == "custom_tool_call":
        given = item.get("input")
        if isinstance(given, str):
            return {"input": given}
    elif "arguments" in item or kind in ("function_call", "mcp_call"):
        given = item.get("arguments")
        if isinstance(given, (str, dict)):
            return given
    elif kind == "file_search_call":
        given = item.get("queries")
        if isinstance(given, list):
            return {"queries": given}
    elif kind in ("code_interpreter_call", "program"):
        given = item.get("code")
        if isinstance(given, str):
            return {"code": given}
        if given is None:
            return Unknown("not captured")
    else:
        given = item.get("operation", item.get("action", {}))
        if given is None:
            return Unknown("not captured")
        if isinstance(given, dict):
            left = {name: value for name, value in item.items() if name not in _OWN and name != "action"}
            told = {name: value for name, value in given.items() if name != "sources"}
            return told or left or Unknown("not captured")
    exchange.builder.unreadable("the arguments of a call cannot be read")
    return Unknown("unreadable")


def _hosted(exchange: Exchange, call: Call, item: dict[str, Any], tool: str) -> None:
    """The end of a call that stands in the same item."""
    status, error = item.get("status"), item.get("error")
    if not isinstance(status, (str, type(None))) or not isinstance(error, (str, dict, type(None))):
        exchange.unknown(call, "the end of a hosted call cannot be read")
        return
    if status in _RUNNING:
        return
    if isinstance(error, dict) and not named(error, "message", "code", "type"):
        exchange.unknown(call, "the error of a hosted call does not say what it is")
    elif error or status == "failed":
        told = error if isinstance(error, str) else named(error, "message") or as_text(error)
        exchange.result(
            call, item.get("output"), flagged=True, failed=True, error=named(error, "type", "code")
        )
        call.message = told
    elif status not in (None, "completed"):
        exchange.uncaptured(call, f"a hosted call is {status[:40]!r}", status=Status.UNKNOWN)
    elif tool == "mcp":
        if isinstance(item.get("output"), str):
            exchange.result(call, item["output"], flagged=True)
        else:
            exchange.unknown(call, "a hosted call has neither output nor error")
    else:
        _kept_back(exchange, call, item, tool)


def _kept_back(exchange: Exchange, call: Call, item: dict[str, Any], tool: str) -> None:
    """The result of a hosted tool, which is there only where ``include`` asked for it."""
    action = item.get("action")
    sources = action.get("sources") if isinstance(action, dict) else None
    found = item.get("outputs", item.get("results", item.get("result", sources)))
    logs = [named(each, "logs", "url") for each in listed(found)] if tool == "code_interpreter" else []
    if found is None:
        setting = f"include=[{_INCLUDE[tool]!r}]" if tool in _INCLUDE else "no setting"
        exchange.uncaptured(call, f"results of {tool} are not captured: {setting} would hold them")
    elif isinstance(found, str) and tool == "image_generation":
        exchange.uncaptured(call, f"the result of {tool} is a picture")
        call.result = Unknown("opaque", f"{len(found)} characters")
    elif not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        exchange.unknown(call, "the result of a hosted call cannot be read")
    elif tool == "code_interpreter" and not all(logs):
        exchange.unknown(call, "an output of executed code is neither a text nor a picture")
    elif tool == "code_interpreter" and not any("url" in each for each in found):
        exchange.place = exchange.place if len(logs) == 1 else None  # the joined text stands nowhere
        exchange.result(call, "\n".join(logs), flagged=True)
    else:
        exchange.result(call, found, flagged=True, cut=found is sources)


def _output(exchange: Exchange, item: dict[str, Any]) -> None:
    """An item that answers the call of its ``call_id``; a local shell may call it ``id``."""
    kind, status = item["type"], item.get("status")
    call = exchange.ends(item.get("call_id", item.get("id")))
    if call is None:
        return
    value = item.get(
        "result" if kind == "program_output" else "tools" if kind == "tool_search_output" else "output"
    )
    if not isinstance(status, (str, type(None))):
        exchange.unknown(call, "the status of a result is no text")
    elif kind == "computer_call_output" and isinstance(value, dict):
        exchange.uncaptured(call, "results of computer are pictures")
        call.result = Unknown("opaque")
    elif kind == "shell_call_output":
        _shell(exchange, call, value)
    elif kind == "apply_patch_call_output" and status in ("completed", "failed"):
        exchange.result(call, value or "", flagged=True, failed=status == "failed")
    elif value == _REJECTED:
        builder = exchange.builder
        builder.end(call, value, status=Status.REFUSED, learned=Learned.TEXT_PATTERN, message=_REJECTED)
    elif not isinstance(value, (str, list)):
        exchange.unknown(call, "a result is no text and no parts")
    elif status == "incomplete":
        exchange.uncaptured(call, "a result is incomplete", status=Status.UNKNOWN)
    elif isinstance(value, list) and not all(isinstance(part, dict) for part in value):
        exchange.unknown(call, "a part of a result is no object")
    elif isinstance(value, list) and value and all(named(part, "type") == "input_text" for part in value):
        exchange.result(call, joined_parts(value))
    else:
        exchange.result(call, value)


def _shell(exchange: Exchange, call: Call, parts: Any) -> None:
    errors: list[str] = []
    for part in listed(parts):
        outcome = part.get("outcome") if isinstance(part, dict) else None
        kind, code = named(outcome, "type"), outcome.get("exit_code") if isinstance(outcome, dict) else None
        if not isinstance(part, dict) or not all(
            isinstance(part.get(n, ""), str) for n in ("stdout", "stderr")
        ):
            break
        if kind == "timeout":
            errors.append("timeout")
        elif kind == "exit" and type(code) is int:
            errors.append(f"exit code {code}" if code else "")
    if not errors or len(errors) != len(parts):
        exchange.unknown(call, "the output of a shell call cannot be read")
    else:
        _exit(exchange, call, parts, errors)


def _exit(exchange: Exchange, call: Call, value: Any, errors: list[str]) -> None:
    """The end of a call by the exit codes of its commands; an empty text is a success."""
    bad = [error for error in errors if error]
    status = Status.RETURNED if not bad else Status.RAISED if len(bad) == len(errors) else Status.UNKNOWN
    if holds_defect(value):
        exchange.unknown(call, "the output of a command cannot be read")
        return
    exchange.builder.end(
        call,
        value,
        status=status,
        learned=Learned.EXIT_CODE,
        error=bad[-1] if bad else "",
        message=_stderr(value),
    )
    if status is Status.UNKNOWN:
        exchange.builder.lacks("a call of several commands failed in part")


def _stderr(value: Any) -> str:
    """What failed commands wrote to their error output."""
    return "\n".join(filter(None, (named(each, "stderr") for each in (listed(value) or [value]))))
