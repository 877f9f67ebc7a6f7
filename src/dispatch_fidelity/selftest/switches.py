"""Rules that can be switched off, to show that a row of the selftest fails without its rule."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NamedTuple

from ..claims.block import Block
from ..claims.block import _read as _read_block
from ..claims.extract import _claims as _read_claims
from ..errors import UsageError
from ..jsonio import UNSET
from ..matching.assignment import Pair
from ..model.assessment import Binding, Check
from ..model.score import Verdict


class Switch(NamedTuple):
    """One rule: the name that holds it, and what stands there while it is off."""

    home: str
    name: str
    off: Any


def _backed(scorer: Any, number: int, _reason: str) -> None:
    scorer._decide(number, Verdict.MATCHED, "the rule of absence is switched off")


def _proven(_manifest: Any, record: Any, **_: Any) -> Binding:
    return Binding(
        dict.fromkeys(("B0", "B1", "B2", "B3", "B4", "B5", "B6"), Check.HOLDS), run_id=record.run_id
    )


def _in_log_order(claims: Any, free: Any, _policy: Any) -> Any:
    pairs = [Pair(number, execution) for (number, _), execution in zip(claims, free, strict=False)]
    return pairs, [number for number, _ in claims[len(free) :]], free[len(claims) :]


def _recorded_afterwards(session: Any, tool: str, args: Any = None, *, agent_id: str = "agent") -> str:
    value = session.tools[tool].fn(**args)
    ticket = session._recorder.start(tool, args, agent_id)
    session._recorder.returned(ticket, value)
    return str(value)


def _one_key(_args: Any) -> frozenset[Any]:
    return frozenset()


def _own_key(args: Any) -> frozenset[Any]:
    return frozenset({("", id(args))})


def _first_json_fence(report: str) -> list[Block]:
    start = report.find("```json\n") + 8
    end = report.find("```", start)
    block = _read_block(report, start, end) if start >= 8 and end >= 0 else None
    return [block] if block is not None else []


def _matched(*_: Any) -> tuple[Verdict, str, str]:
    return Verdict.MATCHED, "", ""


def _fabricated(*_: Any) -> tuple[Verdict, str, str]:
    return Verdict.FABRICATED, "", ""


def _any_of_two(claim: Any, logged: Any, _spec: Any) -> int | None:
    return 1 if len(claim) == len(logged) else None


SWITCHES: dict[str, Switch] = {
    "absence": Switch("matching.scorer", "_Scorer._absent", _backed),
    "arguments": Switch("matching.scorer", "_KEYS", {"json-scalar/2": _one_key}),
    "pairing by key": Switch("matching.scorer", "_KEYS", {"json-scalar/2": _own_key}),
    "receipts": Switch("matching.scorer", "carried", lambda *_: "whole"),
    "receipt tolerance": Switch(
        "matching.scorer", "carried", lambda told, receipt: "whole" * (receipt in told)
    ),
    "open calls": Switch("matching.scorer", "_judge_open", _fabricated),
    "failed calls": Switch("matching.scorer", "_judge_failed", _matched),
    "acknowledgement": Switch("claims.polarity", "acknowledges_failure", lambda _text: False),
    "negated failure": Switch(
        "claims.polarity", "acknowledges_failure", lambda text: "error" in text.casefold()
    ),
    "talk of failures": Switch("audit", "speaks_of_failure", lambda _text: False),
    "strict results": Switch("matching.scorer", "carries", lambda *_: True),
    "carrying": Switch("matching.results", "holds", lambda *_: False),
    "token boundaries": Switch("matching.results", "_is_token", lambda *_: True),
    "results by value": Switch("matching.results", "result_key", repr),
    "large results": Switch("matching.results", "_carries_blob", lambda *_: False),
    "contradiction": Switch("matching.scorer", "contradiction", lambda *_: ""),
    "no value claimed": Switch("matching.scorer", "claims_value", lambda result: result is not UNSET),
    "best assignment": Switch("matching.scorer", "assign", _in_log_order),
    "renamed parameters": Switch("matching.candidates", "Candidates.by_roles", lambda *_: ([], [])),
    "one remaining parameter": Switch("matching.candidates", "_renamed", _any_of_two),
    "scalars": Switch("matching.canonical", "canonical", repr),
    "binding": Switch("audit", "bind", _proven),
    "proof by receipt": Switch("evidence.binding", "_receipts", lambda *_: None),
    "doubts": Switch("audit", "_doubts", lambda *_: []),
    "failures": Switch("audit", "_failures", lambda *_: []),
    "superseded claims": Switch("claims.extract", "_is_template", lambda *_: True),
    "unreadable items": Switch(
        "claims.extract", "_claims", lambda block, _unreadable: _read_claims(block, [])
    ),
    "argument names": Switch("claims.extract", "_ARGS", ("args",)),
    "tool names": Switch("claims.extract", "_NAMES", ("tool",)),
    "arguments as text": Switch("claims.extract", "_from_text", lambda _text: {}),
    "fences": Switch("claims.extract", "find_blocks", _first_json_fence),
    "failure by value": Switch("log.executions", "failure_by_value", lambda _result: False),
    "chain": Switch("log.executions", "is_linked", lambda *_: True),
    "records after the end": Switch("log.executions", "Lifecycle._stray", lambda *_: None),
    "start before effect": Switch("session", "AuditSession.call", _recorded_afterwards),
}

GUARD_SWITCHES: dict[str, Switch] = {
    "a record is needed": Switch("discipline.verify", "_missing", lambda *_: []),
    "failed runs": Switch("discipline.verify", "_failure", lambda _record: ""),
    "interrupted runs": Switch("discipline.verify", "_interruption", lambda _record: ""),
    "same tree": Switch("discipline.verify", "_same", lambda *_: True),
    "content, not commit": Switch("discipline.verify", "_same", lambda one, other: one == other),
    "files git does not look at": Switch("discipline.tree", "_is_plain", lambda _index: True),
    "untracked files": Switch("discipline.tree", "is_cache", lambda _path: True),
    "caches": Switch("discipline.tree", "is_cache", lambda _path: False),
    "raw output": Switch("discipline.records", "_check_output", lambda *_: []),
    "digest of the record": Switch("discipline.records", "seal", lambda document: document["digest"]),
    "masked commands": Switch("discipline.verify", "masks", lambda _argv: ()),
    "expected text": Switch("discipline.anchors", "whole_token", lambda _text: re.compile("")),
    "whole tokens": Switch("discipline.anchors", "whole_token", lambda text: re.compile(re.escape(text))),
    "exit code of an anchor": Switch("discipline.anchors", "_failure", lambda *_: ""),
    "anchors before the change": Switch("discipline.anchors", "compare", lambda *_: ((), ())),
    "feeders of a pipe": Switch("discipline.masking", "_FEEDERS", frozenset()),
    "declared suppressions": Switch("discipline.waivers", "read_waivers", lambda _text: ((), ())),
    "undeclared suppressions": Switch("discipline.waivers", "_undeclared", lambda *_: ()),
    "stale declarations": Switch("discipline.waivers", "_stale", lambda *_: ()),
    "real comments": Switch("discipline.scanner", "_kind", lambda _token: "comment"),
    "new anchors": Switch("discipline.anchors", "anchors_at", lambda *_: ()),
}


@contextmanager
def switched_off(rule: str | None) -> Iterator[None]:
    """Run with one rule off; None changes nothing. UsageError when there is no such rule."""
    if rule is None:
        yield
        return
    switches = {**SWITCHES, **GUARD_SWITCHES}
    switch = switches.get(rule)
    if switch is None:
        raise UsageError(f"there is no rule {rule!r}; there are: {', '.join(switches)}")
    holder: Any = import_module(f"dispatch_fidelity.{switch.home}")
    *path, attribute = switch.name.split(".")
    for part in path:
        holder = getattr(holder, part)
    kept = getattr(holder, attribute)
    setattr(holder, attribute, switch.off)
    try:
        yield
    finally:
        setattr(holder, attribute, kept)
