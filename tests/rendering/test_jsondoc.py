"""An assessment as JSON: exactly the documented keys, and nothing that JSON cannot hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from judged_runs import HOSTILE, item, judged, lying, session_in

from dispatch_fidelity.audit import assess, choose
from dispatch_fidelity.jsonio import encode_pretty
from dispatch_fidelity.log.reader import load_log
from dispatch_fidelity.model.assessment import Assessment
from dispatch_fidelity.rendering.jsondoc import assessment_document, audit_document, run_document
from dispatch_fidelity.simulation.agents import report_of

RESULT = {"run_id", "score", "binding", "outcome", "level", "regime"}
COUNTERS = {
    "claimed",
    "matched",
    "fabricated",
    "substituted",
    "mismatched",
    "overstated",
    "stale",
    "unresolved",
    "omitted",
    "canary_claimed",
    "canary_fabricated",
    "fabrication_rate",
    "substitution_rate",
    "value_integrity_failures",
    "clean",
}
SCORE = COUNTERS | {
    "arg_canonicalisation",
    "by_source",
    "detail",
    "superseded",
    "unreadable",
    "omitted_calls",
    "notes",
}
CLAIM = {
    "tool",
    "action",
    "args",
    "verdict",
    "reason",
    "claimed_result",
    "source",
    "strength",
    "span",
    "text",
    "execution",
}
RUN = {
    "run",
    "source",
    "format",
    "agent",
    "parent",
    "calls",
    "failed",
    "unfinished",
    "report_chars",
} | RESULT


def plain(document: dict[str, Any]) -> dict[str, Any]:
    """A document as it is read back from the file that it was written to."""
    text = encode_pretty(document)
    assert text.isascii()
    found: dict[str, Any] = json.loads(text)
    return found


def result(assessment: Assessment) -> dict[str, Any]:
    return plain(assessment_document(assessment))


# -- keys --------------------------------------------------------------------------------------------------


def test_a_result_has_exactly_the_documented_keys(tmp_path: Path) -> None:
    found = result(judged(tmp_path, change=lying))
    assert found.keys() == RESULT
    assert found["score"].keys() == SCORE
    assert found["binding"].keys() == {"status", "bound", "checks", "findings", "unprovable"}
    assert found["outcome"].keys() == {"overall", "measurement", "binding", "exit_code", "reasons"}
    assert found["level"].keys() == {"evidence", "durability", "completeness", "does_not_show"}
    assert found["regime"].keys() == {"result_check", "binding_proof", "implied", "arg_canonicalisation"}


def test_a_claim_has_exactly_the_documented_keys(tmp_path: Path) -> None:
    detail = result(judged(tmp_path, change=lying))["score"]["detail"]
    assert [claim.keys() for claim in detail] == [CLAIM] * 3
    assert {type(claim["execution"]) for claim in detail} == {dict, type(None)}
    assert detail[0]["execution"].keys() == {"stream", "n", "call"}


def test_an_audited_run_has_exactly_the_documented_keys(tmp_path: Path) -> None:
    found = plain(audit_document([run_document(judged(tmp_path))], "PASS"))
    assert found.keys() == {"runs", "outcome"}
    assert [run.keys() for run in found["runs"]] == [RUN]


def test_errors_of_an_audit_are_listed_only_where_there_are_some() -> None:
    errors = [{"source": "x.json", "error": "unknown format", "exit_code": 65}]
    assert plain(audit_document([], "65", errors)) == {"runs": [], "outcome": "65", "errors": errors}


# -- values ------------------------------------------------------------------------------------------------


def test_the_counters_are_those_of_the_score(tmp_path: Path) -> None:
    assessment = judged(tmp_path, change=lying)
    found = result(assessment)["score"]
    assert {name: found[name] for name in COUNTERS} == {
        name: getattr(assessment.score, name) for name in COUNTERS
    }
    assert (found["claimed"], found["fabricated"], found["substituted"]) == (3, 1, 1)


def test_rates_of_a_report_that_claims_nothing_are_null(tmp_path: Path) -> None:
    found = result(judged(tmp_path, change=lambda items: []))["score"]
    assert (found["claimed"], found["fabrication_rate"], found["substitution_rate"]) == (0, None, None)
    assert found["clean"] is False


def test_the_span_and_the_text_of_a_claim_are_its_words_in_the_report(tmp_path: Path) -> None:
    assessment = judged(tmp_path, change=lying, words="Größe 日本 🙂")
    for claim in result(assessment)["score"]["detail"]:
        start, end = claim["span"]
        assert claim["text"] == assessment.report[start:end]
        assert json.loads(claim["text"])["args"] == claim["args"]


def test_the_execution_of_a_claim_is_found_in_the_log_by_its_key(tmp_path: Path) -> None:
    session = session_in(tmp_path)
    session.call("canary_probe", {"label": "A"})
    session.call("look", {"at": "here"})
    session.score(report_of([item("here", result="seen here")]))
    [claim] = result(session.assessment)["score"]["detail"]
    [started] = [
        line
        for line in map(json.loads, session.log_path.read_bytes().splitlines())
        if line["type"] == "call.started" and line["call"] == claim["execution"]["call"]
    ]
    key = {"stream": started["stream"], "n": started["n"], "call": started["call"]}
    assert (claim["execution"], started["args"]) == (key, {"at": "here"})


def test_executions_that_no_claim_speaks_of_are_listed_with_their_key(tmp_path: Path) -> None:
    found = result(judged(tmp_path))["score"]
    [omitted] = found["omitted_calls"]
    assert omitted.keys() == {"tool", "args", "status", "stream", "n", "call"}
    assert (omitted["tool"], omitted["status"], found["omitted"]) == ("canary_probe", "returned", 1)


def test_what_cannot_be_read_is_listed_with_its_words(tmp_path: Path) -> None:
    [unreadable] = result(judged(tmp_path, change=lambda items: [*items, "and more"]))["score"]["unreadable"]
    assert unreadable.keys() == {"reason", "span", "text"}
    assert unreadable["text"] == '"and more"'


def test_the_outcome_and_its_exit_code_agree(tmp_path: Path) -> None:
    found = [
        result(judged(tmp_path, **options))["outcome"]
        for options in ({}, {"change": lying}, {"canary": False})
    ]
    assert [(outcome["overall"], outcome["exit_code"]) for outcome in found] == [
        ("PASS", 0),
        ("FAIL", 1),
        ("INCONCLUSIVE", 2),
    ]
    assert all(outcome["reasons"] for outcome in found)


def test_the_checks_of_the_binding_are_words(tmp_path: Path) -> None:
    found = result(judged(tmp_path, canary=False))["binding"]
    assert set(found["checks"].values()) <= {"holds", "fails", "not derivable"}
    assert (found["status"], found["bound"]) == ("UNPROVEN", False)


def test_choices_that_were_made_stand_in_the_regime(tmp_path: Path) -> None:
    session = session_in(tmp_path, result_check="strict")
    session.close()
    options = {"require": "E1,D1", "nonce_pattern": "n=([0-9a-f]+)"}
    assessment = assess("", load_log(session.log_path), choices=choose(options, None, implied="fail"))
    found = result(assessment)["regime"]
    assert found["implied"] == "fail"
    assert {name: found[name] for name in options} == options


def test_a_run_counts_its_calls(tmp_path: Path) -> None:
    assessment = judged(tmp_path)
    found = plain(run_document(assessment))
    assert (found["run"], found["run_id"]) == (assessment.run_id, assessment.run_id)
    assert (found["calls"], found["failed"], found["unfinished"]) == (3, 1, 0)
    assert found["report_chars"] == len(assessment.report)


def test_hostile_text_is_kept_exactly_and_written_as_ascii(tmp_path: Path) -> None:
    assessment = judged(tmp_path, change=lambda items: [*items, item(HOSTILE.replace("\ud800", ""))])
    assert result(assessment)["score"]["detail"][-1]["args"]["at"] == HOSTILE.replace("\ud800", "")


def test_half_a_character_in_a_report_does_not_keep_the_result_from_being_written(tmp_path: Path) -> None:
    found = result(judged(tmp_path, change=lambda items: [*items, item("\ud800")], words="\ud800"))
    assert found["outcome"]["overall"] in ("FAIL", "INCONCLUSIVE")
