"""The lines of a log as types: what the recorder writes and the reader reads."""

from __future__ import annotations

from typing import Any

from ..model.frozen import UNSET, Frozen


class Event(Frozen, frozen=True, omit_defaults=True):
    """One record of log 2; members in the order in which the recorder writes them.

    Times are microseconds: ``wall`` since the epoch (a claim), ``mono`` of one boot (an order). The members from
    ``status`` on stand in logs that were imported from a foreign transcript (``log.importing``): how a call ended and
    how that was learned, its times as the source writes them, and, in the open record, where the log comes from.
    """

    v: int
    run: str
    stream: str
    n: int
    prev: str
    type: str
    call: str = ""
    wall: int = 0
    mono: int = 0
    attempt: int = 1
    source_id: str = ""
    parent: str = ""
    agent: str = ""
    tool: str = ""
    args: Any = UNSET
    result: Any = UNSET
    reason: str = ""
    error: str = ""
    message: Any = UNSET
    shown: Any = UNSET
    manifest: str = ""
    calls: int = -1
    ended: int = -1
    streams: tuple[str, ...] = ()
    heads: dict[str, str] = {}
    opening: str = ""
    status: str = ""
    learned: str = ""
    step: int = -1
    cut: bool = False
    joint: bool = False
    at: str = ""
    until: str = ""
    imported: Any = UNSET
    digest: str = ""


class EventV1(Frozen, frozen=True):
    """One record of log 1, which holds finished calls only."""

    seq: int
    run_id: str
    tool: str
    args: dict[str, Any]
    result: Any = None
    agent_id: str = "agent"
    result_sha256: str | None = None
    ts: Any = None
    monotonic: Any = None


STARTED = "call.started"
TERMINAL = frozenset({"call.returned", "call.raised", "call.aborted", "call.not_executed"})
NOT_SHOWN = "call.not_shown"  # of imported logs: the end of the call is not in the source
KNOWN = TERMINAL | {"open", STARTED, NOT_SHOWN, "gap", "checkpoint", "close"}
