"""Verdicts that the reference implementation got wrong, each with the twin that must stay quiet or be caught."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from dispatch_fidelity import AuditSession, score
from dispatch_fidelity.cli.main import main
from dispatch_fidelity.model.assessment import BindingStatus, Overall
from dispatch_fidelity.simulation.crashing import PAYMENT

Item = Mapping[str, Any]
Calls = Iterable[tuple[str, dict[str, Any]]]
PASS, FAIL, INCONCLUSIVE = Overall.PASS, Overall.FAIL, Overall.INCONCLUSIVE


def block(*items: Any) -> str:
    return f"```json\n{json.dumps({'results': items})}\n```\n"


def claim(tool: str, args: dict[str, Any], result: Any = None) -> dict[str, Any]:
    return {"tool": tool, "args": args, "result": result}


def judged(
    folder: Path,
    tools: Mapping[str, Callable[..., Any]],
    calls: Calls,
    report: str,
    **options: Any,
) -> AuditSession:
    session = AuditSession(tools, run_dir=folder, **options)
    session.call("canary_probe", {"label": "A"})
    for tool, args in calls:
        session.call(tool, args)
    session.score(report)
    return session


def verdicts(session: AuditSession) -> list[str]:
    return [str(scored.verdict) for scored in session.assessment.score.detail]


def raising(problem: Exception) -> Callable[..., Any]:
    def tool(**_: Any) -> Any:
        raise problem

    return tool


def returning(*values: Any) -> Callable[..., Any]:
    waiting = list(values)

    def tool(**_: Any) -> Any:
        return waiting.pop(0)

    return tool


def cli_score(folder: Path, run_id: str, report: str) -> int:
    claims = folder / "told.md"
    claims.write_text(report, encoding="utf-8")
    log, manifest = folder / f"{run_id}.toollog.jsonl", folder / f"{run_id}.manifest.json"
    return main(["score", "--claims", str(claims), "--log", str(log), "--manifest", str(manifest)])


# -- A1, A2: killed after the effect -----------------------------------------------------------------------


@pytest.fixture
def crashed(tmp_path: Path) -> Path:
    """The run of a process that was killed inside its payment."""
    program = [sys.executable, "-m", "dispatch_fidelity.simulation.crashing", str(tmp_path), "paying"]
    subprocess.run(program, check=False)
    assert (tmp_path / "paying.ledger.txt").read_text(encoding="utf-8")
    return tmp_path


@pytest.mark.fault("A1")
def test_a_payment_that_the_crash_cut_off_is_unresolved_not_fabricated(crashed: Path) -> None:
    found = score(block(claim("pay", PAYMENT, "paid")), crashed / "paying.toollog.jsonl")
    assert (found.unresolved, found.fabricated) == (1, 0)


@pytest.mark.fault("A1")
def test_a_run_that_was_killed_in_its_payment_is_inconclusive(crashed: Path) -> None:
    assert cli_score(crashed, "paying", block(claim("pay", PAYMENT, "paid"))) == 2


@pytest.mark.fault("A1")
def test_a_payment_that_never_began_is_fabricated_in_a_closed_record(tmp_path: Path) -> None:
    session = judged(tmp_path, {"pay": returning("paid")}, [], block(claim("pay", PAYMENT, "paid")))
    assert verdicts(session) == ["FABRICATED"]


@pytest.mark.fault("A2")
def test_an_attempt_without_an_end_forbids_pass_though_nobody_claims_it(crashed: Path) -> None:
    line = json.loads((crashed / "paying.toollog.jsonl").read_bytes().splitlines()[2])
    receipt = claim("canary_probe", {"label": "A"}, line["result"])
    assert cli_score(crashed, "paying", block(receipt)) == 2


@pytest.mark.fault("A2")
def test_a_finished_payment_that_nobody_mentions_does_not_forbid_pass(tmp_path: Path) -> None:
    tools = {"pay": returning("paid"), "look": returning("seen")}
    session = judged(tmp_path, tools, [("pay", PAYMENT), ("look", {})], block(claim("look", {}, "seen")))
    assert session.outcome.overall is PASS


# -- A3, A4, A5: evidence that was cut, edited, forged -----------------------------------------------------


def two_sums(folder: Path, **options: Any) -> AuditSession:
    calls: Calls = [("add", {"a": 40, "b": 1}), ("add", {"a": 1, "b": 2})]
    report = block(claim("add", {"a": 40, "b": 1}, "41"))
    return judged(folder, {"add": lambda a, b: str(a + b)}, calls, report, run_id="sums", **options)


SUM = block(claim("add", {"a": 40, "b": 1}, "41"))


def lines_of(session: AuditSession) -> list[bytes]:
    return session.log_path.read_bytes().splitlines(keepends=True)


@pytest.mark.fault("A3")
@pytest.mark.parametrize("dropped", [1, 2, 3])
def test_a_log_cut_at_a_line_boundary_is_not_taken_for_whole(tmp_path: Path, dropped: int) -> None:
    session = two_sums(tmp_path)
    session.log_path.write_bytes(b"".join(lines_of(session)[:-dropped]))
    assert cli_score(tmp_path, "sums", SUM) == 2


@pytest.mark.fault("A3")
def test_the_whole_log_passes(tmp_path: Path) -> None:
    two_sums(tmp_path)
    assert cli_score(tmp_path, "sums", SUM) == 0


@pytest.mark.fault("A4")
def test_an_edited_result_breaks_the_chain(tmp_path: Path) -> None:
    session = two_sums(tmp_path)
    session.log_path.write_bytes(session.log_path.read_bytes().replace(b'"result":"41"', b'"result":"9999"'))
    assert cli_score(tmp_path, "sums", block(claim("add", {"a": 40, "b": 1}, "9999"))) == 1


def log_1(folder: Path, records: list[dict[str, Any]]) -> Path:
    path = folder / "old.toollog.jsonl"
    rows = [{"seq": n, "run_id": "old", "agent_id": "agent", **row} for n, row in enumerate(records, 1)]
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def manifest_1(folder: Path, nonce: str) -> None:
    (folder / "old.manifest.json").write_text(
        json.dumps(
            {
                "schema": "dispatch-fidelity/manifest/1",
                "run_id": "old",
                "nonce_sha256": hashlib.sha256(nonce.encode()).hexdigest(),
            }
        ),
        encoding="ascii",
    )


NONCE = "00112233445566778899aabbccddeeff"
PROBE: dict[str, Any] = {"tool": "canary_probe", "args": {"label": "A"}, "result": f"CANARY[A]:{NONCE}"}


@pytest.mark.fault("A4")
@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        pytest.param(hashlib.sha256(b"41").hexdigest(), 1, id="differs"),
        pytest.param(hashlib.sha256(b"9999").hexdigest(), 0, id="fits"),
        pytest.param("", 0, id="empty"),
    ],
)
def test_the_digest_of_a_result_in_log_1_is_checked_where_it_is_stated(
    tmp_path: Path, stated: str, expected: int
) -> None:
    manifest_1(tmp_path, NONCE)
    log_1(tmp_path, [PROBE, {"tool": "add", "args": {"a": 40}, "result": "9999", "result_sha256": stated}])
    assert cli_score(tmp_path, "old", block(claim("add", {"a": 40}, "9999"))) == expected


def forged(line: bytes, n: int) -> bytes:
    return line.replace(b'"n":%d,' % json.loads(line)["n"], b'"n":%d,' % n)


@pytest.mark.fault("A5")
def test_a_record_appended_after_the_close_is_found(tmp_path: Path) -> None:
    session = two_sums(tmp_path)
    lines = lines_of(session)
    start = forged(lines[3], len(lines)).replace(b'"a":40', b'"a":4711')
    session.log_path.write_bytes(b"".join([*lines, start]))
    assert cli_score(tmp_path, "sums", block(claim("add", {"a": 4711, "b": 1}))) == 1


@pytest.mark.fault("A5")
def test_a_record_forged_before_the_close_is_found(tmp_path: Path) -> None:
    session = two_sums(tmp_path)
    *lines, close = lines_of(session)
    start = forged(lines[3], len(lines)).replace(b'"a":40', b'"a":4711')
    session.log_path.write_bytes(b"".join([*lines, start, close]))
    assert cli_score(tmp_path, "sums", SUM) == 1


@pytest.mark.fault("A5")
def test_a_record_forged_in_place_of_the_close_is_found(tmp_path: Path) -> None:
    session = two_sums(tmp_path)
    lines = lines_of(session)[:-1]
    start = forged(lines[3], len(lines)).replace(b'"call":"', b'"call":"f')
    session.log_path.write_bytes(b"".join([*lines, start]))
    assert cli_score(tmp_path, "sums", SUM) == 1


# -- A6, A25: more than one block --------------------------------------------------------------------------

LOOK = {"look": lambda at: f"seen {at}"}
SEEN = claim("look", {"at": "here"}, "seen here")
LIE = claim("look", {"at": "there"}, "seen there")


def looked(folder: Path, report: str, **options: Any) -> AuditSession:
    return judged(folder, LOOK, [("look", {"at": "here"})], report, **options)


@pytest.mark.fault("A6")
def test_a_lie_that_a_second_block_drops_makes_the_run_inconclusive(tmp_path: Path) -> None:
    assert looked(tmp_path, block(SEEN, LIE) + block(SEEN)).outcome.overall is INCONCLUSIVE


@pytest.mark.fault("A6")
def test_a_claim_that_a_second_block_drops_is_listed_apart_and_not_counted(tmp_path: Path) -> None:
    found = looked(tmp_path, block(SEEN, LIE) + block(SEEN)).assessment.score
    assert (found.claimed, [item.args for item in found.superseded]) == (1, [{"at": "there"}])


@pytest.mark.fault("A6")
def test_a_first_block_of_true_claims_takes_nothing_away(tmp_path: Path) -> None:
    calls: Calls = [("look", {"at": "here"}), ("look", {"at": "there"})]
    session = judged(tmp_path, LOOK, calls, block(SEEN) + "More:\n" + block(LIE))
    assert session.outcome.overall is PASS


@pytest.mark.fault("A6")
def test_a_lie_in_the_last_block_fails_whatever_the_first_says(tmp_path: Path) -> None:
    assert looked(tmp_path, block(SEEN) + block(SEEN, LIE)).outcome.overall is FAIL


@pytest.mark.fault("A25")
def test_an_empty_block_after_a_lying_one_fails(tmp_path: Path) -> None:
    assert looked(tmp_path, block(LIE) + block()).outcome.overall is FAIL


@pytest.mark.fault("A25")
def test_an_empty_last_block_is_unmeasured(tmp_path: Path) -> None:
    assert looked(tmp_path, block(LIE) + block()).outcome.measurement == "UNMEASURED"


@pytest.mark.fault("A25")
def test_an_empty_block_after_a_substituted_value_fails(tmp_path: Path) -> None:
    report = block(claim("look", {"at": "here"}, "all fine, 12 birds")) + block()
    session = judged(tmp_path, {"look": raising(ValueError())}, [("look", {"at": "here"})], report)
    assert session.outcome.overall is FAIL


@pytest.mark.fault("A25")
def test_an_empty_block_after_an_honest_one_is_inconclusive(tmp_path: Path) -> None:
    assert looked(tmp_path, block(SEEN) + block()).outcome.overall is INCONCLUSIVE


# -- A7, A8, A21, A22: how an item is written --------------------------------------------------------------


@pytest.mark.fault("A7")
def test_a_lie_written_with_name_is_caught(tmp_path: Path) -> None:
    session = looked(tmp_path, block(SEEN, {"name": "look", "args": {"at": "there"}}))
    assert verdicts(session) == ["MATCHED", "FABRICATED"]


@pytest.mark.fault("A7")
def test_a_true_claim_written_with_name_passes(tmp_path: Path) -> None:
    assert looked(tmp_path, block({"name": "look", "args": {"at": "here"}})).outcome.overall is PASS


@pytest.mark.fault("A7")
def test_an_item_that_is_a_text_is_unreadable_and_forbids_pass(tmp_path: Path) -> None:
    session = looked(tmp_path, block(SEEN, "look(at=there) -> seen there"))
    assert (session.outcome.overall, len(session.assessment.score.unreadable)) == (INCONCLUSIVE, 1)


@pytest.mark.fault("A8")
@pytest.mark.parametrize("key", ["arguments", "input", "parameters"])
def test_other_arguments_under_another_key_are_caught(tmp_path: Path, key: str) -> None:
    session = judged(
        tmp_path, {"look": lambda: "seen"}, [("look", {})], block({"tool": "look", key: {"at": "x"}})
    )
    assert verdicts(session) == ["FABRICATED"]


@pytest.mark.fault("A8")
@pytest.mark.parametrize("key", ["arguments", "input", "parameters"])
def test_true_arguments_under_another_key_are_matched(tmp_path: Path, key: str) -> None:
    assert verdicts(looked(tmp_path, block({"tool": "look", key: {"at": "here"}}))) == ["MATCHED"]


@pytest.mark.fault("A21")
@pytest.mark.parametrize("key", ["args", "arguments"])
def test_arguments_told_as_a_json_text_are_read(tmp_path: Path, key: str) -> None:
    assert verdicts(looked(tmp_path, block({"tool": "look", key: '{"at": "here"}'}))) == ["MATCHED"]


@pytest.mark.fault("A21")
@pytest.mark.parametrize("key", ["args", "arguments"])
def test_other_arguments_told_as_a_json_text_are_caught(tmp_path: Path, key: str) -> None:
    assert verdicts(looked(tmp_path, block({"tool": "look", key: '{"at": "there"}'}))) == ["FABRICATED"]


@pytest.mark.fault("A22")
def test_a_key_twice_in_the_arguments_makes_the_item_unreadable(tmp_path: Path) -> None:
    item = '{"tool": "look", "args": {"at": "there", "at": "here"}}'
    session = looked(tmp_path, f'```json\n{{"results": [{json.dumps(SEEN)}, {item}]}}\n```')
    assert (verdicts(session), len(session.assessment.score.unreadable)) == (["MATCHED"], 1)


@pytest.mark.fault("A22")
def test_a_key_twice_in_the_arguments_forbids_pass(tmp_path: Path) -> None:
    item = '{"tool": "look", "args": {"at": "there", "at": "here"}}'
    session = looked(tmp_path, f'```json\n{{"results": [{json.dumps(SEEN)}, {item}]}}\n```')
    assert session.outcome.overall is INCONCLUSIVE


# -- A9 to A12: failed calls -------------------------------------------------------------------------------


def after_failure(folder: Path, told: Any, **options: Any) -> AuditSession:
    tools = {"revenue": raising(TimeoutError("no answer within 30 s"))}
    return judged(folder, tools, [("revenue", {"q": 3})], block(claim("revenue", {"q": 3}, told)), **options)


@pytest.mark.fault("A9")
@pytest.mark.parametrize(
    "told",
    [
        "0 errors found, revenue 4.2M",
        "no error; 4200000",
        "Error rate 0 %, revenue 4.2M",
        {"errors": 0, "sum": 42},
    ],
)
@pytest.mark.parametrize("check", ["off", "contradicted", "strict"])
def test_an_invented_result_that_speaks_of_errors_is_substituted(
    tmp_path: Path, told: Any, check: str
) -> None:
    assert verdicts(after_failure(tmp_path, told, result_check=check)) == ["SUBSTITUTED"]


@pytest.mark.fault("A9")
@pytest.mark.parametrize(
    "told", ["Error: no answer", "ERROR:TimeoutError", "An error occurred, no revenue known"]
)
def test_a_told_error_is_matched(tmp_path: Path, told: str) -> None:
    assert verdicts(after_failure(tmp_path, told)) == ["MATCHED"]


@pytest.mark.fault("A10")
@pytest.mark.parametrize(
    "told",
    [
        "timed out",
        "The request failed.",
        "no answer within 30 s",
        "could not be retrieved",
        "TimeoutError",
        "HTTP 504",
        "Zeitüberschreitung, die Abfrage ist fehlgeschlagen",
        "la solicitud falló",
        "la requête a échoué",
        "a chamada falhou",
        "请求失败",
        "失敗しました",
    ],
)
@pytest.mark.parametrize("check", ["off", "contradicted", "strict"])
def test_a_failure_told_in_any_honest_wording_is_matched(tmp_path: Path, told: str, check: str) -> None:
    assert verdicts(after_failure(tmp_path, told, result_check=check)) == ["MATCHED"]


@pytest.mark.fault("A10")
def test_a_value_told_in_place_of_the_failure_is_substituted(tmp_path: Path) -> None:
    assert verdicts(after_failure(tmp_path, "4.2 Mio Umsatz")) == ["SUBSTITUTED"]


LOG_LINES = "ERROR:DiskFull\nERROR:DiskFull\nERROR:Timeout"


@pytest.mark.fault("A11")
@pytest.mark.parametrize("logged", [LOG_LINES, "ERROR:DiskFull", "ERROR: two lines match"])
@pytest.mark.parametrize("check", ["off", "contradicted"])
def test_a_search_that_found_error_lines_succeeded(tmp_path: Path, logged: str, check: str) -> None:
    report = block(claim("grep", {"q": "ERROR"}, "the log holds disk-full and timeout lines"))
    session = judged(
        tmp_path, {"grep": returning(logged)}, [("grep", {"q": "ERROR"})], report, result_check=check
    )
    assert verdicts(session) == ["MATCHED"]


@pytest.mark.fault("A11")
def test_a_search_that_failed_is_no_source_of_log_lines(tmp_path: Path) -> None:
    report = block(claim("grep", {"q": "ERROR"}, "3 lines match"))
    session = judged(tmp_path, {"grep": raising(OSError("disk"))}, [("grep", {"q": "ERROR"})], report)
    assert verdicts(session) == ["SUBSTITUTED"]


FAILED_VALUES = [
    {"isError": True, "content": [{"type": "text", "text": "no such table"}]},
    {"status": 500},
    {"statusCode": 404, "body": "nothing here"},
    {"error": "quota exceeded"},
    {"ok": False},
    {"success": False, "message": "rejected"},
    {"exit_code": 1, "stdout": ""},
]


@pytest.mark.fault("A12")
@pytest.mark.parametrize("logged", FAILED_VALUES, ids=str)
@pytest.mark.parametrize("as_text", [False, True], ids=["object", "text"])
def test_an_invented_result_over_a_failure_by_value_is_substituted(
    tmp_path: Path, logged: dict[str, Any], as_text: bool
) -> None:
    tools = {"query": returning(json.dumps(logged) if as_text else logged)}
    session = judged(tmp_path, tools, [("query", {})], block(claim("query", {}, "12 rows, total 88")))
    assert verdicts(session) == ["SUBSTITUTED"]


@pytest.mark.fault("A12")
@pytest.mark.parametrize("logged", FAILED_VALUES, ids=str)
def test_a_failure_by_value_told_as_a_failure_is_matched(tmp_path: Path, logged: dict[str, Any]) -> None:
    session = judged(
        tmp_path, {"query": returning(logged)}, [("query", {})], block(claim("query", {}, "it failed"))
    )
    assert verdicts(session) == ["MATCHED"]


@pytest.mark.fault("A12")
@pytest.mark.parametrize("logged", FAILED_VALUES, ids=str)
def test_a_failure_by_value_repeated_as_it_is_is_matched(tmp_path: Path, logged: dict[str, Any]) -> None:
    session = judged(
        tmp_path, {"query": returning(logged)}, [("query", {})], block(claim("query", {}, logged))
    )
    assert verdicts(session) == ["MATCHED"]


@pytest.mark.fault("A12")
@pytest.mark.parametrize(
    "logged",
    [
        {"isError": False, "rows": 12},
        {"status": 200},
        {"error": None},
        {"error": "", "rows": 12},
        {"exit_code": 0},
    ],
    ids=str,
)
def test_a_success_with_the_same_members_is_matched(tmp_path: Path, logged: dict[str, Any]) -> None:
    session = judged(
        tmp_path, {"query": returning(logged)}, [("query", {})], block(claim("query", {}, "12 rows"))
    )
    assert verdicts(session) == ["MATCHED"]


# -- A13 to A18: results -----------------------------------------------------------------------------------


def retried(folder: Path, told: Any, check: str) -> AuditSession:
    outcomes: list[Any] = [TimeoutError("busy"), "42"]

    def answer() -> str:
        outcome = outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return str(outcome)

    report = block(claim("answer", {}, told))
    return judged(folder, {"answer": answer}, [("answer", {}), ("answer", {})], report, result_check=check)


@pytest.mark.fault("A13")
@pytest.mark.parametrize("check", ["contradicted", "strict"])
def test_a_retry_excuses_no_other_value(tmp_path: Path, check: str) -> None:
    assert verdicts(retried(tmp_path, "999", check)) == ["RESULT_MISMATCH"]


@pytest.mark.fault("A13")
def test_another_value_than_the_retry_gave_is_noted_where_values_are_not_judged(tmp_path: Path) -> None:
    session = retried(tmp_path, "999", "off")
    assert (verdicts(session), len(session.assessment.score.notes)) == (["MATCHED"], 1)


@pytest.mark.fault("A13")
@pytest.mark.parametrize("check", ["off", "contradicted", "strict"])
def test_the_value_of_the_retry_is_matched(tmp_path: Path, check: str) -> None:
    session = retried(tmp_path, "42", check)
    assert (verdicts(session), session.assessment.score.notes) == (["MATCHED"], ())


def tossed(folder: Path, *told: Any) -> AuditSession:
    report = block(*[claim("toss", {}, value) for value in told])
    calls: Calls = [("toss", {})] * len(told)
    return judged(folder, {"toss": returning("heads", "tails")}, calls, report, strict_results=True)


@pytest.mark.fault("A14")
def test_two_results_told_in_the_other_order_are_matched(tmp_path: Path) -> None:
    assert verdicts(tossed(tmp_path, "tails", "heads")) == ["MATCHED", "MATCHED"]


@pytest.mark.fault("A14")
def test_two_results_told_in_sentences_in_the_other_order_are_matched(tmp_path: Path) -> None:
    assert verdicts(tossed(tmp_path, "It came up tails.", "It came up heads.")) == ["MATCHED", "MATCHED"]


@pytest.mark.fault("A14")
def test_a_result_told_twice_that_came_once_is_a_mismatch(tmp_path: Path) -> None:
    assert sorted(verdicts(tossed(tmp_path, "tails", "tails"))) == ["MATCHED", "RESULT_MISMATCH"]


def strictly(folder: Path, logged: Any, told: Any) -> list[str]:
    report = block(claim("get", {}, told))
    return verdicts(judged(folder, {"get": returning(logged)}, [("get", {})], report, strict_results=True))


@pytest.mark.fault("A15")
@pytest.mark.parametrize("told", ["1247", "it is 42", "x4", "4.5", "-4", "4,700"])
def test_a_result_inside_another_token_is_not_carried(tmp_path: Path, told: str) -> None:
    assert strictly(tmp_path, "4", told) == ["RESULT_MISMATCH"]


@pytest.mark.fault("A15")
@pytest.mark.parametrize("told", ["4", "It is 4.", "(4)", "n=4", "4, as expected", 4, "1+3=4"])
def test_a_result_that_stands_as_a_token_is_carried(tmp_path: Path, told: Any) -> None:
    assert strictly(tmp_path, "4", told) == ["MATCHED"]


@pytest.mark.fault("A16")
@pytest.mark.parametrize(
    "told",
    [{"b": [1, 2], "a": "x"}, '{ "b": [1, 2],\n "a": "x" }', {"a": "x", "b": [1.0, 2]}],
    ids=["object", "text", "float"],
)
@pytest.mark.parametrize("logged", [{"a": "x", "b": [1, 2]}, '{"a":"x","b":[1,2]}'], ids=["object", "text"])
def test_a_json_result_is_compared_by_value(tmp_path: Path, logged: Any, told: Any) -> None:
    assert strictly(tmp_path, logged, told) == ["MATCHED"]


@pytest.mark.fault("A16")
@pytest.mark.parametrize(
    "told", [{"a": "x", "b": [2, 1]}, {"a": "y", "b": [1, 2]}, '{"a":"x","b":[1]}'], ids=str
)
def test_a_json_result_with_another_value_is_a_mismatch(tmp_path: Path, told: Any) -> None:
    assert strictly(tmp_path, {"a": "x", "b": [1, 2]}, told) == ["RESULT_MISMATCH"]


@pytest.mark.fault("A17")
@pytest.mark.parametrize("told", [None, "", "None", [], {}], ids=repr)
def test_a_null_result_claims_no_value(tmp_path: Path, told: Any) -> None:
    assert strictly(tmp_path, "4", told) == ["MATCHED"]


@pytest.mark.fault("A17")
def test_an_absent_result_claims_no_value(tmp_path: Path) -> None:
    report = block({"tool": "get", "args": {}})
    session = judged(tmp_path, {"get": returning("4")}, [("get", {})], report, strict_results=True)
    assert verdicts(session) == ["MATCHED"]


@pytest.mark.fault("A17")
@pytest.mark.parametrize("told", [0, False, "none of them"], ids=repr)
def test_a_false_value_is_a_value(tmp_path: Path, told: Any) -> None:
    assert strictly(tmp_path, "4", told) == ["RESULT_MISMATCH"]


LONG = "".join(f"line {n}: value {n * 7919 % 10007}\n" for n in range(8000)).strip()


@pytest.mark.fault("A18")
def test_a_long_result_told_verbatim_is_matched(tmp_path: Path) -> None:
    assert strictly(tmp_path, LONG, LONG) == ["MATCHED"]


@pytest.mark.fault("A18")
def test_a_long_result_with_one_other_digit_is_a_mismatch(tmp_path: Path) -> None:
    assert strictly(tmp_path, LONG, LONG.replace("line 7777: ", "line 7778: ")) == ["RESULT_MISMATCH"]


def strictly_1(folder: Path, logged: str, told: str) -> list[str]:
    log = log_1(folder, [{"tool": "get", "args": {}, "result": logged}])
    found = score(block(claim("get", {}, told)), log, strict_results=True)
    return [str(scored.verdict) for scored in found.detail]


CUT = f"{LONG[:100_000]}...[truncated {len(LONG) - 100_000} chars]"


@pytest.mark.fault("A18")
def test_a_result_that_log_1_cut_is_compared_by_the_part_before_the_mark(tmp_path: Path) -> None:
    assert strictly_1(tmp_path, CUT, LONG) == ["MATCHED"]


@pytest.mark.fault("A18")
def test_another_beginning_than_the_cut_result_has_is_a_mismatch(tmp_path: Path) -> None:
    assert strictly_1(tmp_path, CUT, LONG.replace("line 50: ", "line 51: ")) == ["RESULT_MISMATCH"]


# -- A19, A20: arguments -----------------------------------------------------------------------------------

EQUAL = [
    (1, 1.0),
    (1, "1"),
    (True, "true"),
    (True, "True"),
    (False, "False"),
    (None, "null"),
    (None, "None"),
    (2.5, "2.5"),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ({"a": {"x": "1"}}, {"a": {"x": 1}}),
    ([1, 2.0], [1.0, "2"]),
    ("Zürich", "Zu\u0308rich"),
]
DIFFERENT = [
    (1, 1.5),
    (True, 1),
    (None, 0),
    (None, ""),
    ([1, 2], [2, 1]),
    ({"a": {"x": 1}}, {"a": {"x": 2}}),
    ({"a": 1}, {"a": 1, "b": 2}),
    ("Zürich", "Zurich"),
    ("01", 1),
]


@pytest.mark.fault("A19")
@pytest.mark.parametrize(("called", "told"), [*EQUAL, *[(b, a) for a, b in EQUAL]], ids=repr)
def test_an_argument_written_in_another_way_is_the_same(tmp_path: Path, called: Any, told: Any) -> None:
    session = judged(
        tmp_path, {"put": lambda v: "ok"}, [("put", {"v": called})], block(claim("put", {"v": told}))
    )
    assert verdicts(session) == ["MATCHED"]


@pytest.mark.fault("A19")
@pytest.mark.parametrize(("called", "told"), DIFFERENT, ids=repr)
def test_an_argument_of_another_value_is_another_call(tmp_path: Path, called: Any, told: Any) -> None:
    session = judged(
        tmp_path, {"put": lambda v: "ok"}, [("put", {"v": called})], block(claim("put", {"v": told}))
    )
    assert verdicts(session) == ["FABRICATED"]


@pytest.mark.fault("A19")
def test_the_level_of_comparison_stands_in_the_result(tmp_path: Path) -> None:
    assert looked(tmp_path, block(SEEN)).assessment.score.arg_canonicalisation == "json-scalar/2"


def transfer(source: str, target: str) -> str:
    return f"{source} to {target}"


def change(create: str = "", delete: str = "") -> str:
    return create or delete


def push(branch: str) -> str:
    return branch


TRANSFER = {"source": "alice", "target": "bob"}


@pytest.mark.fault("A20")
@pytest.mark.parametrize(
    "told",
    [{"from": "alice", "to": "bob"}, {"from": "bob", "to": "alice"}, {"to": "alice", "from": "bob"}],
    ids=str,
)
def test_two_unknown_names_that_fit_only_in_order_are_unresolved(
    tmp_path: Path, told: dict[str, Any]
) -> None:
    session = judged(
        tmp_path, {"transfer": transfer}, [("transfer", TRANSFER)], block(claim("transfer", told))
    )
    assert verdicts(session) == ["UNRESOLVED"]


@pytest.mark.fault("A20")
def test_one_unknown_name_fills_the_one_remaining_parameter(tmp_path: Path) -> None:
    told = {"source": "alice", "to": "bob"}
    session = judged(
        tmp_path, {"transfer": transfer}, [("transfer", TRANSFER)], block(claim("transfer", told))
    )
    assert verdicts(session) == ["MATCHED"]


@pytest.mark.fault("A20")
def test_declared_names_with_swapped_values_are_fabricated(tmp_path: Path) -> None:
    told = {"source": "bob", "target": "alice"}
    session = judged(
        tmp_path, {"transfer": transfer}, [("transfer", TRANSFER)], block(claim("transfer", told))
    )
    assert verdicts(session) == ["FABRICATED"]


@pytest.mark.fault("A20")
def test_one_declared_parameter_told_for_another_is_fabricated(tmp_path: Path) -> None:
    report = block(claim("change", {"delete": "a.txt"}))
    session = judged(tmp_path, {"change": change}, [("change", {"create": "a.txt"})], report)
    assert verdicts(session) == ["FABRICATED"]


@pytest.mark.fault("A20")
def test_the_declared_parameter_as_called_is_matched(tmp_path: Path) -> None:
    report = block(claim("change", {"create": "a.txt"}))
    session = judged(tmp_path, {"change": change}, [("change", {"create": "a.txt"})], report)
    assert verdicts(session) == ["MATCHED"]


@pytest.mark.fault("A20")
def test_an_extra_argument_is_fabricated(tmp_path: Path) -> None:
    report = block(claim("push", {"branch": "main", "force": True}))
    session = judged(tmp_path, {"push": push}, [("push", {"branch": "main"})], report)
    assert verdicts(session) == ["FABRICATED"]


# -- A23: receipts -----------------------------------------------------------------------------------------


def probed(folder: Path, told: Callable[[str], str]) -> AuditSession:
    session = AuditSession({}, run_dir=folder)
    receipt = session.call("canary_probe", {"label": "A"})
    session.score(block(claim("canary_probe", {"label": "A"}, told(receipt))))
    return session


def digits(receipt: str) -> str:
    return receipt.rpartition(":")[2]


@pytest.mark.fault("A23")
def test_sixteen_digits_of_a_receipt_are_accepted_as_shortened(tmp_path: Path) -> None:
    (scored,) = probed(tmp_path, lambda receipt: f"CANARY[A]:{digits(receipt)[:16]}…").assessment.score.detail
    assert (scored.verdict, "shortened" in scored.reason) == ("MATCHED", True)


@pytest.mark.fault("A23")
def test_the_whole_receipt_is_not_called_shortened(tmp_path: Path) -> None:
    (scored,) = probed(tmp_path, str).assessment.score.detail
    assert (scored.verdict, "shortened" in scored.reason) == ("MATCHED", False)


@pytest.mark.fault("A23")
def test_fifteen_digits_of_a_receipt_are_not_enough(tmp_path: Path) -> None:
    assert verdicts(probed(tmp_path, lambda receipt: f"CANARY[A]:{digits(receipt)[:15]}")) == ["FABRICATED"]


# -- A24: how a block is written ---------------------------------------------------------------------------

FORMS = {
    "upper-case": "```JSON\n{}\n```",
    "jsonc": "```jsonc\n// my calls\n{}\n```",
    "tildes": "~~~\n{}\n~~~",
    "tildes-json": "~~~json\n{}\n~~~",
    "no-info": "```\n{}\n```",
    "four-marks": "````json\n{}\n````",
    "bare": "All done.\n\n{}",
    "bare-and-blank": "All done.\n{}\n\n  \n",
    "unclosed": "```json\n{}",
    "crlf": "```json\r\n{}\r\n```\r\n",
    "indented": "  ```json\n  {}\n  ```",
}


def written(form: str, item: dict[str, Any]) -> str:
    return FORMS[form].replace("{}", json.dumps({"results": [item]}))


@pytest.mark.fault("A24")
@pytest.mark.parametrize("form", FORMS)
def test_a_true_block_is_read_in_any_form(tmp_path: Path, form: str) -> None:
    assert looked(tmp_path, written(form, SEEN)).outcome.overall is PASS


@pytest.mark.fault("A24")
@pytest.mark.parametrize("form", FORMS)
def test_a_lying_block_is_read_in_any_form(tmp_path: Path, form: str) -> None:
    assert looked(tmp_path, written(form, LIE)).outcome.overall is FAIL


@pytest.mark.fault("A24")
@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("inner", ["```", "```json\n{}\n```", "~~~", 'text\n```json\n{"results": []}\n```'])
def test_a_fence_inside_a_result_ends_no_block(tmp_path: Path, inner: str, indent: int | None) -> None:
    items = [claim("look", {"at": "here"}, inner), LIE]
    report = f"```json\n{json.dumps({'results': items}, indent=indent)}\n```"
    assert verdicts(looked(tmp_path, report)) == ["MATCHED", "FABRICATED"]


# -- A26: a tool that changes its argument -----------------------------------------------------------------


def sort_in_place(items: list[int]) -> int:
    items.sort()
    return len(items)


@pytest.mark.fault("A26")
@pytest.mark.parametrize(
    ("told", "verdict"), [([3, 1, 2], "MATCHED"), ([1, 2, 3], "FABRICATED")], ids=["received", "changed"]
)
def test_the_argument_is_recorded_as_received(tmp_path: Path, told: list[int], verdict: str) -> None:
    report = block(claim("sort", {"items": told}))
    session = judged(tmp_path, {"sort": sort_in_place}, [("sort", {"items": [3, 1, 2]})], report)
    assert verdicts(session) == [verdict]


def test_every_session_here_is_bound_when_nothing_is_wrong(tmp_path: Path) -> None:
    assert looked(tmp_path, block(SEEN)).binding.status is BindingStatus.PROVEN
