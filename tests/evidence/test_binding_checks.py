from __future__ import annotations

from typing import Any

import pytest

from dispatch_fidelity.errors import UsageError
from dispatch_fidelity.evidence.binding import bind, compile_pattern
from dispatch_fidelity.evidence.canary import checksum, commitment, receipt_hex
from dispatch_fidelity.evidence.levels import evidence_level
from dispatch_fidelity.jsonio import UNSET
from dispatch_fidelity.model.assessment import Binding, BindingStatus, Check
from dispatch_fidelity.model.call import Status
from dispatch_fidelity.model.execution import Execution
from dispatch_fidelity.model.frozen import changed
from dispatch_fidelity.model.run import (
    Close,
    Completeness,
    Damage,
    DamageKind,
    Manifest,
    Record,
    State,
    Stream,
)

NONCE = "108354eea74a1c529f9f7f7bd8c038af"
OTHER = "ffeeddccbbaa99887766554433221100"
DIGEST = "a" * 64
HOLDS, FAILS, OPEN = Check.HOLDS, Check.FAILS, Check.NOT_DERIVABLE

MANIFEST = Manifest(2, "run", commitment(NONCE), DIGEST, "run.manifest.json")
MANIFEST_1 = changed(MANIFEST, version=1, digest="b" * 64)


def call(tool: str, result: Any, args: dict[str, Any] | None = None, **fields: Any) -> Execution:
    return Execution(tool, args or {}, fields.pop("status", Status.RETURNED), result=result, **fields)


PROBE = call("canary_probe", f"CANARY[A]:{NONCE}", {"label": "A"})
SUM = call("canary_checksum", checksum(NONCE, "x"), {"payload": "x"})


def record(
    *executions: Execution,
    damage: tuple[Damage, ...] = (),
    version: int = 2,
    digest: str = DIGEST,
    opening: str = NONCE,
    run_id: str = "run",
) -> Record:
    stream = Stream(
        "main",
        "run.toollog.jsonl",
        version,
        len(executions),
        State.SEALED,
        run_id,
        digest if version == 2 else "",
        close=Close(len(executions), len(executions), ("main",), opening) if version == 2 else None,
    )
    completeness = Completeness.PARTIAL if damage else Completeness.CLOSED
    return Record(run_id, f"log/{version}", executions, completeness, (stream,), damage)


def damaged(kind: DamageKind, line: int = 3) -> Record:
    return record(PROBE, damage=(Damage(kind, "so it is", "main", line),))


def check(name: str, bound: Binding) -> Check:
    return bound.checks[name]


# -- the whole ---------------------------------------------------------------------------------------------


def test_a_whole_record_of_its_manifest_is_proven() -> None:
    bound = bind(MANIFEST, record(PROBE, SUM))
    assert (bound.status, set(bound.checks.values()), list(bound.checks)) == (
        BindingStatus.PROVEN,
        {HOLDS},
        ["B0", "B1", "B2", "B3", "B4", "B5", "B6"],
    )


def test_without_a_manifest_nothing_is_checked() -> None:
    bound = bind(None, record(PROBE))
    assert (bound.status, bound.bound, bound.checks) == (BindingStatus.NOT_CHECKED, False, {})


def test_a_record_of_version_1_of_its_manifest_is_proven() -> None:
    assert bind(MANIFEST_1, record(PROBE, SUM, version=1)).status is BindingStatus.PROVEN


def test_one_failing_check_fails_the_binding_whatever_else_holds() -> None:
    bound = bind(MANIFEST, record(PROBE, opening=OTHER))
    assert (bound.status, [name for name, found in bound.checks.items() if found is FAILS]) == (
        BindingStatus.FAILED,
        ["B6"],
    )


def test_a_failure_says_which_check_and_why() -> None:
    assert bind(MANIFEST, record(PROBE, run_id="else")).findings[0].startswith("B4: ")


def test_what_is_not_derivable_says_which_check_and_why() -> None:
    assert bind(MANIFEST, record()).unprovable[0].startswith("B3: ")


# -- B0: intact and not empty ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind",
    [
        DamageKind.EMPTY,
        DamageKind.TORN,
        DamageKind.UNREADABLE,
        DamageKind.MISSING_STREAM,
        DamageKind.MISSING_CLOSE,
        DamageKind.MISSING_BLOB,
        DamageKind.GAP,
    ],
)
def test_what_is_missing_makes_b0_not_derivable(kind: DamageKind) -> None:
    assert check("B0", bind(MANIFEST, damaged(kind))) is OPEN


@pytest.mark.parametrize("kind", [DamageKind.EMPTY, DamageKind.TORN, DamageKind.UNREADABLE])
def test_what_is_missing_fails_nothing(kind: DamageKind) -> None:
    bound = bind(MANIFEST, damaged(kind))
    assert (bound.status, bound.findings) == (BindingStatus.UNPROVEN, ())


# -- B1: the same manifest ---------------------------------------------------------------------------------


def test_another_digest_in_the_open_record_fails_b1() -> None:
    assert check("B1", bind(MANIFEST, record(PROBE, digest="c" * 64))) is FAILS


def test_a_manifest_under_another_file_name_holds_b1() -> None:
    assert check("B1", bind(changed(MANIFEST, file_name="copy.json"), record(PROBE))) is HOLDS


def test_a_log_whose_open_record_cannot_be_read_leaves_b1_open() -> None:
    assert check("B1", bind(MANIFEST, record(PROBE, digest=""))) is OPEN


def test_a_renamed_manifest_of_version_1_leaves_b1_open() -> None:
    bound = bind(changed(MANIFEST_1, file_name="copy.json"), record(PROBE, version=1))
    assert (check("B1", bound), bound.status) == (OPEN, BindingStatus.UNPROVEN)


def test_a_manifest_of_version_1_beside_a_log_of_version_2_fails_b1() -> None:
    assert check("B1", bind(MANIFEST_1, record(PROBE))) is FAILS


# -- B2: unbroken ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind",
    [
        DamageKind.CHAIN,
        DamageKind.NUMBER,
        DamageKind.STREAM,
        DamageKind.DIGEST,
        DamageKind.COUNT,
        DamageKind.LIFECYCLE,
        DamageKind.BLOB,
    ],
)
def test_a_contradiction_between_records_fails_b2(kind: DamageKind) -> None:
    assert check("B2", bind(MANIFEST, damaged(kind))) is FAILS


def test_an_unreadable_line_leaves_b2_open() -> None:
    assert check("B2", bind(MANIFEST, damaged(DamageKind.UNREADABLE))) is OPEN


def test_a_contradiction_beside_an_unreadable_line_fails_b2() -> None:
    both = (Damage(DamageKind.CHAIN, "differs"), Damage(DamageKind.UNREADABLE, "cannot be read"))
    assert check("B2", bind(MANIFEST, record(PROBE, damage=both))) is FAILS


# -- B3: receipts ------------------------------------------------------------------------------------------


def test_one_receipt_is_enough_for_b3() -> None:
    assert check("B3", bind(MANIFEST, record(PROBE))) is HOLDS


@pytest.mark.parametrize("label", ["step[1]", "a]:b", "x]:deadbeef", "CANARY[B]:00", "", "\n", "größer"])
def test_the_label_of_a_receipt_may_hold_anything(label: str) -> None:
    probe = call("canary_probe", f"CANARY[{label}]:{NONCE}", {"label": label})
    assert check("B3", bind(MANIFEST, record(probe))) is HOLDS


@pytest.mark.parametrize(
    "result",
    [
        f"CANARY[A]:{OTHER}",
        f"CANARY[A]:{NONCE[:-1]}",
        f"CANARY[A]:{NONCE.upper()}",
        "CANARY[A]:",
        "no receipt",
        "",
    ],
)
def test_another_receipt_of_a_canary_fails_b3(result: str) -> None:
    assert check("B3", bind(MANIFEST, record(call("canary_probe", result)))) is FAILS


def test_a_wrong_receipt_beside_a_right_one_fails_b3() -> None:
    assert check("B3", bind(MANIFEST, record(PROBE, call("canary_probe", f"CANARY[B]:{OTHER}")))) is FAILS


def test_a_checksum_that_does_not_fit_fails_b3() -> None:
    wrong = call("canary_checksum", checksum(OTHER, "x"), {"payload": "x"})
    assert check("B3", bind(MANIFEST, record(PROBE, wrong))) is FAILS


def test_a_checksum_of_another_payload_fails_b3() -> None:
    wrong = call("canary_checksum", checksum(NONCE, "y"), {"payload": "x"})
    assert check("B3", bind(MANIFEST, record(PROBE, wrong))) is FAILS


def test_a_checksum_alone_shows_no_nonce() -> None:
    assert check("B3", bind(MANIFEST, record(SUM))) is OPEN


def test_a_checksum_of_an_opaque_payload_is_not_judged() -> None:
    odd = call("canary_checksum", checksum(NONCE, "?"), {"payload": {"$df": "opaque", "text": "x"}})
    assert check("B3", bind(MANIFEST, record(PROBE, odd))) is HOLDS


@pytest.mark.parametrize(
    "execution",
    [
        pytest.param(call("search", f"CANARY[A]:{OTHER}"), id="in-another-tool"),
        pytest.param(call("canary_probe", UNSET, status=Status.RAISED, error="TypeError"), id="failed"),
        pytest.param(call("canary_probe", UNSET, status=Status.UNFINISHED), id="unfinished"),
    ],
)
def test_what_is_no_receipt_of_a_canary_fails_nothing(execution: Execution) -> None:
    assert check("B3", bind(MANIFEST, record(execution, PROBE))) is HOLDS


def test_a_right_receipt_quoted_by_another_tool_proves_nothing() -> None:
    assert check("B3", bind(MANIFEST, record(call("search", f"CANARY[A]:{NONCE}")))) is OPEN


def test_no_canary_call_leaves_b3_open() -> None:
    bound = bind(MANIFEST, record(call("search", "found")))
    assert (check("B3", bound), bound.status) == (OPEN, BindingStatus.UNPROVEN)


# -- nonce_pattern -----------------------------------------------------------------------------------------

OWN = r"build ([0-9a-f]{32})"


def test_the_first_group_of_a_pattern_of_ones_own_proves_b3() -> None:
    bound = bind(MANIFEST, record(call("ci", f"build {NONCE} ok")), nonce_pattern=OWN)
    assert (check("B3", bound), bound.status) == (HOLDS, BindingStatus.PROVEN)


def test_a_pattern_that_finds_another_nonce_in_any_tool_fails_b3() -> None:
    executions = [call("ci", f"build {NONCE}"), call("search", f"build {OTHER}")]
    assert check("B3", bind(MANIFEST, record(*executions), nonce_pattern=OWN)) is FAILS


def test_a_pattern_that_finds_nothing_leaves_b3_open() -> None:
    assert check("B3", bind(MANIFEST, record(PROBE), nonce_pattern=OWN)) is OPEN


def test_a_pattern_whose_group_takes_no_part_fails_b3_and_crashes_nothing() -> None:
    assert check("B3", bind(MANIFEST, record(call("ci", "b")), nonce_pattern="(a)?b")) is FAILS


@pytest.mark.parametrize("pattern", ["(", "[", "no group", "(?:none)"])
def test_a_pattern_that_cannot_work_is_wrong_usage(pattern: str) -> None:
    with pytest.raises(UsageError):
        compile_pattern(pattern)


@pytest.mark.parametrize("pattern", ["", None])
def test_no_pattern_is_no_pattern(pattern: str | None) -> None:
    assert compile_pattern(pattern) is None


# -- B4, B5, B6 --------------------------------------------------------------------------------------------


def test_another_run_in_the_log_fails_b4() -> None:
    assert check("B4", bind(MANIFEST, record(PROBE, run_id="else"))) is FAILS


def test_a_log_that_names_no_run_leaves_b4_open() -> None:
    assert check("B4", bind(MANIFEST, record(PROBE, run_id=""))) is OPEN


@pytest.mark.parametrize("kind", [DamageKind.STRAY, DamageKind.RUN])
def test_a_stray_record_fails_b5(kind: DamageKind) -> None:
    assert check("B5", bind(MANIFEST, damaged(kind))) is FAILS


def test_an_empty_log_leaves_b5_open() -> None:
    assert check("B5", bind(MANIFEST, damaged(DamageKind.EMPTY))) is OPEN


def test_another_opening_fails_b6() -> None:
    assert check("B6", bind(MANIFEST, record(PROBE, opening=OTHER))) is FAILS


def test_no_opening_leaves_b6_open_and_the_canary_proves_all_the_same() -> None:
    bound = bind(MANIFEST, record(PROBE, opening=""))
    assert (check("B6", bound), bound.status) == (OPEN, BindingStatus.PROVEN)


# -- the chosen proof --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("proof", "status"),
    [("canary", BindingStatus.UNPROVEN), ("opening", BindingStatus.PROVEN), ("none", BindingStatus.UNPROVEN)],
)
def test_without_a_canary_the_opening_proves_where_it_is_chosen(proof: str, status: BindingStatus) -> None:
    assert bind(MANIFEST, record(call("look", "seen")), proof=proof).status is status


@pytest.mark.parametrize("proof", ["canary", "opening", "none"])
def test_a_canary_proves_under_every_choice(proof: str) -> None:
    assert bind(MANIFEST, record(PROBE, opening=""), proof=proof).status is BindingStatus.PROVEN


@pytest.mark.parametrize("proof", ["canary", "opening", "none"])
def test_a_failed_check_fails_under_every_choice(proof: str) -> None:
    assert bind(MANIFEST, record(PROBE, run_id="else"), proof=proof).status is BindingStatus.FAILED


# -- receipts and levels -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"CANARY[A]:{NONCE}", NONCE),
        (f"the probe said CANARY[A]:{NONCE}.", NONCE),
        ("CANARY[A]:xyz", None),
        ("CANARY[A]", None),
        (f"]:{NONCE}", None),
        (f"]:CANARY[{NONCE}", None),
        ("", None),
    ],
)
def test_the_hex_of_a_receipt_stands_behind_its_label(text: str, found: str | None) -> None:
    assert receipt_hex(text) == found


@pytest.mark.parametrize(
    ("judged", "manifest", "expected"),
    [
        pytest.param(record(PROBE), MANIFEST, ("E1", "D1"), id="log-2"),
        pytest.param(record(PROBE), changed(MANIFEST, durability="power"), ("E1", "D2"), id="power"),
        pytest.param(
            record(PROBE), changed(MANIFEST, durability={"pay": "power"}), ("E1", "D1"), id="per-tool"
        ),
        pytest.param(record(PROBE), None, ("E1", "D1"), id="no-manifest"),
        pytest.param(record(PROBE, run_id="else"), MANIFEST, ("E0", "D1"), id="failed"),
        pytest.param(record(PROBE, version=1), MANIFEST_1, ("E0", "D0"), id="log-1"),
        pytest.param(changed(record(PROBE), streams=()), None, ("E0", "D0"), id="imported"),
    ],
)
def test_the_level_says_how_far_the_evidence_carries(
    judged: Record, manifest: Manifest | None, expected: tuple[str, str]
) -> None:
    level = evidence_level(judged, manifest, bind(manifest, judged))
    assert (level.evidence, level.durability) == expected


@pytest.mark.parametrize("judged", [record(PROBE), record(PROBE, version=1)])
def test_every_level_says_what_it_does_not_show(judged: Record) -> None:
    assert evidence_level(judged, None, bind(None, judged)).does_not_show
