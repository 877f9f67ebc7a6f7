from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dispatch_fidelity import (
    AuditSession,
    InvalidInputError,
    MissingInputError,
    UsageError,
    check_binding,
    extract_claims,
    load_log,
    score,
)
from dispatch_fidelity.audit import assess, choose, decide, read_blob, read_schema
from dispatch_fidelity.model.assessment import (
    Binding,
    BindingStatus,
    Check,
    Choices,
    Level,
    Outcome,
    Overall,
)
from dispatch_fidelity.model.call import Blob, Status
from dispatch_fidelity.model.claim import Claim, Strength, Unreadable
from dispatch_fidelity.model.execution import Execution
from dispatch_fidelity.model.frozen import changed
from dispatch_fidelity.model.run import Completeness, Damage, DamageKind, Manifest, Record
from dispatch_fidelity.model.score import FAILING, Score, ScoredClaim, Verdict

PASS, FAIL, INCONCLUSIVE = Overall.PASS, Overall.FAIL, Overall.INCONCLUSIVE
NEEDED = ("B0", "B1", "B2", "B3", "B4", "B5", "B6")

PROVEN = Binding(dict.fromkeys(NEEDED, Check.HOLDS), run_id="run")
UNPROVEN = Binding(
    {**PROVEN.checks, "B3": Check.NOT_DERIVABLE}, unprovable=("B3: no canary receipt in the log",)
)
FAILED = Binding({**PROVEN.checks, "B4": Check.FAILS}, findings=("B4: another run",))
NOT_CHECKED = Binding(checked=False)

RUN = Execution("look", {}, Status.RETURNED, result="seen")
RECORD = Record("run", "log/2", (RUN,), Completeness.CLOSED)
LEVEL = Level("E1", "D1", Completeness.CLOSED, "much")


def scored(verdict: Verdict, strength: Strength = Strength.EXPLICIT) -> ScoredClaim:
    return ScoredClaim(Claim("look", {}, strength=strength), verdict, "because")


def told(*verdicts: Verdict, **fields: Any) -> Score:
    return Score(detail=tuple(map(scored, verdicts)), blocks=1, **fields)


def outcome(
    found: Score,
    binding: Binding = PROVEN,
    record: Record = RECORD,
    level: Level = LEVEL,
    **choices: str,
) -> Outcome:
    return decide(found, binding, record, level, Choices(**choices))


GOOD = told(Verdict.MATCHED)


# -- PASS --------------------------------------------------------------------------------------------------


def test_a_matched_claim_of_a_bound_and_closed_record_passes() -> None:
    found = outcome(GOOD)
    assert (found.overall, found.exit_code, found.measurement, found.binding) == (
        PASS,
        0,
        "MEASURED",
        BindingStatus.PROVEN,
    )


def test_every_outcome_has_a_reason() -> None:
    assert all(outcome(found).reasons for found in (GOOD, told(), told(Verdict.FABRICATED)))


def test_an_execution_that_nobody_mentions_forbids_nothing() -> None:
    assert outcome(told(Verdict.MATCHED, omitted_calls=(RUN,))).overall is PASS


def test_a_failed_call_that_is_told_as_failed_forbids_nothing() -> None:
    failed = changed(RUN, status=Status.RAISED)
    assert outcome(GOOD, record=changed(RECORD, executions=(failed,))).overall is PASS


def test_a_call_left_in_the_background_forbids_nothing_by_itself() -> None:
    waiting = changed(RUN, status=Status.BACKGROUND)
    assert outcome(GOOD, record=changed(RECORD, executions=(RUN, waiting))).overall is PASS


def test_a_backed_superseded_claim_forbids_nothing() -> None:
    assert outcome(told(Verdict.MATCHED, superseded=(scored(Verdict.MATCHED),))).overall is PASS


# -- FAIL --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verdict", sorted(FAILING))
def test_every_failing_verdict_of_an_explicit_claim_fails(verdict: Verdict) -> None:
    found = outcome(told(Verdict.MATCHED, verdict))
    assert (found.overall, found.exit_code, found.reasons) == (FAIL, 1, (f"1 claim {verdict}",))


def test_a_failing_verdict_fails_whatever_else_is_open() -> None:
    record = changed(RECORD, completeness=Completeness.PARTIAL)
    assert outcome(told(Verdict.SUBSTITUTED, Verdict.UNRESOLVED), UNPROVEN, record).overall is FAIL


def test_a_failed_binding_fails_though_every_claim_matches() -> None:
    found = outcome(GOOD, FAILED)
    assert (found.overall, found.binding, found.reasons) == (
        FAIL,
        BindingStatus.FAILED,
        ("binding FAILED: B4: another run",),
    )


def test_a_failed_binding_fails_though_no_proof_is_asked() -> None:
    assert outcome(GOOD, FAILED, binding_proof="none").overall is FAIL


@pytest.mark.parametrize("verdict", [Verdict.FABRICATED, Verdict.SUBSTITUTED])
def test_a_false_claim_before_an_empty_last_block_fails(verdict: Verdict) -> None:
    found = outcome(Score(superseded=(scored(verdict),), blocks=2, last_is_empty=True))
    assert (found.overall, found.measurement) == (FAIL, "UNMEASURED")


def test_failures_of_several_kinds_are_all_named() -> None:
    found = outcome(told(Verdict.FABRICATED, Verdict.FABRICATED, Verdict.STALE), FAILED)
    assert len(found.reasons) == 3


def test_an_implied_claim_does_not_fail_by_default() -> None:
    found = Score(detail=(scored(Verdict.MATCHED), scored(Verdict.FABRICATED, Strength.IMPLIED)), blocks=1)
    assert outcome(found).overall is PASS


def test_an_unbacked_implied_claim_fails_where_that_is_chosen() -> None:
    found = Score(detail=(scored(Verdict.MATCHED), scored(Verdict.FABRICATED, Strength.IMPLIED)), blocks=1)
    assert outcome(found, implied="fail").overall is FAIL


# -- INCONCLUSIVE ------------------------------------------------------------------------------------------

DOUBTS: dict[str, tuple[Score, Binding, Record, str]] = {
    "no-claim": (told(), PROVEN, RECORD, "UNMEASURED: the report makes no claim"),
    "empty-block": (told(last_is_empty=True), PROVEN, RECORD, "UNMEASURED: the last results block is empty"),
    "unreadable-block": (
        told(unreadable=(Unreadable("torn"),)),
        PROVEN,
        RECORD,
        "UNMEASURED: no results block",
    ),
    "implied-only": (
        Score(detail=(scored(Verdict.MATCHED, Strength.IMPLIED),), blocks=1),
        PROVEN,
        RECORD,
        "UNMEASURED",
    ),
    "unresolved": (told(Verdict.MATCHED, Verdict.UNRESOLVED), PROVEN, RECORD, "1 claim UNRESOLVED"),
    "all-unresolved": (told(Verdict.UNRESOLVED), PROVEN, RECORD, "no claim could be decided"),
    "unreadable-item": (
        told(Verdict.MATCHED, unreadable=(Unreadable("a text"),)),
        PROVEN,
        RECORD,
        "1 item of the report cannot be read: a text",
    ),
    "superseded-fabricated": (
        told(Verdict.MATCHED, superseded=(scored(Verdict.FABRICATED),)),
        PROVEN,
        RECORD,
        "1 claim of an earlier block was dropped",
    ),
    "superseded-unresolved": (
        told(Verdict.MATCHED, superseded=(scored(Verdict.UNRESOLVED),)),
        PROVEN,
        RECORD,
        "1 claim of an earlier block was dropped",
    ),
    "damaged": (
        GOOD,
        PROVEN,
        changed(RECORD, damage=(Damage(DamageKind.TORN, "the file ends in zero bytes", line=7),)),
        "record: line 7: the file ends in zero bytes",
    ),
    "damaged-stream": (
        GOOD,
        PROVEN,
        changed(RECORD, damage=(Damage(DamageKind.MISSING_STREAM, "its file is not there", "ab12"),)),
        "record: stream ab12: its file is not there",
    ),
    "gap": (
        GOOD,
        PROVEN,
        changed(RECORD, damage=(Damage(DamageKind.GAP, "not everything was recorded", line=3),)),
        "record: line 3: not everything was recorded",
    ),
    "partial": (
        GOOD,
        PROVEN,
        changed(RECORD, completeness=Completeness.PARTIAL),
        "the record is partial, not closed",
    ),
    "sampled": (
        GOOD,
        PROVEN,
        changed(RECORD, completeness=Completeness.SAMPLED),
        "the record is sampled, not closed",
    ),
    "unfinished": (
        GOOD,
        PROVEN,
        changed(RECORD, executions=(RUN, changed(RUN, tool="pay", status=Status.UNFINISHED))),
        "1 call started and has no end in the record: pay",
    ),
    "no-manifest": (GOOD, NOT_CHECKED, RECORD, "binding NOT_CHECKED: no manifest was given"),
    "unproven": (GOOD, UNPROVEN, RECORD, "binding UNPROVEN: B3: no canary receipt in the log"),
}


@pytest.mark.parametrize("name", DOUBTS)
def test_what_was_not_measured_is_inconclusive(name: str) -> None:
    found, binding, record, _ = DOUBTS[name]
    decided = outcome(found, binding, record)
    assert (decided.overall, decided.exit_code) == (INCONCLUSIVE, 2)


@pytest.mark.parametrize("name", DOUBTS)
def test_what_was_not_measured_is_said(name: str) -> None:
    found, binding, record, reason = DOUBTS[name]
    assert any(text.startswith(reason) for text in outcome(found, binding, record).reasons)


def test_every_doubt_is_named() -> None:
    found = told(Verdict.MATCHED, Verdict.UNRESOLVED, unreadable=(Unreadable("a text"),))
    record = changed(RECORD, completeness=Completeness.PARTIAL)
    assert len(outcome(found, NOT_CHECKED, record).reasons) == 4


def test_very_many_defects_are_named_in_part_and_counted() -> None:
    damage = tuple(Damage(DamageKind.UNREADABLE, f"line {n}", line=n) for n in range(1, 1001))
    reasons = outcome(GOOD, PROVEN, changed(RECORD, damage=damage)).reasons
    assert (len(reasons), reasons[-1]) == (21, "record: 980 more defects")


@pytest.mark.parametrize("binding", [UNPROVEN, NOT_CHECKED], ids=["unproven", "not-checked"])
def test_an_unproven_binding_forbids_nothing_where_no_proof_is_asked(binding: Binding) -> None:
    assert outcome(GOOD, binding, binding_proof="none").overall is PASS


@pytest.mark.parametrize(
    ("require", "expected"),
    [
        ("", PASS),
        ("E1", PASS),
        ("E0,D0", PASS),
        ("e1, d1", PASS),
        ("E2", INCONCLUSIVE),
        ("E1,D2", INCONCLUSIVE),
    ],
)
def test_a_required_level_that_is_not_reached_forbids_pass(require: str, expected: Overall) -> None:
    assert outcome(GOOD, require=require).overall is expected


@pytest.mark.parametrize("require", ["2", "E", "X1", "E1;D1", "E10"])
def test_a_required_level_that_does_not_exist_is_wrong_usage(require: str) -> None:
    with pytest.raises(UsageError):
        outcome(GOOD, require=require)


# -- choices -----------------------------------------------------------------------------------------------


def sealed(**regime: Any) -> Manifest:
    return Manifest(2, "run", "0" * 64, "0" * 64, regime=regime)


def test_an_option_goes_before_the_manifest() -> None:
    assert choose({"result_check": "off"}, sealed(result_check="strict")).result_check == "off"


def test_the_manifest_goes_before_the_default() -> None:
    assert choose({}, sealed(result_check="strict"), result_check="contradicted").result_check == "strict"


def test_the_default_of_a_command_stands_where_nothing_is_chosen() -> None:
    assert choose({"result_check": None}, None, result_check="contradicted").result_check == "contradicted"


@pytest.mark.parametrize("name", ["result_check", "binding_proof", "implied", "arg_canonicalisation"])
def test_a_choice_that_does_not_exist_is_wrong_usage(name: str) -> None:
    with pytest.raises(UsageError):
        choose({name: "nonsense"}, None)


@pytest.mark.parametrize("name", ["result_check", "binding_proof", "implied", "arg_canonicalisation"])
def test_a_sealed_choice_that_does_not_exist_is_wrong_usage(name: str) -> None:
    with pytest.raises(UsageError):
        choose({}, sealed(**{name: "nonsense"}))


def test_a_sealed_choice_that_is_no_text_is_none() -> None:
    assert choose({}, sealed(result_check=["strict"])).result_check == "off"


# -- the public functions ----------------------------------------------------------------------------------

REPORT = '```json\n{"results": [{"tool": "look", "args": {"at": "here"}, "result": "gone"}]}\n```'


@pytest.fixture
def run(tmp_path: Path) -> AuditSession:
    with AuditSession({"look": lambda at: "seen"}, run_dir=tmp_path) as session:
        session.call("canary_probe", {"label": "A"})
        session.call("look", {"at": "here"})
    return session


def test_score_takes_a_path_or_a_loaded_log(run: AuditSession) -> None:
    assert score(REPORT, run.log_path).matched == score(REPORT, load_log(run.log_path)).matched == 1


def test_score_judges_values_only_where_it_is_asked_to(run: AuditSession) -> None:
    assert (
        score(REPORT, run.log_path).matched,
        score(REPORT, run.log_path, strict_results=True).mismatched,
    ) == (1, 1)


def test_score_takes_a_schema(run: AuditSession) -> None:
    schema = {"look": {"params": ["at", "depth"], "defaults": {"depth": 1}}}
    report = REPORT.replace('"here"', '"here", "depth": 1')
    assert (score(report, run.log_path).fabricated, score(report, run.log_path, schema=schema).matched) == (
        1,
        1,
    )


def test_score_of_a_log_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(MissingInputError):
        score(REPORT, tmp_path / "nowhere.jsonl")


def test_extract_claims_gives_the_claims_of_a_report() -> None:
    assert [(claim.tool, claim.result) for claim in extract_claims(REPORT)] == [("look", "gone")]


def test_check_binding_takes_what_a_session_left(run: AuditSession) -> None:
    assert check_binding(run.manifest_path, run.log_path).bound


@pytest.mark.parametrize(
    "schema",
    [
        [],
        "look",
        {"look": []},
        {"look": {}},
        {"look": {"params": "at"}},
        {"look": {"params": [1]}},
        {"look": {"params": ["at"], "defaults": []}},
    ],
    ids=json.dumps,
)
def test_a_schema_of_another_shape_is_refused(schema: Any) -> None:
    with pytest.raises(InvalidInputError):
        read_schema(schema)


@pytest.mark.parametrize("schema", [None, {}])
def test_no_schema_is_no_tools(schema: Any) -> None:
    assert read_schema(schema) == {}


def test_an_assessment_names_its_run_its_choices_and_its_agent(run: AuditSession) -> None:
    found = assess(
        REPORT, load_log(run.log_path), choices=choose({"implied": "ignore"}, None), agent="planner"
    )
    assert (found.run_id, found.choices.implied, found.agent) == (run.run_id, "ignore", "planner")


# -- blobs -------------------------------------------------------------------------------------------------


def test_the_content_of_a_blob_is_read_when_it_fits_its_digest(tmp_path: Path) -> None:
    path = tmp_path / "content"
    path.write_bytes(b"much")
    digest = "d8a69fff7efe3af12dda5d98e4b7ccd1c1ba2d1d6b6a1c4c2d1c8ae3b3eb5c4e"
    import hashlib

    fits = Blob(hashlib.sha256(b"much").hexdigest(), 4, "mu", path=str(path))
    assert (read_blob(fits), read_blob(changed(fits, sha256=digest))) == ("much", None)


def test_a_blob_that_is_not_there_has_no_content(tmp_path: Path) -> None:
    assert read_blob(Blob("0" * 64, 4, "mu", path=str(tmp_path / "nowhere"))) is None
