"""An assessment as text: the outcome first, then every false claim beside the record."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from judged_runs import HOSTILE, UNSAFE, item, judged, lying, session_in

from dispatch_fidelity import AuditSession
from dispatch_fidelity.audit import assess, choose
from dispatch_fidelity.evidence.manifest import read_manifest
from dispatch_fidelity.log.reader import load_log
from dispatch_fidelity.model.assessment import Assessment
from dispatch_fidelity.rendering.plain import (
    CHECKS,
    LISTED,
    SUMMARY_HEAD,
    assessment_lines,
    binding_lines,
    claim_lines,
    render_assessment,
    summary_row,
    table_lines,
)
from dispatch_fidelity.rendering.text import columns
from dispatch_fidelity.simulation.agents import report_of

RAW = "stands where raw characters go"


def texts(lines: list[tuple[str, str]]) -> list[str]:
    return [text for _, text in lines]


def shown(assessment: Assessment) -> str:
    return render_assessment(assessment)


def case(assessment: Assessment, verdict: str) -> list[str]:
    """The lines of the first claim with this verdict."""
    lines = texts(claim_lines(assessment))
    start = next(n for n, text in enumerate(lines) if text.startswith(verdict))
    return lines[start : lines.index("", start) if "" in lines[start:] else None]


# -- outcomes ----------------------------------------------------------------------------------------------


def test_a_pass_shows_outcome_counts_and_what_it_rests_on(tmp_path: Path) -> None:
    assessment = judged(tmp_path)
    assert shown(assessment).splitlines()[:3] == [
        f"run {assessment.run_id}",
        "PASS  (exit 0)",
        "  - every claim is backed by an execution",
    ]
    text = shown(assessment)
    assert "claims     claimed 2  matched 2  fabricated 0\n" in text
    assert "calls      3 in the record, 1 failed, 1 not mentioned in the report\n" in text
    assert "binding    PROVEN\n" in text
    assert "evidence   E1 D1, record closed\n" in text
    assert claim_lines(assessment) == []


def test_a_fail_shows_how_many_claims_have_which_verdict(tmp_path: Path) -> None:
    text = shown(judged(tmp_path, change=lying))
    assert "FAIL  (exit 1)\n" in text
    assert "claimed 3  matched 1  fabricated 1  substituted 1\n" in text


def test_an_unmeasured_report_shows_why_it_is_inconclusive(tmp_path: Path) -> None:
    session = session_in(tmp_path)
    session.call("canary_probe", {"label": "A"})
    session.score("All was looked up.")
    lines = session.report().splitlines()
    assert lines[1] == "INCONCLUSIVE  (exit 2)"
    assert any(line.startswith("  - no results block") or "claim" in line for line in lines[2:4])


def test_a_run_without_a_binding_shows_it(tmp_path: Path) -> None:
    session = session_in(tmp_path)
    session.call("look", {"at": "here"})
    session.close()
    assessment = assess(report_of([item("here", result="seen here")]), load_log(session.log_path))
    text = shown(assessment)
    assert "INCONCLUSIVE  (exit 2)\n" in text
    assert "binding    NOT_CHECKED\n" in text


def test_every_reason_is_shown(tmp_path: Path) -> None:
    assessment = judged(tmp_path, change=lying, canary=False)
    text = shown(assessment)
    assert all(f"  - {reason}\n" in text for reason in assessment.outcome.reasons)


@pytest.mark.parametrize(
    ("check", "words"),
    [("off", "values of successful calls are not judged"), ("strict", "values are judged")],
)
def test_it_is_said_whether_values_were_judged(tmp_path: Path, check: str, words: str) -> None:
    assert f"results {check} ({words})" in shown(judged(tmp_path, result_check=check))


def test_the_styles_of_the_outcomes_differ(tmp_path: Path) -> None:
    good, bad = judged(tmp_path), judged(tmp_path, change=lying)
    open_ended = judged(tmp_path, canary=False)
    assert [assessment_lines(a)[1][0] for a in (good, bad, open_ended)] == ["pass", "fail", "open"]


# -- the case of a claim -----------------------------------------------------------------------------------


def test_a_fabricated_claim_shows_the_words_of_the_report_and_that_there_is_no_record(
    tmp_path: Path,
) -> None:
    assessment = judged(tmp_path, change=lying)
    [claim] = [scored for scored in assessment.score.detail if scored.verdict == "FABRICATED"]
    start, end = claim.span
    assert case(assessment, "FABRICATED") == [
        'FABRICATED  look(at="there")',
        f"  why     {claim.reason}",
        '  result  "seen there"',
        f"  report  [{start}:{end}] {' '.join(assessment.report[start:end].split())}",
        "  record  no such execution",
    ]


def test_a_substituted_claim_shows_the_failed_call_beside_it(tmp_path: Path) -> None:
    lines = case(judged(tmp_path, change=lying), "SUBSTITUTED")
    assert '  result  "a treasure"' in lines
    assert lines[-1].endswith('look(at="nowhere") raised LookupError: there is nothing')
    assert lines[-1].startswith("  record  [main#")


def test_a_claim_of_another_value_shows_the_logged_one(tmp_path: Path) -> None:
    assessment = judged(
        tmp_path, change=lambda items: [item("here", result="seen a ghost"), items[1]], result_check="strict"
    )
    lines = case(assessment, "RESULT_MISMATCH")
    assert '  result  "seen a ghost"' in lines
    assert lines[-1].endswith('returned → "seen here"')


def test_a_false_claim_is_shown_in_full_however_long_it_is(tmp_path: Path) -> None:
    long = "x" * 5000
    assessment = judged(tmp_path, change=lambda items: [*items, item("there", result=long)])
    assert sum(long in line for line in case(assessment, "FABRICATED")) == 2


def test_all_false_claims_are_shown(tmp_path: Path) -> None:
    assessment = judged(tmp_path, change=lambda items: [*items, *(item(f"there {n}") for n in range(200))])
    assert sum(text.startswith("FABRICATED") for text in texts(claim_lines(assessment))) == 200


def test_a_claim_that_the_record_leaves_open_is_shown_after_the_false_ones(tmp_path: Path) -> None:
    session = session_in(tmp_path)
    session.call("canary_probe", {"label": "A"})
    session.call("look", {"at": "nowhere"})
    report = report_of([item("there", result="seen there"), item("nowhere", result="a treasure")])
    assessment = assess(report, load_log(session.log_path), read_manifest(session.manifest_path))
    session.close()
    heads = [text.split("  ")[0] for style, text in claim_lines(assessment) if style in ("fail", "open")]
    assert heads == ["SUBSTITUTED", "UNRESOLVED"]


def test_a_claim_that_the_last_block_drops_is_shown_as_superseded(tmp_path: Path) -> None:
    session = session_in(tmp_path)
    session.call("canary_probe", {"label": "A"})
    here = item("here", result=session.call("look", {"at": "here"}))
    session.score(report_of([here, item("there", result="seen there")]) + report_of([here]))
    assert 'superseded, FABRICATED  look(at="there")' in session.report()


def test_an_item_that_cannot_be_read_is_shown_with_its_words(tmp_path: Path) -> None:
    lines = texts(claim_lines(judged(tmp_path, change=lambda items: [*items, "and many more"])))
    start = next(n for n, text in enumerate(lines) if text.startswith("UNREADABLE  "))
    assert lines[start + 1] == '  report  "and many more"'


def test_where_many_items_cannot_be_read_the_rest_is_counted(tmp_path: Path) -> None:
    lines = texts(claim_lines(judged(tmp_path, change=lambda items: [*items, *["more"] * (LISTED + 7)])))
    assert sum(text.startswith("UNREADABLE") for text in lines) == LISTED
    assert lines[-1] == "and 7 more that cannot be read"


def test_a_result_that_lies_beside_the_log_is_shown_by_size_and_digest(tmp_path: Path) -> None:
    session = AuditSession({"look": lambda at: "y" * 20_000}, run_dir=tmp_path, run_id="blob")
    session.call("canary_probe", {"label": "A"})
    session.call("look", {"at": "here"})
    report = report_of([item("here", result="z")])
    session.close()
    manifest = read_manifest(session.manifest_path)
    choices = choose({"result_check": "strict"}, manifest)
    assessment = assess(report, load_log(session.log_path), manifest, choices=choices)
    assert "→ 20000 bytes, sha256 " in case(assessment, "RESULT_MISMATCH")[-1]


# -- hostile text ------------------------------------------------------------------------------------------


def hostile(folder: Path) -> Assessment:
    """A run in which everything that an agent or a tool can write is hostile."""
    problem = type(f"Jam{HOSTILE}".replace("\ud800", "").replace("\x00", ""), (Exception,), {})

    def tool(at: str) -> str:
        if at == "fail":
            raise problem(HOSTILE)
        return HOSTILE

    session = AuditSession({"look": tool}, run_dir=folder, run_id="hostile", result_check="strict")
    session.call("canary_probe", {"label": HOSTILE})
    session.call("look", {"at": "fail"}, agent_id=HOSTILE, source_id=HOSTILE)
    session.call("look", {"at": HOSTILE})
    session.call(HOSTILE, {HOSTILE: HOSTILE})
    items: list[Any] = [
        {"tool": HOSTILE, "args": {HOSTILE: [HOSTILE, {HOSTILE: HOSTILE}]}, "result": HOSTILE},
        {"tool": "look", "args": {"at": "fail"}, "result": HOSTILE},
        {"tool": "look", "args": {"at": HOSTILE}, "result": "something else"},
        HOSTILE,
        RAW,
    ]
    raw = re.sub("[\x00-\x1f\ud800]", "", HOSTILE)  # what may stand in JSON without an escape
    report = HOSTILE + report_of(items).replace(RAW, raw)
    session.score(report)
    return session.assessment


def test_no_hostile_character_reaches_the_text_raw(tmp_path: Path) -> None:
    text = shown(hostile(tmp_path))
    assert "FAIL  (exit 1)" in text
    assert not UNSAFE.findall(text)
    assert text.encode("utf-8")


def test_no_hostile_character_reaches_the_reasons_raw(tmp_path: Path) -> None:
    def waits() -> Iterator[int]:
        yield 1

    name = HOSTILE.replace("\ud800", "")
    session = AuditSession({name: waits}, run_dir=tmp_path, run_id="open")
    begun = session.wrap(name)()
    assessment = assess("", load_log(session.log_path), read_manifest(session.manifest_path))
    begun.close()
    session.close()
    assert any("\u202e" in reason for reason in assessment.outcome.reasons)
    assert not UNSAFE.findall(shown(assessment))


def test_hostile_text_makes_no_lines_of_its_own(tmp_path: Path) -> None:
    lines = texts(assessment_lines(hostile(tmp_path)))
    assert all("\n" not in line for line in lines)


def test_a_report_cannot_forge_a_line_of_the_answer(tmp_path: Path) -> None:
    forged = "x\nPASS  (exit 0)\n"
    text = shown(judged(tmp_path, change=lambda items: [*items, item(forged, result=forged)]))
    assert "PASS  (exit 0)" not in text.splitlines()


def test_no_hostile_character_reaches_the_table_raw(tmp_path: Path) -> None:
    lines = table_lines([summary_row(hostile(tmp_path))])
    assert len(lines) == 2
    assert not UNSAFE.findall("\n".join(lines))


def test_no_hostile_character_reaches_the_binding_raw(tmp_path: Path) -> None:
    assert not UNSAFE.findall("\n".join(texts(binding_lines(hostile(tmp_path).binding))))


# -- binding -----------------------------------------------------------------------------------------------


def test_each_check_of_a_binding_stands_on_its_own_line_in_words(tmp_path: Path) -> None:
    binding = judged(tmp_path).binding
    lines = texts(binding_lines(binding))
    assert lines[0] == f"binding of run {binding.run_id}: PROVEN"
    assert [line.split()[0] for line in lines[1:]] == list(CHECKS)
    assert all(line.endswith(" holds") for line in lines[1:])


def test_a_failed_check_shows_what_was_found(tmp_path: Path) -> None:
    first, second = session_in(tmp_path), session_in(tmp_path)
    for session in (first, second):
        session.call("canary_probe", {"label": "A"})
        session.close()
    binding = assess("", load_log(first.log_path), read_manifest(second.manifest_path)).binding
    lines = binding_lines(binding)
    assert any(style == "fail" and text.endswith(" FAILS") for style, text in lines)
    assert [text for _, text in lines if text.startswith("  finding  ")] == [
        f"  finding  {finding}" for finding in binding.findings
    ]


def test_a_check_that_cannot_be_made_shows_why(tmp_path: Path) -> None:
    binding = judged(tmp_path, canary=False).binding
    lines = texts(binding_lines(binding))
    assert any(line.endswith(" not derivable") for line in lines)
    assert sum(line.startswith("  open     ") for line in lines) == len(binding.unprovable) > 0


# -- tables ------------------------------------------------------------------------------------------------


def test_a_row_of_the_summary_counts_a_run(tmp_path: Path) -> None:
    assessment = judged(tmp_path, change=lying)
    row = summary_row(assessment)
    assert dict(zip(SUMMARY_HEAD, row, strict=True)) == {
        "run": assessment.run_id,
        "agent": "",
        "calls": "3",
        "failed": "1",
        "open": "0",
        "claims": "3",
        "false": "2",
        "outcome": "FAIL",
        "reasons": "; ".join(assessment.outcome.reasons),
    }


def test_columns_of_a_table_begin_at_one_place() -> None:
    rows: list[tuple[str, ...]] = [
        ("a", "1", "x"),
        ("much longer", "22", "y"),
        ("日本語", "3", "z"),
        ("e\u0301", "4", "w"),
    ]
    lines = table_lines(rows, ("name", "count", "last"))
    ends = [columns(line.rstrip()[:-1]) for line in lines[1:]]
    assert len(set(ends)) == 1
    assert [line.split()[-1] for line in lines] == ["last", "x", "y", "z", "w"]


def test_no_line_of_a_table_ends_in_spaces() -> None:
    assert table_lines([("a", "")], ("name", "reasons")) == ["name  reasons", "a"]


def test_a_table_without_rows_is_its_head() -> None:
    assert table_lines([]) == ["  ".join(SUMMARY_HEAD)]
