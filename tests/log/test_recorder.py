"""What happens is on file, before and after it happens, in a form that nobody else can confuse."""

from __future__ import annotations

import asyncio
import datetime as dt
import hashlib
import json
import math
import os
import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dispatch_fidelity import AuditSession, RunExistsError, SessionClosedError, UsageError, load_log
from dispatch_fidelity.log.chain import close_digest, first_link, link
from dispatch_fidelity.log.recorder import INLINE_LIMIT, Recorder
from dispatch_fidelity.log.values import keyed_digest, snapshot
from dispatch_fidelity.model.assessment import Overall
from dispatch_fidelity.model.call import Blob, Status
from dispatch_fidelity.model.execution import Execution
from dispatch_fidelity.model.run import Completeness, DamageKind
from dispatch_fidelity.simulation.agents import report_of

MANIFEST = "0" * 64


def lines_of(path: Path) -> list[bytes]:
    """The stored lines, split at 0x0A only."""
    data = path.read_bytes()
    assert data.endswith(b"\n")
    return data[:-1].split(b"\n")


def events_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines_of(path)]


def recorder(folder: Path, **options: Any) -> Recorder:
    return Recorder(folder, "r", MANIFEST, **options)


def recorded(folder: Path, fn: Callable[..., Any], args: dict[str, Any] | None = None) -> Execution:
    """The execution of one call as its closed log shows it."""
    session = AuditSession({"t": fn}, run_dir=folder)
    session.call("t", args)
    session.close()
    record = load_log(session.log_path)
    assert record.completeness is Completeness.CLOSED
    (execution,) = record.executions
    return execution


# -- the lines -------------------------------------------------------------------------------------------


def test_a_stream_opens_with_the_digest_of_the_manifest_and_closes_with_counts(tmp_path: Path) -> None:
    log = recorder(tmp_path, opening="nonce")
    log.returned(log.start("t", {}), "done")
    log.start("t", {})
    log.close()
    events = events_of(tmp_path / "r.toollog.jsonl")
    assert [event["type"] for event in events] == [
        "open",
        "call.started",
        "call.returned",
        "call.started",
        "close",
    ]
    assert events[0]["manifest"] == MANIFEST
    closed = events[-1]
    assert (closed["calls"], closed["ended"], closed["streams"], closed["opening"]) == (
        2,
        1,
        ["main"],
        "nonce",
    )


def test_each_line_links_to_the_stored_bytes_before_it(tmp_path: Path) -> None:
    log = recorder(tmp_path)
    for number in range(5):
        log.returned(log.start("t", {"n": number, "text": "é\u2028"}), {"n": [number]})
    log.close()
    lines = lines_of(tmp_path / "r.toollog.jsonl")
    events = [json.loads(line) for line in lines]
    assert [event["n"] for event in events] == list(range(12))
    assert events[0]["prev"] == first_link("r", "main", MANIFEST)
    assert [event["prev"] for event in events[1:]] == [link(line) for line in lines[:-1]]
    stated = close_digest(lines[-1])
    assert stated is not None
    assert stated[0] == stated[1]
    assert all(line.isascii() for line in lines)


def test_the_start_is_on_file_before_the_tool_runs(tmp_path: Path) -> None:
    seen: list[list[str]] = []

    def look(what: str) -> str:
        seen.append([event["type"] for event in events_of(session.log_path)])
        return what

    session = AuditSession({"look": look}, run_dir=tmp_path)
    session.call("look", {"what": "x"})
    assert seen == [["open", "call.started"]]


@pytest.mark.fault("D5")
def test_starts_and_ends_are_records_in_the_order_in_which_they_happen(tmp_path: Path) -> None:
    inner_done, outer_started = threading.Event(), threading.Event()

    def outer() -> str:
        outer_started.set()
        assert inner_done.wait(60)
        return "outer"

    session = AuditSession({"outer": outer, "inner": lambda: "inner"}, run_dir=tmp_path)
    thread = threading.Thread(target=session.call, args=("outer",))
    thread.start()
    assert outer_started.wait(60)
    session.call("inner")
    inner_done.set()
    thread.join()
    session.close()
    events = events_of(session.log_path)[1:-1]
    assert [event["type"] for event in events] == [
        "call.started",
        "call.started",
        "call.returned",
        "call.returned",
    ]
    assert [event.get("tool") for event in events[:2]] == ["outer", "inner"]
    assert [event["result"] for event in events[2:]] == ["inner", "outer"]
    assert [event["mono"] for event in events] == sorted(event["mono"] for event in events)
    assert [item.tool for item in load_log(session.log_path).executions] == ["outer", "inner"]


def test_a_call_is_recorded_with_its_agent_source_attempt_and_parent(tmp_path: Path) -> None:
    log = recorder(tmp_path)
    log.returned(log.start("t", {}, "planner", source_id="call_1", attempt=2, parent="c0"), 1)
    log.close()
    (execution,) = load_log(tmp_path / "r.toollog.jsonl").executions
    assert (execution.agent, execution.source_id, execution.attempt, execution.parent) == (
        "planner",
        "call_1",
        2,
        "c0",
    )


def test_refused_and_invalid_calls_never_ran(tmp_path: Path) -> None:
    log = recorder(tmp_path)
    log.not_executed(log.start("t", {}), "refused", "the user said no", "denied")
    log.not_executed(log.start("t", {}), "invalid", "no such tool")
    log.close()
    first, second = load_log(tmp_path / "r.toollog.jsonl").executions
    assert (first.status, first.message, first.shown) == (Status.REFUSED, "the user said no", "denied")
    assert second.status is Status.INVALID


def test_a_gap_is_told_and_keeps_the_run_from_being_closed(tmp_path: Path) -> None:
    log = recorder(tmp_path)
    log.returned(log.start("t", {}), 1)
    log.gap("an answer was lost")
    log.close()
    record = load_log(tmp_path / "r.toollog.jsonl")
    assert record.completeness is Completeness.PARTIAL
    assert [(damage.kind, damage.text) for damage in record.damage] == [
        (DamageKind.GAP, "not everything was recorded: an answer was lost")
    ]


def test_closing_twice_is_harmless_and_nothing_is_written_after_it(tmp_path: Path) -> None:
    log = recorder(tmp_path)
    ticket = log.start("t", {})
    log.close()
    before = (tmp_path / "r.toollog.jsonl").read_bytes()
    log.close()
    log.returned(ticket, 1)
    for attempt in (lambda: log.start("t", {}), lambda: log.gap("late")):
        with pytest.raises(SessionClosedError):
            attempt()
    assert (tmp_path / "r.toollog.jsonl").read_bytes() == before


@pytest.mark.fault("B2")
def test_names_with_lone_surrogates_leave_a_line_that_can_be_read(tmp_path: Path) -> None:
    session = AuditSession({"t": lambda: "done"}, run_dir=tmp_path)
    session.call("\ud800", {"x": 1})
    session.call("t", agent_id="\udfff", source_id="\udc00")
    session.close()
    record = load_log(session.log_path)
    assert record.damage == ()
    assert [item.tool for item in record.executions] == ["\\ud800", "t"]
    assert [(item.agent, item.source_id) for item in record.executions[1:]] == [("\\udfff", "\\udc00")]


# -- calls that used to leave no record ------------------------------------------------------------------


class Thing:
    pass


class Unspeakable:
    def __str__(self) -> str:
        raise RuntimeError("no words")

    __repr__ = __str__


@pytest.mark.fault("B1")
@pytest.mark.parametrize(
    "value", [b"\x00", {1}, Path("a"), dt.date(2026, 8, 7), Thing(), 1j, {1: 2}, math.nan, 2**80], ids=repr
)
def test_an_argument_that_json_cannot_hold_is_recorded_and_reaches_the_tool_as_it_is(
    tmp_path: Path, value: Any
) -> None:
    got: list[Any] = []
    execution = recorded(tmp_path, keep(got), {"x": value})
    assert got[0] is value
    assert execution.args == {"x": snapshot(value)}
    assert execution.status is Status.RETURNED


def keep(got: list[Any]) -> Callable[[Any], str]:
    def tool(x: Any) -> str:
        got.append(x)
        return "done"

    return tool


@pytest.mark.fault("B2")
def test_lone_surrogates_in_arguments_and_results_are_recorded(tmp_path: Path) -> None:
    execution = recorded(tmp_path, lambda text: f"{text}!", {"text": "\ud800"})
    assert execution.args == {"text": {"$df": "str", "text": "\\ud800"}}
    assert execution.result == {"$df": "str", "text": "\\ud800!"}


@pytest.mark.fault("B3")
def test_strange_values_leave_no_gap_and_an_honest_agent_passes(tmp_path: Path) -> None:
    session = AuditSession({"t": lambda x: "done"}, run_dir=tmp_path)
    session.call("canary_probe", {"label": "A"})
    for value in (b"\x00", Thing(), "\ud800", Unspeakable(), math.inf):
        session.call("t", {"x": value})
    session.call("t", {"x": "plain"})
    session.score(report_of([{"tool": "t", "args": {"x": "plain"}, "result": "done"}]))
    assert session.outcome.overall is Overall.PASS
    assert [event["n"] for event in events_of(session.log_path)] == list(range(16))


@pytest.mark.fault("B4")
def test_a_result_that_cannot_be_turned_into_text_is_recorded_as_opaque(tmp_path: Path) -> None:
    execution = recorded(tmp_path, Unspeakable)
    assert execution.status is Status.RETURNED
    assert execution.result["$df"] == "opaque"


@pytest.mark.fault("B5")
@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt, asyncio.CancelledError, GeneratorExit])
def test_leaving_by_a_base_exception_is_recorded_and_goes_on_unchanged(
    tmp_path: Path, kind: type[BaseException]
) -> None:
    problem = kind("now")

    def leave() -> None:
        raise problem

    session = AuditSession({"leave": leave}, run_dir=tmp_path)
    with pytest.raises(kind) as caught:
        session.call("leave")
    assert caught.value is problem
    session.close()
    (execution,) = load_log(session.log_path).executions
    assert (execution.status, execution.error) == (Status.CANCELLED, kind.__name__)


@pytest.mark.fault("B8")
def test_an_async_tool_runs_and_is_recorded_when_it_is_awaited(tmp_path: Path) -> None:
    async def fetch(page: int) -> str:
        await asyncio.sleep(0)
        return f"page {page}"

    session = AuditSession({"fetch": fetch}, run_dir=tmp_path)
    pending = session.acall("fetch", {"page": 1})
    assert [event["type"] for event in events_of(session.log_path)] == ["open"]
    assert asyncio.run(pending) == "page 1"
    session.close()
    (execution,) = load_log(session.log_path).executions
    assert execution.result == "page 1"


@pytest.mark.fault("B9")
def test_an_object_as_result_is_recorded_alike_in_two_runs(tmp_path: Path) -> None:
    keep_alive = [Thing() for _ in range(10)]
    first, second = recorded(tmp_path / "1", Thing), recorded(tmp_path / "2", lambda: keep_alive[5])
    assert first.result == second.result
    assert first.result["$df"] == "opaque"


@pytest.mark.fault("B9")
def test_a_generator_as_result_is_consumed_and_recorded_as_the_list_of_its_items(tmp_path: Path) -> None:
    def pages() -> Iterator[int]:
        yield from (1, 2)

    session = AuditSession({"pages": pages}, run_dir=tmp_path)
    assert session.call("pages") == "[1,2]"
    session.close()
    (execution,) = load_log(session.log_path).executions
    assert execution.result == [1, 2]


@pytest.mark.fault("A26")
def test_an_argument_that_the_tool_changes_is_recorded_as_it_came(tmp_path: Path) -> None:
    def take(items: list[Any]) -> list[Any]:
        items.append({"more": 1})
        return items

    execution = recorded(tmp_path, take, {"items": [{"a": 1}]})
    assert execution.args == {"items": [{"a": 1}]}
    assert execution.result == [{"a": 1}, {"more": 1}]


@pytest.mark.parametrize(
    "text", ["\u2028", "\u2029", "\x85", "\x1c", "\x1d", "\x0b", "\r", "\n", "\r\n", "\x00"]
)
def test_characters_that_split_lines_elsewhere_stay_inside_their_record(tmp_path: Path, text: str) -> None:
    execution = recorded(tmp_path, lambda key: f"<{key}>", {"key": f"a{text}b"})
    assert execution.args == {"key": f"a{text}b"}
    assert execution.result == f"<a{text}b>"


# -- large results ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "media", "content"),
    [
        ("line é\u2028\n" * 3_000, "text", ("line é\u2028\n" * 3_000).encode()),
        (
            {"rows": [1.5, "x"] * 5_000},
            "json",
            json.dumps({"rows": [1.5, "x"] * 5_000}, separators=(",", ":")).encode(),
        ),
        ("\ud800" + "x" * 20_000, "json", None),
    ],
    ids=["text", "json", "surrogate"],
)
def test_a_large_result_lies_beside_the_log_under_its_digest(
    tmp_path: Path, value: Any, media: str, content: bytes | None
) -> None:
    session = AuditSession({"t": lambda: value}, run_dir=tmp_path, run_id="r")
    session.wrap("t")()
    session.close()
    (execution,) = load_log(session.log_path).executions
    blob = execution.result
    assert isinstance(blob, Blob)
    data = Path(blob.path).read_bytes()
    assert (blob.media, blob.size) == (media, len(data))
    assert hashlib.sha256(data).hexdigest() == blob.sha256 == Path(blob.path).name
    assert content is None or data == content
    assert len(blob.preview) < 3_000
    assert session.log_path.stat().st_size < INLINE_LIMIT


def test_a_result_of_exactly_the_limit_stands_in_the_log(tmp_path: Path) -> None:
    assert recorded(tmp_path / "1", lambda: "x" * (INLINE_LIMIT - 2)).result == "x" * (INLINE_LIMIT - 2)
    assert isinstance(recorded(tmp_path / "2", lambda: "x" * (INLINE_LIMIT - 1)).result, Blob)


def test_equal_large_results_share_one_blob(tmp_path: Path) -> None:
    session = AuditSession({"t": lambda: "x" * 20_000}, run_dir=tmp_path, run_id="r")
    session.call("t")
    session.call("t")
    session.close()
    assert len(list((tmp_path / "r.blobs").iterdir())) == 1
    assert load_log(session.log_path).damage == ()


@pytest.mark.parametrize(
    ("spoil", "kind", "overall"),
    [
        (Path.unlink, DamageKind.MISSING_BLOB, Overall.INCONCLUSIVE),
        (lambda path: path.write_bytes(path.read_bytes() + b"x"), DamageKind.BLOB, Overall.FAIL),
        (lambda path: path.write_bytes(b""), DamageKind.BLOB, Overall.FAIL),
    ],
    ids=["missing", "longer", "empty"],
)
def test_a_missing_blob_is_a_hole_and_a_changed_one_a_contradiction(
    tmp_path: Path, spoil: Callable[[Path], Any], kind: DamageKind, overall: Overall
) -> None:
    session = AuditSession({"t": lambda: "x" * 20_000}, run_dir=tmp_path, run_id="r")
    session.call("canary_probe")
    session.call("t")
    session.close()
    (blob,) = (tmp_path / "r.blobs").iterdir()
    spoil(blob)
    assert [damage.kind for damage in load_log(session.log_path).damage] == [kind]
    session.score(report_of([{"tool": "t", "args": {}}]))
    assert session.outcome.overall is overall


# -- redaction -------------------------------------------------------------------------------------------


def test_what_is_redacted_never_touches_the_disk(tmp_path: Path) -> None:
    secret = "correct horse battery staple"
    session = AuditSession(
        {
            "login": lambda password, user: {
                "token": secret,
                "rows": [{"password": secret}] * 400,
                "user": user,
            }
        },
        run_dir=tmp_path,
        redact=["password", "token"],
    )
    assert secret in session.call("login", {"user": "u", "password": secret})
    session.close()
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or secret.encode() not in path.read_bytes()
    (execution,) = load_log(session.log_path).executions
    assert execution.args == {
        "user": "u",
        "password": {"$df": "redacted", "text": keyed_digest(secret, session.redaction_key)},
    }


def test_a_redaction_rule_that_fails_hides_the_value_and_harms_no_call(tmp_path: Path) -> None:
    def rule(name: str, value: Any) -> bool:
        raise RuntimeError("rule")

    session = AuditSession({"t": lambda x: {"y": x}}, run_dir=tmp_path, redact=rule)
    assert session.call("t", {"x": "secret"}) == '{"y":"secret"}'
    session.close()
    (execution,) = load_log(session.log_path).executions
    assert execution.args["x"] == execution.result["y"]
    assert execution.args["x"]["$df"] == "redacted"


def test_equality_still_matches_under_the_key_and_the_manifest_commits_to_it(tmp_path: Path) -> None:
    session = AuditSession({"pay": lambda iban: "paid"}, run_dir=tmp_path, redact=["iban"])
    session.call("canary_probe")
    session.call("pay", {"iban": "DE-4711"})
    found = []
    for iban in ("DE-4711", "DE-4712"):
        session.score(report_of([{"tool": "pay", "args": {"iban": iban}, "result": "paid"}]))
        found.append(session.outcome.overall)
    assert found == [Overall.PASS, Overall.FAIL]
    keys = json.loads(session.manifest_path.read_bytes())["keys"]
    assert keys == {"redaction_sha256": hashlib.sha256(session.redaction_key).hexdigest()}
    assert session.redaction_key not in session.manifest_path.read_bytes()


# -- durability ------------------------------------------------------------------------------------------


@pytest.fixture
def synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The type of the last record on file at each sync of the log."""
    found: list[str] = []
    original = os.fdatasync

    def fdatasync(fd: int) -> None:
        original(fd)
        logs = {path.stat().st_ino: path for path in tmp_path.glob("*.toollog.jsonl")}
        path = logs.get(os.fstat(fd).st_ino)
        if path is not None:
            found.append(events_of(path)[-1]["type"])

    monkeypatch.setattr(os, "fdatasync", fdatasync)
    return found


def run_of_two(folder: Path, durability: str | dict[str, str]) -> None:
    session = AuditSession(
        {"pay": lambda: "paid", "look": lambda: "seen"}, run_dir=folder, durability=durability
    )
    session.call("look")
    session.call("pay")
    session.close()


def test_under_process_durability_only_the_ends_of_the_log_are_synced(
    tmp_path: Path, synced: list[str]
) -> None:
    run_of_two(tmp_path, "process")
    assert synced == ["open", "close"]


def test_under_power_durability_every_record_is_synced(tmp_path: Path, synced: list[str]) -> None:
    run_of_two(tmp_path, "power")
    assert synced == ["open", *["call.started", "call.returned"] * 2, "close"]


def test_power_durability_can_be_asked_for_by_tool(tmp_path: Path, synced: list[str]) -> None:
    run_of_two(tmp_path, {"pay": "power", "look": "process"})
    assert synced == ["open", "call.started", "call.returned", "close"]


def test_the_durability_is_sealed_in_the_manifest(tmp_path: Path) -> None:
    session = AuditSession(run_dir=tmp_path, durability={"pay": "power"})
    assert json.loads(session.manifest_path.read_bytes())["durability"] == {"pay": "power"}


def test_a_durability_that_does_not_exist_is_a_usage_error(tmp_path: Path) -> None:
    for durability in ("group", {"pay": "disk"}):
        with pytest.raises(UsageError):
            AuditSession(run_dir=tmp_path, durability=durability)


# -- files -----------------------------------------------------------------------------------------------


@pytest.mark.fault("D4")
@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
def test_files_are_for_their_owner_only_in_a_folder_for_its_owner_only(tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        session = AuditSession({"t": lambda: "x" * 20_000}, run_dir=tmp_path / "runs")
        session.call("t")
        session.score("nothing")
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "runs").rglob("*")}
    folders = {path.name for path in (tmp_path / "runs").rglob("*") if path.is_dir()}
    assert len(modes) == 7
    assert {mode for name, mode in modes.items() if name not in folders} == {0o600}
    assert {stat.S_IMODE((tmp_path / "runs").stat().st_mode), *(modes[name] for name in folders)} == {0o700}


@pytest.mark.fault("D4")
def test_the_nonce_is_on_disk_only_where_a_canary_or_the_close_record_shows_it(tmp_path: Path) -> None:
    session = AuditSession({"t": lambda: "done"}, run_dir=tmp_path)
    session.call("t")
    nonce = session._nonce.encode()
    assert [path.name for path in tmp_path.iterdir() if nonce in path.read_bytes()] == []
    session.close()
    assert [path for path in tmp_path.iterdir() if nonce in path.read_bytes()] == [session.log_path]


@pytest.mark.fault("D1")
def test_a_run_id_that_is_taken_is_refused_and_nothing_of_the_run_is_touched(tmp_path: Path) -> None:
    first = AuditSession({"t": lambda: "done"}, run_dir=tmp_path, run_id="r")
    first.call("t")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(RunExistsError) as caught:
        AuditSession(run_dir=tmp_path, run_id="r")
    assert caught.value.exit_code == 64
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    first.call("t")
    first.close()
    assert load_log(first.log_path).completeness is Completeness.CLOSED


@pytest.mark.fault("D1")
@pytest.mark.parametrize("left", ["r.manifest.json", "r.toollog.jsonl"])
def test_one_file_of_a_run_is_enough_for_its_id_to_be_taken(tmp_path: Path, left: str) -> None:
    AuditSession(run_dir=tmp_path, run_id="r").close()
    for path in tmp_path.iterdir():
        if path.name != left:
            path.unlink()
    before = (tmp_path / left).read_bytes()
    with pytest.raises(RunExistsError):
        AuditSession(run_dir=tmp_path, run_id="r")
    assert [path.name for path in tmp_path.iterdir()] == [left]
    assert (tmp_path / left).read_bytes() == before


@pytest.mark.fault("D3")
@pytest.mark.parametrize(
    "run_id",
    [
        "../x",
        "a/b",
        "",
        ".",
        "..",
        ".hidden",
        "-x",
        "_x",
        "a b",
        "a\n",
        "é",
        "a+b",
        "x" * 129,
        "a\x00",
        "C:\\x",
    ],
    ids=ascii,
)
def test_a_run_id_that_is_no_plain_name_is_refused(tmp_path: Path, run_id: str) -> None:
    with pytest.raises(UsageError):
        AuditSession(run_dir=tmp_path / "runs", run_id=run_id)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.fault("D3")
@pytest.mark.parametrize("run_id", ["a", "A.b-c_9", "x" * 128, "0"])
def test_a_plain_run_id_is_taken_as_it_is(tmp_path: Path, run_id: str) -> None:
    with AuditSession({"t": lambda: 1}, run_dir=tmp_path, run_id=run_id) as session:
        session.call("t")
    assert load_log(tmp_path / f"{run_id}.toollog.jsonl").run_id == run_id


@pytest.mark.fault("D1")
def test_run_ids_that_are_left_out_never_meet(tmp_path: Path) -> None:
    names = {AuditSession(run_dir=tmp_path).run_id for _ in range(50)}
    assert len(names) == 50
