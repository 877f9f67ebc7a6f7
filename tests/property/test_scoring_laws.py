"""Laws that hold for every input: what an unrelated call changes, what order changes, and how a command may end."""

from __future__ import annotations

import json
import os
import random
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dispatch_fidelity import AuditSession
from dispatch_fidelity.claims.acknowledgement import speaks_of_failure
from dispatch_fidelity.claims.extract import extract
from dispatch_fidelity.claims.polarity import polarity
from dispatch_fidelity.cli.main import main
from dispatch_fidelity.jsonio import UNSET
from dispatch_fidelity.matching.policy import RESULT_CHECKS, Policy
from dispatch_fidelity.matching.scorer import score_claims
from dispatch_fidelity.model.call import Status
from dispatch_fidelity.model.claim import Claim, Extraction
from dispatch_fidelity.model.execution import Execution
from dispatch_fidelity.model.score import FAILING, Score, Verdict

ASSETS = Path(__file__).parent.parent / "assets" / "artifacts_v1"
ENDS = {0, 1, 2, 64, 65, 66}
few = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
many = settings(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck))

values = st.sampled_from([0, 1, 2, "1", "a", "A", "a ", None, True, 1.0, [1], {"a": 1}])
arguments = st.dictionaries(st.sampled_from(["p", "q", "r"]), values, max_size=3)
tools = st.sampled_from(["look", "fs.read", "db.read", "pay"])
told_tools = st.sampled_from(["look", "Look", "read", "fs.read", "pay", "other"])
results = st.sampled_from(["7", "8", "it is 7", "timed out", "", None, {"n": 7}, "7 rows", UNSET])
statuses = st.sampled_from([*Status])
claims = st.lists(st.builds(Claim, told_tools, arguments, results), max_size=8)


@st.composite
def executions(draw: st.DrawFn) -> list[Execution]:
    found = draw(st.lists(st.tuples(tools, arguments, statuses, results), max_size=8))
    return [
        Execution(tool, args, status, result=result, n=n)
        for n, (tool, args, status, result) in enumerate(found)
    ]


def judged(told: list[Claim], ran: list[Execution], check: str, *, closed: bool) -> Score:
    policy = Policy(result_check=check, polarity=polarity, speaks_of_failure=speaks_of_failure, closed=closed)
    return score_claims(Extraction(tuple(told)), ran, policy)


def counts(score: Score) -> dict[str, int]:
    return {str(verdict): score.count(verdict) for verdict in Verdict}


# -- matching ----------------------------------------------------------------------------------------------


@many
@given(claims, executions(), st.sampled_from(RESULT_CHECKS), st.booleans(), st.integers(0, 8))
def test_a_call_of_another_tool_and_target_makes_no_matched_claim_fail(
    told: list[Claim], ran: list[Execution], check: str, closed: bool, place: int
) -> None:
    unrelated = Execution("weather", {"city": "Oslo"}, Status.RETURNED, result="rain", n=99)
    before = judged(told, ran, check, closed=closed).detail
    after = judged(told, [*ran[:place], unrelated, *ran[place:]], check, closed=closed).detail
    assert not [
        (old.verdict, new.verdict)
        for old, new in zip(before, after, strict=True)
        if old.verdict is Verdict.MATCHED and new.verdict in FAILING
    ]


@many
@given(claims, executions(), st.sampled_from(RESULT_CHECKS), st.booleans(), st.randoms(use_true_random=False))
def test_the_order_of_claims_does_not_change_the_counts(
    told: list[Claim], ran: list[Execution], check: str, closed: bool, rng: random.Random
) -> None:
    shuffled = [*told]
    rng.shuffle(shuffled)
    assert counts(judged(shuffled, ran, check, closed=closed)) == counts(
        judged(told, ran, check, closed=closed)
    )


@many
@given(claims, executions(), st.sampled_from(RESULT_CHECKS), st.booleans())
def test_every_claim_gets_one_verdict_and_every_execution_is_used_at_most_once(
    told: list[Claim], ran: list[Execution], check: str, closed: bool
) -> None:
    found = judged(told, ran, check, closed=closed)
    used = [item.execution.n for item in found.detail if item.execution is not None]
    left = [execution.n for execution in found.omitted_calls]
    assert [item.claim for item in found.detail] == told
    assert sorted(used + left) == [execution.n for execution in ran]


@many
@given(executions(), st.sampled_from(RESULT_CHECKS))
def test_a_report_that_copies_the_record_is_never_accused(ran: list[Execution], check: str) -> None:
    done = [execution for execution in ran if execution.status is Status.RETURNED]
    told = [Claim(execution.tool, execution.args, execution.result) for execution in done]
    found = judged(told, done, check, closed=True)
    assert found.value_integrity_failures == 0


@many
@given(claims, executions())
def test_nothing_is_fabricated_in_a_record_that_is_not_closed(
    told: list[Claim], ran: list[Execution]
) -> None:
    assert judged(told, ran, "strict", closed=False).fabricated == 0


# -- extraction --------------------------------------------------------------------------------------------

fragments = st.sampled_from(
    [
        "```json\n",
        "```",
        "~~~\n",
        "\n",
        '{"results": [',
        '{"tool": "look", "args": {"at": 1}}',
        '{"name": "x", "arguments": "{}"}',
        "]}",
        "}",
        "{",
        ",",
        '"',
        "\\",
        "// c\n",
        "/*",
        "*/",
        "Größe 東京 🙂",
        "\ud800",
        "\u2028",
        "NaN",
        "null",
        " ",
        "```json {",
        '"results":',
    ]
)


@many
@given(st.lists(fragments, max_size=24).map("".join))
def test_every_span_lies_in_the_report_and_holds_something(report: str) -> None:
    found = extract(report)
    spans = [claim.span for claim in (*found.claims, *found.superseded)] + [
        item.span for item in found.unreadable
    ]
    assert all(0 <= start < end <= len(report) for start, end in spans)


@many
@given(
    st.lists(
        st.builds(Claim, told_tools, arguments, results.filter(lambda item: item is not UNSET)), max_size=6
    ),
    st.sampled_from(["", "Größe 🙂:\n", "```sh\nls\n```\n"]),
    st.sampled_from([None, 1]),
    st.booleans(),
)
def test_reading_a_block_gives_back_what_was_written(
    told: list[Claim], words: str, indent: int | None, fenced: bool
) -> None:
    items = [{"tool": claim.tool, "args": claim.args, "result": claim.result} for claim in told]
    body = json.dumps({"results": items}, indent=indent, ensure_ascii=False)
    found = extract(f"{words}```json\n{body}\n```" if fenced else words + body)
    assert [(claim.tool, claim.args, claim.result) for claim in found.claims] == [
        (claim.tool, claim.args, claim.result) for claim in told
    ]


# -- commands ----------------------------------------------------------------------------------------------


RUNS = ("v1-honest", "v1-lying", "v1-other", "v1-substituting", "recorded")


@lru_cache(maxsize=1)
def runs() -> dict[str, dict[str, bytes]]:
    """Real runs of both versions: claims, log and manifest that belong together."""
    endings = {"claims": ".report.md", "log": ".toollog.jsonl", "manifest": ".manifest.json"}
    found = {
        run: {kind: (ASSETS / f"{run}{ending}").read_bytes() for kind, ending in endings.items()}
        for run in RUNS[:-1]
    }
    with tempfile.TemporaryDirectory() as folder:
        session = AuditSession({"look": lambda at: {"seen": at}}, run_dir=folder, run_id="recorded")
        session.call("canary_probe", {"label": "A"})
        session.call("look", {"at": float("nan")})
        session.call("look", {"at": 1})
        session.call("look", {"there": 1})
        session.close()
        item = {"tool": "look", "args": {"at": 1}, "result": {"seen": 1}}
        found["recorded"] = {
            "claims": f"Done.\n```json\n{json.dumps({'results': [item]})}\n```\n".encode(),
            "log": session.log_path.read_bytes(),
            "manifest": session.manifest_path.read_bytes(),
        }
    return found


def conversation() -> bytes:
    """A transcript to audit."""
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": '{"at": 1}'}}
    report = '{"results": [{"tool": "look", "args": {"at": 1}, "result": "seen"}]}'
    messages = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "seen"},
        {"role": "assistant", "content": report},
    ]
    return json.dumps(messages, indent=1).encode()


plain: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)
SPLICES = [
    b"\x00",
    b"\xff",
    b"\xed\xa0\x80",
    b"\xef\xbb\xbf",
    b'"',
    b"\\",
    b"\\ud800",
    b"\n",
    b"\r",
    b"{",
    b"}",
    b"[" * 200,
    b"7" * 5000,
    b"1e999",
    b"NaN",
    b"null",
    b"-1",
    b'{"$df": "blob", "sha256": "../../x"}',
    b'{"$df": "int", "text": "zz"}',
    b'{"$df": 1}',
    b'"run":"run",',
    b"\xe2\x80\xa8",
]
KEYS = [
    "tool",
    "args",
    "result",
    "error",
    "status",
    "seq",
    "run_id",
    "results",
    "type",
    "call",
    "n",
    "schema",
    "tools",
]


@st.composite
def mutated(draw: st.DrawFn, data: bytes) -> bytes:
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.integers(0, len(data)))
        end = draw(st.integers(start, min(len(data), start + 40)))
        data = data[:start] + draw(st.sampled_from([b"", *SPLICES])) + data[end:]
    return data


@st.composite
def revalued(draw: st.DrawFn, data: bytes) -> bytes:
    """The file with another value for one member of one of its objects."""
    places = [match.end() for key in KEYS for match in re.finditer(rb'"%s": ?' % key.encode(), data)]
    if not places:
        return data
    start = draw(st.sampled_from(places))
    end = re.compile(rb"[,}\n]|\Z").search(data, start)
    assert end is not None
    return data[:start] + json.dumps(draw(plain)).encode() + data[end.start() :]


def anything(data: bytes) -> st.SearchStrategy[bytes]:
    """The file, changed here and there; or a JSON document; or any bytes."""
    documents = plain.map(lambda value: json.dumps(value).encode())
    return (
        mutated(data) | mutated(data) | revalued(data) | revalued(data) | documents | st.binary(max_size=60)
    )


@st.composite
def files_of_a_run(draw: st.DrawFn) -> dict[str, bytes]:
    """The files of a real run, one of them replaced by anything."""
    files = {**runs()[draw(st.sampled_from(RUNS))]}
    kind = draw(st.sampled_from([*files]))
    files[kind] = draw(anything(files[kind]))
    return files


@contextmanager
def chdir(folder: str) -> Iterator[None]:
    """Work in a folder of its own: a command may name, and write, any file."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def ends(command: list[str], **files: bytes) -> int:
    with tempfile.TemporaryDirectory() as folder:
        names = {
            "manifest": "v1-honest.manifest.json",
            "log": "run.toollog.jsonl",
            "claims": "told.md",
            "talk": "talk.json",
        }
        args = [*command]
        for option, data in files.items():
            path = Path(folder) / names.get(option, f"{option}.json")
            path.write_bytes(data)
            args += [str(path)] if option == "talk" else [f"--{option}", str(path)]
        return main([*args, "--json", str(Path(folder) / "out.json")])


@many
@given(files_of_a_run(), st.sampled_from(RESULT_CHECKS))
def test_score_ends_in_a_promised_exit_code(files: dict[str, bytes], check: str) -> None:
    assert ends(["score", "--results", check], **files) in ENDS


@many
@given(files_of_a_run())
def test_bind_ends_in_a_promised_exit_code(files: dict[str, bytes]) -> None:
    assert ends(["bind"], log=files["log"], manifest=files["manifest"]) in ENDS


@many
@given(anything(conversation()))
def test_audit_ends_in_a_promised_exit_code(talk: bytes) -> None:
    assert ends(["audit", "--binding-proof", "none"], talk=talk) in ENDS


@few
@given(anything(conversation()))
def test_audit_under_a_named_format_ends_in_a_promised_exit_code(talk: bytes) -> None:
    assert ends(["audit", "--format", "openai-chat"], talk=talk) in ENDS


@few
@given(plain.map(lambda value: json.dumps(value).encode()) | st.binary(max_size=40))
def test_a_schema_ends_in_a_promised_exit_code(schema: bytes) -> None:
    assert ends(["score"], schema=schema, **runs()["v1-honest"]) in ENDS


words = st.text(st.characters(exclude_characters="./\\~"), max_size=8)
commands = st.sampled_from(
    ["score", "bind", "audit", "--log", "--claims", "--manifest", "--json", "--results"]
)


@few
@given(st.lists(words | commands, max_size=5))
def test_any_arguments_end_in_a_promised_exit_code(args: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        assert main([arg for arg in args if arg not in ("demo", "selftest")]) in ENDS
