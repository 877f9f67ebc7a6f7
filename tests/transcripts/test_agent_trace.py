"""agent-trace/v1: steps without ids, probes of the environment, ground truth that is not read."""

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
from dispatch_fidelity.transcripts.agent_trace import read, recognise

CLOSED, PARTIAL = Completeness.CLOSED, Completeness.PARTIAL
Run = Callable[..., ImportedRun]


def step(kind: str, role: str, **more: Any) -> dict[str, Any]:
    empty = dict.fromkeys(("args", "content", "error", "name", "ok", "output"))
    return {**empty, "kind": kind, "role": role, "ts": "2026-01-01T00:00:00Z", **more}


def said(content: Any = "Booked.", role: str = "agent") -> dict[str, Any]:
    return step("message", role, content=content)


def call(name: str = "book", **args: Any) -> dict[str, Any]:
    return step("tool_call", "agent", name=name, args=args)


def result(name: str = "book", ok: Any = True, output: Any = None, error: Any = None) -> dict[str, Any]:
    output = {"id": "e1"} if output is None and error is None and ok is not None else output
    return step("tool_result", "tool", name=name, ok=ok, output=output, error=error)


PROBE = step("state_probe", "environment", name="get", ok=False, output=None, error="not_found")


def trace(*steps: Any, **more: Any) -> dict[str, Any]:
    numbered = [{"i": number, **each} for number, each in enumerate(steps)]
    return {
        "schema": "agent-trace/v1",
        "trace_id": "booking-1",
        "task": {"id": "t", "instruction": "Book it."},
        "steps": numbered,
        "final_claim": {"text": "Booked.", "claims": []},
        "ground_truth": {"outcome": "failure"},
        **more,
    }


ASK = said("Book it, please.", "user")


@pytest.fixture
def run(tmp_path: Path) -> Run:
    def only(*steps: Any, **more: Any) -> ImportedRun:
        (found,) = read(written(tmp_path / "traces.jsonl", trace(*steps, **more)))
        return found

    return only


def test_the_development_set_has_its_counts_and_every_trace_is_closed(shared: Path) -> None:
    found = list(read(shared / "benchmarks/agent_claimcheck/traces.train.jsonl"))
    assert tuple(counts(found).values()) == (180, 761, 51, 0, 19399)
    assert Counter(each.record.completeness for each in found) == {CLOSED: 180}


def test_only_this_format_is_recognised(shared: Path) -> None:
    folder = shared / "benchmarks"
    assert recognise((folder / "agent_claimcheck/traces.train.jsonl").read_bytes()[:65536]) >= 0.9
    other = (folder / "polygraph/items.jsonl").read_bytes()[:65536]
    foreign = [*foreign_samples(shared), ("polygraph", other)]
    assert [name for name, head in foreign if recognise(head) >= 0.5] == []


def test_a_result_ends_the_open_call_of_its_name(run: Run) -> None:
    found = run(ASK, call("a", x=1), call("b"), result("b"), result("a", ok=False, error="no"), said())
    assert [(e.tool, e.args, e.status, e.learned, e.result, e.message, e.step) for e in found.record] == [
        ("a", {"x": 1}, Status.RAISED, Learned.FLAG, "no", "no", 1),
        ("b", {}, Status.RETURNED, Learned.FLAG, {"id": "e1"}, "", 1),
    ]
    assert (found.report, found.task, found.record.run_id) == ("Booked.", "Book it, please.", "booking-1")
    assert found.record.completeness is CLOSED


def test_of_several_open_calls_of_one_name_it_is_unknown_which_one_ended(run: Run) -> None:
    found = run(ASK, call(), call(), result(ok=False, error="no"), result(), said())
    assert [e.status for e in found.record] == [Status.UNKNOWN, Status.RETURNED]
    assert found.record.completeness is PARTIAL


def test_a_failure_may_have_an_output(run: Run) -> None:
    found = run(ASK, call(), result(ok=False, output={"exit_code": 1}), said())
    assert [(e.status, e.result) for e in found.record] == [(Status.RAISED, {"exit_code": 1})]


def test_without_a_flag_a_call_returned_by_default(run: Run) -> None:
    found = run(ASK, call(), result(ok=None, output={"id": "e1"}), said())
    assert [(e.status, e.learned) for e in found.record] == [(Status.RETURNED, Learned.DEFAULT)]


def test_probes_are_no_calls_of_the_agent(run: Run) -> None:
    found = run(ASK, call(), result(), said(), PROBE)
    assert (len(found.record), found.record.completeness) == (1, CLOSED)
    assert any("1 state probes" in note for note in found.record.notes)


def test_ground_truth_and_spelled_out_claims_do_not_change_what_is_read(run: Run) -> None:
    steps = (ASK, call(), result(), said())
    plain = run(*steps)
    claims = {"text": "Booked.", "claims": [{"type": "invite_sent"}]}
    assert plain == run(*steps, ground_truth={"outcome": "success"}, final_claim=claims)
    assert plain == run(*steps, ground_truth=7)


@pytest.mark.parametrize(
    ("document", "note"),
    [
        (trace(ASK, call(), said()), "1 calls have no result"),
        (trace(ASK, call(), result()), "the end of the run is not in the file"),
        (trace(ASK, said(), step("new", "agent")), "'new' are not known here"),
        (trace(ASK, said(), schema="agent-trace/v2"), "'agent-trace/v2' of the format is not known"),
        (trace(ASK, said(), steps=trace(ASK, said())["steps"][1:]), "the numbers of the steps have gaps"),
        (
            trace(ASK, call(), {**result(), "output": None}, said()),
            "the results of some calls were not captured",
        ),
    ],
)
def test_a_trace_that_is_not_whole_is_partial_and_says_why(tmp_path: Path, document: Any, note: str) -> None:
    (found,) = read(written(tmp_path / "traces.jsonl", document))
    assert found.record.completeness is PARTIAL
    assert any(note in each for each in found.record.notes)


def test_a_damaged_result_is_unknown_and_no_failure(run: Run) -> None:
    found = run(ASK, call(), result(ok="no"), said())
    assert [e.status for e in found.record] == [Status.UNKNOWN]
    found = run(ASK, call(), result(ok=False, error=7), said())
    assert [(e.status, e.result) for e in found.record] == [(Status.UNKNOWN, Unknown("unreadable"))]
    found = run(ASK, call(), result(ok=True, output={}, error="no"), said())
    assert [e.status for e in found.record] == [Status.UNKNOWN]


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b"7", {"steps": []}, b"plain"])
def test_what_is_no_trace_is_refused(tmp_path: Path, content: Any) -> None:
    with pytest.raises(InvalidInputError):
        list(read(written(tmp_path / "traces.jsonl", content)))


WHOLE = trace(ASK, call("a"), result("a"), call("b"), result("b", ok=False, error="no"), said(), PROBE)
FREE = ("args", "=output", "claims", "ground_truth", "meta")


def test_a_broken_line_is_a_damaged_run_and_leaves_the_others_whole(tmp_path: Path) -> None:
    found = list(read(written(tmp_path / "traces.jsonl", jsonl(WHOLE) + b'{"i\n' + jsonl(WHOLE))))
    assert [each.record.completeness for each in found] == [CLOSED, PARTIAL, CLOSED]


def test_wrong_types_anywhere_accuse_no_one(tmp_path: Path) -> None:
    check_wrong_types(read, tmp_path / "file", WHOLE, free=FREE, limit=400)
    check_missing(read, tmp_path / "file", WHOLE, free=FREE, limit=400)


def test_a_file_that_was_cut_is_refused_or_read_as_far_as_it_goes(tmp_path: Path) -> None:
    check_cut(read, tmp_path / "file", json.dumps(WHOLE, indent=1).encode(), 60)
    check_cut(read, tmp_path / "file", jsonl(WHOLE, WHOLE), 60, lines=True)


def test_a_key_that_stands_twice_is_damage_where_it_stands(tmp_path: Path) -> None:
    content = json.dumps(WHOLE).replace('"ok": false', '"ok": false, "ok": true', 1).encode()
    found = read_or_refuse(read, written(tmp_path / "file", content))
    assert found is None or [each.record.completeness for each in found] == [PARTIAL]
