"""Logs of inspect_ai: messages and events together, sub-agents in spans, both kinds of file, damage."""

from __future__ import annotations

import io
import json
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from harness_damage import check_cut, check_missing, check_wrong_types, counts, foreign_samples, harm, written

from dispatch_fidelity.errors import InvalidInputError, MissingExtraError
from dispatch_fidelity.model.call import Learned, Status, Unknown
from dispatch_fidelity.model.frozen import UNSET
from dispatch_fidelity.model.run import Completeness, DamageKind, ImportedRun
from dispatch_fidelity.transcripts.inspect_ai import read, recognise
from dispatch_fidelity.transcripts.linking import link

Item = dict[str, Any]
Runs = Callable[[Any], list[ImportedRun]]
Run = Callable[..., ImportedRun]
ZSTD = "backports.zstd" if sys.version_info < (3, 14) else "compression.zstd"
CLOSED, PARTIAL = Completeness.CLOSED, Completeness.PARTIAL


def call(source_id: str = "c1", function: str = "bash", **given: Any) -> Item:
    return {"id": source_id, "function": function, "arguments": given or {"cmd": "ls"}, "type": "function"}


def calls(*made: Item, text: str = "I look.", **more: Any) -> Item:
    return {"role": "assistant", "source": "generate", "content": text, "tool_calls": list(made), **more}


def result(source_id: str = "c1", content: Any = "a.py", **more: Any) -> Item:
    return {"role": "tool", "tool_call_id": source_id, "function": "bash", "content": content, **more}


def tool(source_id: str = "c1", value: Any = "a.py", function: str = "bash", **more: Any) -> Item:
    common = {
        "event": "tool",
        "id": source_id,
        "function": function,
        "arguments": {"cmd": "ls"},
        "result": value,
    }
    return {**common, "timestamp": "t1", "completed": "t2", **more}


def error(kind: str = "unknown", message: str = "no") -> Item:
    return {"type": kind, "message": message}


ASK: Item = {"role": "user", "source": "input", "content": "List the files."}
FINAL: Item = {"role": "assistant", "source": "generate", "content": "There is a.py."}


def output(text: str = "There is a.py.") -> Item:
    return {
        "model": "m",
        "choices": [{"message": {"role": "assistant", "content": text}, "stop_reason": "stop"}],
    }


def sample(*messages: Item, events: Any = (), **more: Any) -> Item:
    whole = {"id": 1, "epoch": 1, "input": "?", "messages": list(messages), "output": output()}
    return {**whole, "events": list(events), "attachments": {}, **more}


def log(*samples: Any, **more: Any) -> Item:
    told = {"task": "files", "run_id": "r", "created": "2026", "model": "m", "dataset": {}}
    return {"version": 2, "status": "success", "eval": told, "plan": {}, "samples": list(samples), **more}


def eval_file(*samples: Any, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", method) as file:
        file.writestr("_journal/start.json", json.dumps({"version": 2, "eval": {}}))
        for number, each in enumerate(samples, 1):
            text = each if isinstance(each, str) else json.dumps(each)
            file.writestr(f"samples/{number}_epoch_1.json", text)
        file.writestr("summaries.json", "[]")
        file.writestr("header.json", json.dumps({"version": 2, "eval": {}}))
    return target.getvalue()


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return lambda content: list(read(written(tmp_path / "log.json", content)))


@pytest.fixture
def run(runs: Runs) -> Run:
    def only(*messages: Item, events: Any = (), **more: Any) -> ImportedRun:
        (found,) = runs(log(sample(*messages, events=events, **more)))
        return found

    return only


# Real files.

SAMPLES = {
    "docent_subset.eval": (6, 49, 1, 0, 1385),
    "own_mock_run.json": (1, 3, 2, 0, 29),
    "own_mock_run_zstd.eval": (1, 3, 2, 0, 29),
    "security-guide.json": (3, 0, 0, 0, 263),
}


def test_every_sample_has_its_counts(shared: Path) -> None:
    folder = shared / "transcripts/inspect_ai"
    assert {path.name for path in folder.iterdir()} == set(SAMPLES)
    pytest.importorskip(ZSTD)
    for name, expected in SAMPLES.items():
        assert tuple(counts(list(read(folder / name))).values()) == expected, name


def test_the_run_that_hit_a_limit_is_the_only_real_one_that_is_not_closed(shared: Path) -> None:
    found = list(read(shared / "transcripts/inspect_ai/docent_subset.eval"))
    assert [each.record.run_id for each in found if each.record.completeness is PARTIAL] == ["sample-56.1"]
    assert all(each.record.intact for each in found)


def test_both_kinds_of_the_own_run_tell_the_same(shared: Path) -> None:
    (plain,) = read(shared / "transcripts/inspect_ai/own_mock_run.json")
    assert [(e.tool, e.status, e.learned, e.error) for e in plain.record] == [
        ("get_weather", Status.RETURNED, Learned.FLAG, ""),
        ("get_weather", Status.RAISED, Learned.FLAG, "unknown"),
        ("no_such", Status.INVALID, Learned.FLAG, "parsing"),
    ]
    assert plain.task == "Weather in Graz and Nowhere?"
    pytest.importorskip(ZSTD)
    (packed,) = read(shared / "transcripts/inspect_ai/own_mock_run_zstd.eval")
    assert [(e.tool, e.args, e.result) for e in packed.record] == [
        (e.tool, e.args, e.result) for e in plain.record
    ]


def test_a_log_that_needs_zstandard_says_which_extra_brings_it(
    shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, ZSTD, None)
    with pytest.raises(MissingExtraError, match=r"dispatch-fidelity\[inspect\]"):
        list(read(shared / "transcripts/inspect_ai/own_mock_run_zstd.eval"))


def test_only_samples_of_this_format_are_recognised(shared: Path) -> None:
    for path in (shared / "transcripts/inspect_ai").iterdir():
        assert recognise(path.read_bytes()[: 64 * 1024]) >= 0.9, path.name
    claimed = [name for name, head in foreign_samples(shared, "inspect_ai/") if recognise(head) >= 0.5]
    assert claimed == []
    other = io.BytesIO()
    with zipfile.ZipFile(other, "w") as file:
        file.writestr("mimetype", "application/epub+zip")
    assert recognise(other.getvalue()) == 0


# Calls.


def test_a_call_is_read_from_its_event_and_its_message(run: Run) -> None:
    found = run(ASK, calls(call()), result(content="a.py (shown)"), FINAL, events=[tool()])
    (execution,) = found.record
    assert (execution.tool, execution.args, execution.result) == ("bash", {"cmd": "ls"}, "a.py")
    assert (execution.shown, execution.at, execution.until) == ("a.py (shown)", "t1", "t2")
    assert (execution.status, execution.learned, execution.step) == (Status.RETURNED, Learned.FLAG, 1)
    assert (found.report, found.task, found.record.completeness) == (
        "There is a.py.",
        "List the files.",
        CLOSED,
    )


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("parsing", Status.INVALID),
        ("approval", Status.REFUSED),
        ("cancelled", Status.CANCELLED),
        ("timeout", Status.RAISED),
        ("unicode_decode", Status.RAISED),
        ("limit", Status.RAISED),
        ("unknown", Status.RAISED),
    ],
)
def test_the_error_of_a_call_is_its_flag(run: Run, kind: str, status: Status) -> None:
    told = error(kind)
    for events in ([tool(value="", error=told)], []):
        found = run(ASK, calls(call()), result(content="", error=told), FINAL, events=events)
        (execution,) = found.record
        assert (execution.status, execution.learned) == (status, Learned.FLAG)
        assert (execution.error, execution.message) == (kind, "no")
        assert found.record.completeness is CLOSED


def test_a_call_that_failed_hard_failed_and_one_that_is_pending_is_open(run: Run) -> None:
    hard = run(ASK, calls(call()), events=[tool(value="", failed=True)], error={"message": "boom"})
    assert [e.status for e in hard.record] == [Status.RAISED]
    pending = run(ASK, calls(call()), events=[tool(value="", pending=True, completed=None)])
    assert [e.status for e in pending.record] == [Status.UNFINISHED]
    assert {hard.record.completeness, pending.record.completeness} == {PARTIAL}


def test_a_structured_result_may_say_itself_that_it_failed(run: Run) -> None:
    value = '{"error": "no"}'
    found = run(ASK, calls(call()), result(content=value), FINAL, events=[tool(value=value)])
    assert [(e.status, e.learned) for e in found.record] == [(Status.RAISED, Learned.VALUE)]


def test_calls_that_compaction_took_out_of_the_messages_stand_in_the_events(run: Run) -> None:
    events = [tool("c0", "old"), tool("c1", "a.py")]
    found = run(ASK, calls(call()), result(), FINAL, events=events)
    assert [(e.source_id, e.result) for e in found.record] == [("c0", "old"), ("c1", "a.py")]
    assert found.record.completeness is CLOSED


def test_a_call_of_the_messages_without_an_event_among_others_leaves_the_record_partial(run: Run) -> None:
    made = calls(call("c1"), call("c2"))
    found = run(ASK, made, result("c1", "1"), result("c2", "2"), FINAL, events=[tool("c2", "2")])
    assert sorted((e.source_id, e.result) for e in found.record) == [("c1", "1"), ("c2", "2")]
    assert found.record.completeness is PARTIAL


def test_a_log_without_events_is_read_by_its_messages(run: Run) -> None:
    made = calls(call("x"), call("x", "python"))
    again = calls(call("x", "python"))
    found = run(ASK, made, result("x", "1"), result("x", "2"), again, result("x", "3"), FINAL)
    assert [(e.tool, e.result, e.step) for e in found.record] == [
        ("bash", "1", 1),
        ("python", "2", 1),
        ("python", "3", 4),
    ]
    assert found.record.completeness is CLOSED


def test_a_call_whose_arguments_did_not_parse_is_invalid_and_one_without_a_result_is_open(run: Run) -> None:
    broken = {**call(), "parse_error": "no JSON"}
    found = run(ASK, calls(broken, call("c2")), FINAL)
    assert [e.status for e in found.record] == [Status.INVALID, Status.UNFINISHED]


def test_calls_and_words_of_the_dataset_were_not_made_in_the_run(run: Run) -> None:
    shot = {**calls(call("c0"), text="An example."), "source": "input"}
    answer = {**result("c0", "old"), "source": "input"}
    found = run(ASK, shot, answer, ASK, calls(call()), result(), FINAL, events=[tool()])
    assert [e.source_id for e in found.record] == ["c1"]
    assert found.record.completeness is CLOSED


def test_texts_that_stand_in_attachments_are_put_back(run: Run) -> None:
    event = tool(arguments={"cmd": "attachment://a"}, value="attachment://b")
    texts = {"a": "cat long", "b": "long text"}
    found = run(ASK, calls(call()), result(content="long text"), FINAL, events=[event], attachments=texts)
    assert [(e.args, e.result, e.shown) for e in found.record] == [({"cmd": "cat long"}, "long text", UNSET)]
    missing = run(ASK, calls(call()), result(content="attachment://c"), FINAL, attachments={})
    assert [(e.status, e.result) for e in missing.record] == [(Status.UNKNOWN, Unknown("unreadable"))]
    assert missing.record.completeness is PARTIAL


def test_output_that_was_shortened_is_cut(run: Run) -> None:
    long = "\nThe output of your call to bash was too long to be displayed.\nHere is a truncated version:"
    assert [e.cut for e in run(ASK, calls(call()), result(content=long), FINAL).record] == [True]
    events = [tool(truncated=[9, 5])]
    assert [e.cut for e in run(ASK, calls(call()), result(), FINAL, events=events).record] == [True]


def test_tools_that_the_provider_ran_are_calls_with_their_results(run: Run) -> None:
    good = {
        "type": "tool_use",
        "tool_type": "web_search",
        "id": "w",
        "name": "search",
        "arguments": '{"q": "x"}',
        "result": "r",
    }
    bad = {**good, "id": "v", "error": "no"}
    words = {**FINAL, "content": [good, bad, {"type": "text", "text": "Found."}]}
    found = run(ASK, words, output={"choices": []})
    assert [(e.tool, e.args, e.result, e.status) for e in found.record] == [
        ("search", {"q": "x"}, "r", Status.RETURNED),
        ("search", {"q": "x"}, "r", Status.RAISED),
    ]
    assert found.report == "Found."


def test_a_result_of_no_open_call_is_damage(run: Run) -> None:
    found = run(ASK, calls(call()), result(), result("other"), FINAL)
    assert [damage.kind for damage in found.record.damage] == [DamageKind.LIFECYCLE]


# Words and ends.


def test_the_output_of_the_sample_is_the_report_and_what_a_solver_adds_is_no_task(run: Run) -> None:
    wrong = {"role": "user", "content": "Your submission was incorrect."}
    found = run(ASK, FINAL, wrong, {**FINAL, "content": "b.py"}, output=output("Submitted: b.py"))
    assert (found.report, found.task) == ("Submitted: b.py", "List the files.")
    assert run(ASK, FINAL, output={"choices": []}).report == "There is a.py."
    bare = {name: value for name, value in ASK.items() if name != "source"}
    assert run(bare, FINAL).task == "List the files."


@pytest.mark.parametrize(
    ("more", "note"),
    [
        ({"error": {"message": "boom"}}, "the sample ended with error boom"),
        ({"limit": {"type": "token", "limit": 5}}, "the sample ended with limit token"),
        ({"invalidation": {"reason": "bad sandbox"}}, "the sample ended with invalidation bad sandbox"),
    ],
)
def test_a_sample_that_was_stopped_is_not_closed(run: Run, more: Any, note: str) -> None:
    found = run(ASK, calls(call()), result(), FINAL, **more)
    assert found.record.completeness is PARTIAL
    assert note in found.record.notes


# Sub-agents and scorers.


def span(name: str, kind: str, parent: str | None = None, title: str = "") -> Item:
    return {"event": "span_begin", "id": name, "type": kind, "name": title or name, "parent_id": parent}


def model(text: str, where: str, name: str = "m1", **more: Any) -> Item:
    message = {"role": "assistant", "id": name, "content": text, **more}
    return {
        "event": "model",
        "span_id": where,
        "output": {"choices": [{"message": message}]},
        "tools": [{"name": "web"}],
    }


def handed(value: str = "Found.", **more: Any) -> list[Item]:
    return [
        span("s", "solver"),
        span("T", "tool", "s", "researcher"),
        tool("c1", value, "researcher", arguments={"input": "Search."}, span_id="s", **more),
        span("A", "agent", "T", "searcher"),
        model("I search.", "A", "m1"),
        tool("c1", "page", "web", span_id="A"),
        model("Found.", "A", "m2"),
    ]


DELEGATES = calls(call("c1", "researcher", input="Search."))


def test_an_agent_inside_the_span_of_a_tool_is_a_run_of_its_own(runs: Runs) -> None:
    document = log(sample(ASK, DELEGATES, result("c1", "Found."), FINAL, events=handed()))
    main, helper = runs(document)
    assert [(e.tool, e.result) for e in main.record] == [("researcher", "Found.")]
    assert [(e.tool, e.result, e.step) for e in helper.record] == [("web", "page", 0)]
    assert (helper.agent, helper.parent, helper.report, helper.task) == (
        "searcher-T@sample-1.1",
        "agent",
        "Found.",
        "Search.",
    )
    assert [(each.agent, each.report) for each in main.delegations] == [("searcher-T@sample-1.1", "Found.")]
    linked = link([main, helper])
    assert [each.record.completeness for each in linked] == [CLOSED, CLOSED]
    assert [e.tool for e in linked[0].behalf] == ["web"]


def test_messages_of_an_agent_that_took_over_are_not_those_of_the_one_that_handed_over(runs: Runs) -> None:
    inner = [calls(call("c9", "web"), text="I search.", id="m1"), result("c9", "page"), {**FINAL, "id": "m2"}]
    events = [*handed(agent="searcher")]
    events[5] = tool("c9", "page", "web", span_id="A")
    main, helper = runs(
        log(sample(ASK, DELEGATES, result("c1", "Taken over."), *inner, FINAL, events=events))
    )
    assert [e.tool for e in main.record] == ["researcher"]
    assert [e.tool for e in helper.record] == ["web"]
    assert [each.report for each in main.delegations] == [""]
    assert main.record.intact


def test_agents_may_work_for_agents(runs: Runs) -> None:
    deeper = [
        span("T2", "tool", "A", "reader"),
        tool("c2", "Read.", "reader", span_id="A"),
        span("A2", "agent", "T2", "reader"),
        tool("c3", "text", "open", span_id="A2"),
        model("Read.", "A2", "m3"),
    ]
    main, first, second = runs(
        log(sample(ASK, DELEGATES, result("c1", "Found."), FINAL, events=[*handed(), *deeper]))
    )
    assert (second.parent, [e.tool for e in second.record]) == (first.agent, ["open"])
    assert [e.tool for e in first.record] == ["web", "reader"]
    assert [e.tool for e in link([main, first, second])[0].behalf] == ["web", "reader", "open"]


def test_what_scorers_do_is_not_the_agents(run: Run) -> None:
    new = [span("k", "scorers"), span("k1", "scorer", "k"), tool("z", "x", span_id="k1"), model("C", "k1")]
    old = [
        {"event": "step", "action": "begin", "type": "scorer"},
        tool("z", "x"),
        {"event": "step", "action": "end", "type": "scorer"},
    ]
    for events in (new, old):
        found = run(ASK, calls(call()), result(), FINAL, events=[tool(), *events])
        assert [e.source_id for e in found.record] == ["c1"]


def test_where_spans_are_missing_no_agent_is_known_to_have_made_all_its_calls(runs: Runs) -> None:
    for gone in (1, 3):
        events = [each for place, each in enumerate(handed()) if place != gone]
        found = runs(log(sample(ASK, DELEGATES, result("c1", "Found."), FINAL, events=events)))
        assert {each.record.completeness for each in found} == {PARTIAL}


def test_calls_in_the_own_events_of_an_old_call_leave_the_record_partial(run: Run) -> None:
    events = [tool(events=[tool("c5", "x")])]
    assert run(ASK, calls(call()), result(), FINAL, events=events).record.completeness is PARTIAL


def test_an_agent_whose_helper_is_not_whole_is_not_closed(runs: Runs) -> None:
    events = handed()
    events[5] = tool("c9", "", "web", span_id="A", pending=True)
    found = runs(log(sample(ASK, DELEGATES, result("c1", "Found."), FINAL, events=events)))
    assert [each.record.completeness for each in found] == [PARTIAL, PARTIAL]


def test_spans_that_contain_each_other_are_read(run: Run) -> None:
    loop = [span("a", "x", "b"), span("b", "x", "a"), tool(span_id="a")]
    assert len(run(ASK, calls(call()), result(), FINAL, events=loop).record) == 1


# Files.


def test_the_samples_of_a_zip_file_are_those_of_the_json_file(runs: Runs) -> None:
    whole = sample(ASK, calls(call()), result(), FINAL, events=[tool()])
    found = runs(eval_file(whole, {**whole, "epoch": 2}))
    assert [each.record.run_id for each in found] == ["sample-1.1", "sample-1.2"]
    assert [len(each.record) for each in found] == [1, 1]
    assert {each.record.completeness for each in found} == {CLOSED}


def test_samples_of_one_name_are_told_apart(runs: Runs) -> None:
    found = runs(log(sample(ASK, FINAL), sample(ASK, FINAL), {"messages": []}))
    assert [each.record.run_id for each in found] == ["sample-1.1", "sample-1.1.run-1", "sample-2"]


def test_a_sample_that_cannot_be_read_is_a_damaged_run_and_leaves_the_others_whole(runs: Runs) -> None:
    whole = sample(ASK, FINAL)
    found = runs(eval_file(whole, '{"id": 2', "5", whole))
    assert [each.record.completeness for each in found] == [CLOSED, PARTIAL, PARTIAL, CLOSED]
    assert [len(each.record.damage) for each in found] == [0, 1, 1, 0]
    found = runs(log(whole, 5, whole))
    assert [each.record.completeness for each in found] == [CLOSED, PARTIAL, CLOSED]


def test_a_sample_in_chunks_is_named_and_not_read(runs: Runs) -> None:
    target = io.BytesIO(eval_file(sample(ASK, FINAL)))
    with zipfile.ZipFile(target, "a") as file:
        file.writestr("samples/7_epoch_1/sample.json", "{}")
        file.writestr("samples/7_epoch_1/messages/0.json", "[]")
    found = runs(target.getvalue())
    assert [each.record.run_id for each in found] == ["sample-1.1", "sample-7_epoch_1"]
    assert "in chunks" in found[1].record.damage[0].text


def test_a_zip_file_that_was_cut_gives_the_samples_that_are_whole_and_none_is_closed(runs: Runs) -> None:
    data = eval_file(sample(ASK, FINAL), sample(ASK, calls(call()), result(), FINAL))
    cut = data[: data.index(b"summaries.json")]
    found = runs(cut)
    assert [len(each.record) for each in found] == [0, 1]
    assert {each.record.completeness for each in found} == {PARTIAL}
    assert {damage.kind for each in found for damage in each.record.damage} == {DamageKind.TORN}


def test_every_cut_of_a_zip_file_is_refused_or_read(tmp_path: Path) -> None:
    data = eval_file(sample(ASK, calls(call()), result(), FINAL))
    original = list(read(written(tmp_path / "whole", data)))
    for end in range(0, len(data), 7):
        try:
            found = list(read(written(tmp_path / "cut", data[:end])))
        except InvalidInputError:
            continue
        assert not harm(found, original), end
        assert all(each.record.completeness is PARTIAL for each in found)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b"[]",
        b"7",
        b"PK",
        b"PK\x03\x04",
        log(),
        {"eval": {"task": "x"}},
        eval_file(),
        b"plain",
        {"samples": []},
    ],
)
def test_what_holds_no_sample_is_refused(runs: Runs, content: Any) -> None:
    with pytest.raises(InvalidInputError):
        runs(content)


def test_a_sample_that_is_not_strict_json_is_damage_where_it_matters(runs: Runs) -> None:
    text = json.dumps(sample(ASK, calls(call()), result(), FINAL, score=1.5))
    (harmless,) = runs(eval_file(text.replace("1.5", "NaN")))
    assert harmless.record.completeness is CLOSED
    (harmed,) = runs(eval_file(text.replace('{"cmd": "ls"}', '{"cmd": NaN}')))
    assert harmed.record.completeness is PARTIAL


# Damage.

FREE = ("arguments", "eval", "plan", "input", "state", "tools", "attachments")


@pytest.mark.parametrize("content", [5, {"x": 1}, [5], None])
def test_a_result_that_cannot_be_read_says_neither_success_nor_failure(run: Run, content: Any) -> None:
    found = run(ASK, calls(call()), result(content="a.py"), FINAL, events=[tool(value=content)])
    assert [(e.status, e.result) for e in found.record] == [(Status.UNKNOWN, Unknown("unreadable"))]
    assert found.record.completeness is PARTIAL


def test_wrong_types_anywhere_accuse_no_one(tmp_path: Path) -> None:
    path = tmp_path / "file"
    plain = sample(ASK, calls(call(), call("c2")), result(), result("c2", "", error=error()), FINAL)
    with_events = {**plain, "events": [span("s", "solver"), tool(), tool("c2", "", error=error())]}
    helped = sample(ASK, DELEGATES, result("c1", "Found."), FINAL, events=handed())
    for document in (log(plain), log(with_events), log(helped)):
        check_wrong_types(read, path, document, free=FREE, limit=110)
        check_missing(read, path, document, free=FREE, limit=110)


def test_a_file_that_was_cut_is_refused(tmp_path: Path) -> None:
    document = log(sample(ASK, calls(call()), result(), FINAL))
    check_cut(read, tmp_path / "file", json.dumps(document, indent=1).encode(), 40)
