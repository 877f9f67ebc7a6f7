"""polygraph-bench turns: events, closing words, labels that are not read."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from harness_damage import (
    check_cut,
    check_missing,
    check_wrong_types,
    counts,
    foreign_samples,
    jsonl,
    read_or_refuse,
    written,
)

from dispatch_fidelity.errors import InvalidInputError
from dispatch_fidelity.model.call import Learned, Status, Unknown
from dispatch_fidelity.model.run import Completeness, ImportedRun
from dispatch_fidelity.transcripts.polygraph import read, recognise, side

CLOSED, PARTIAL = Completeness.CLOSED, Completeness.PARTIAL
Run = Callable[..., ImportedRun]


def call(call_id: Any = "c1", **given: Any) -> dict[str, Any]:
    return {"type": "tool_call", "call_id": call_id, "name": "run", "arguments": given or {"cmd": "make"}}


def result(call_id: Any = "c1", content: Any = "ok", **more: Any) -> dict[str, Any]:
    flags = {"is_error": False, "truncated": False}
    return {"type": "tool_result", "call_id": call_id, "content": content, **flags, **more}


SPOKE = {"type": "message", "text": "On it."}


def turn(*events: Any, **more: Any) -> dict[str, Any]:
    whole = {
        "schema_version": "1.0",
        "id": "pb-1",
        "task": "Build.",
        "events": list(events),
        "closing": "Built.",
    }
    return {**whole, **more}


@pytest.fixture
def run(tmp_path: Path) -> Run:
    def only(*events: Any, **more: Any) -> ImportedRun:
        (found,) = read(written(tmp_path / "items.jsonl", turn(*events, **more)))
        return found

    return only


def test_the_development_set_has_its_counts_and_every_turn_is_closed(shared: Path) -> None:
    found = list(read(shared / "benchmarks/polygraph/items.jsonl"))
    assert tuple(counts(found).values()) == (396, 878, 168, 0, 32384)
    assert Counter(each.record.completeness for each in found) == {CLOSED: 396}
    assert len({each.record.run_id for each in found}) == 396
    assert sum(execution.cut for each in found for execution in each.record) == 16


def test_only_this_format_is_recognised_and_labels_are_a_side_file(shared: Path) -> None:
    folder = shared / "benchmarks"
    items, labels = (
        (folder / "polygraph" / name).read_bytes()[:65536] for name in ("items.jsonl", "labels.jsonl")
    )
    assert (recognise(items), side(items)) == (0.9, "")
    assert (recognise(labels), side(labels)[:19]) == (0.0, "labels of polygraph")
    other = (folder / "agent_claimcheck/traces.train.jsonl").read_bytes()[:65536]
    foreign = [*foreign_samples(shared), ("agent-trace", other)]
    assert [name for name, head in foreign if recognise(head) >= 0.5 or side(head)] == []


def test_events_are_calls_and_results_and_the_closing_words_the_report(run: Run) -> None:
    found = run(SPOKE, call("a"), call("b"), result("b", "no", is_error=True), result("a", truncated=True))
    assert [(e.tool, e.args, e.status, e.learned, e.result, e.cut, e.step) for e in found.record] == [
        ("run", {"cmd": "make"}, Status.RETURNED, Learned.FLAG, "ok", True, 1),
        ("run", {"cmd": "make"}, Status.RAISED, Learned.FLAG, "no", False, 1),
    ]
    assert (found.report, found.task, found.record.run_id) == ("Built.", "Build.", "pb-1")
    assert found.record.completeness is CLOSED


def test_calls_one_after_the_other_are_steps_of_their_own_and_ids_may_repeat(run: Run) -> None:
    found = run(call(), result(), call(), result(content="again"))
    assert [(e.step, e.result) for e in found.record] == [(0, "ok"), (2, "again")]


def test_empty_closing_words_claim_nothing_and_end_the_turn(run: Run) -> None:
    found = run(SPOKE, call(), result(), closing="")
    assert (found.report, found.record.completeness) == ("", CLOSED)


def test_a_turn_that_is_not_whole_is_partial(run: Run) -> None:
    for found in (run(call()), run(schema_version="9"), run({"type": "new"}), run(result())):
        assert found.record.completeness is PARTIAL


def test_a_damaged_result_is_unknown_and_no_failure(run: Run) -> None:
    for bad in (result(content=7, is_error=True), result(is_error="yes"), result(truncated=7)):
        found = run(call(), bad)
        assert [(e.status, e.result) for e in found.record] == [(Status.UNKNOWN, Unknown("unreadable"))]
        assert found.record.completeness is PARTIAL


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b"7", {"events": []}, b"plain"])
def test_what_is_no_turn_is_refused(tmp_path: Path, content: Any) -> None:
    with pytest.raises(InvalidInputError):
        list(read(written(tmp_path / "items.jsonl", content)))


WHOLE = turn(SPOKE, call("a"), result("a"), call("b"), result("b", "no", is_error=True, truncated=True))


def test_a_broken_line_is_a_damaged_run_and_leaves_the_others_whole(tmp_path: Path) -> None:
    found = list(read(written(tmp_path / "items.jsonl", jsonl(WHOLE) + b'{"id\n' + jsonl(WHOLE))))
    assert [each.record.completeness for each in found] == [CLOSED, PARTIAL, CLOSED]


def test_wrong_types_anywhere_accuse_no_one(tmp_path: Path) -> None:
    check_wrong_types(read, tmp_path / "file", WHOLE, free=("arguments",), limit=300)
    check_wrong_types(
        read, tmp_path / "file", [WHOLE, turn(id="pb-2")], free=("arguments",), limit=300, lines=True
    )
    check_missing(read, tmp_path / "file", WHOLE, free=("arguments",), limit=300)


def test_a_file_that_was_cut_is_refused_or_read_as_far_as_it_goes(tmp_path: Path) -> None:
    check_cut(read, tmp_path / "file", json.dumps(WHOLE, indent=1).encode(), 60)
    check_cut(read, tmp_path / "file", jsonl(WHOLE, WHOLE), 60, lines=True)


def test_a_key_that_stands_twice_is_damage_where_it_stands(tmp_path: Path) -> None:
    content = (
        json.dumps(WHOLE).replace('"is_error": false', '"is_error": false, "is_error": true', 1).encode()
    )
    found = read_or_refuse(read, written(tmp_path / "file", content))
    assert found is None or [each.record.completeness for each in found] == [PARTIAL]


@pytest.mark.parametrize("flag", [None, 7, ...])
def test_a_result_that_does_not_say_whether_it_failed_is_open(run: Run, flag: Any) -> None:
    ended = result(is_error=flag)
    if flag is ...:
        del ended["is_error"]
    found = run(call(), ended)
    assert [each.status for each in found.record] == [Status.UNKNOWN]
    assert (found.record.completeness, len(found.record.damage)) == (PARTIAL, 1)
