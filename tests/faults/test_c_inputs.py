"""Inputs on which the reference implementation crashed, or was slow: a verdict or 65 or 66, never a traceback."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dispatch_fidelity import AuditSession
from dispatch_fidelity.claims import block as block_module
from dispatch_fidelity.claims.block import find_blocks
from dispatch_fidelity.cli.main import main

NONCE = "00112233445566778899aabbccddeeff"
BOM = b"\xef\xbb\xbf"
DEEP = "[" * 5000 + "]" * 5000
DIGITS = "7" * 5000


def block(*items: Any) -> str:
    return f"```json\n{json.dumps({'results': items})}\n```\n"


class Run:
    """A run of one call on disk, in log 1 or log 2, and the command line to judge it with."""

    def __init__(self, folder: Path, version: int) -> None:
        self.folder = folder
        self.version = version
        self.report = folder / "told.md"
        self.log = folder / "run.toollog.jsonl"
        self.manifest = folder / "run.manifest.json"
        self.report.write_text(
            block({"tool": "look", "args": {"at": "here"}, "result": "seen"}), encoding="utf-8"
        )
        if version == 2:
            with AuditSession({"look": lambda at: "seen"}, run_dir=folder, run_id="run") as session:
                session.call("canary_probe", {"label": "A"})
                session.call("look", {"at": "here"})
            return
        sealed = {
            "schema": "dispatch-fidelity/manifest/1",
            "run_id": "run",
            "nonce_sha256": hashlib.sha256(NONCE.encode()).hexdigest(),
        }
        self.manifest.write_text(json.dumps(sealed), encoding="ascii")
        rows = [
            {"seq": 1, "run_id": "run", "tool": "canary_probe", "args": {}, "result": f"CANARY[A]:{NONCE}"},
            {"seq": 2, "run_id": "run", "tool": "look", "args": {"at": "here"}, "result": "seen"},
        ]
        self.log.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="ascii")

    def edit(self, path: Path, change: Callable[[bytes], bytes]) -> None:
        path.write_bytes(change(path.read_bytes()))

    def add_line(self, line: bytes) -> None:
        """Append a line to the log, before the close record of a log 2."""
        lines = self.log.read_bytes().splitlines(keepends=True)
        lines.insert(len(lines) - (self.version == 2), line + b"\n")
        self.log.write_bytes(b"".join(lines))

    def judge(self, *options: str) -> int:
        files = ["--claims", str(self.report), "--log", str(self.log), "--manifest", str(self.manifest)]
        return main(["score", *files, *options])


@pytest.fixture(params=[1, 2], ids=["log-1", "log-2"])
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Run:
    return Run(tmp_path, request.param)


@pytest.fixture(autouse=True)
def no_traceback(capsys: pytest.CaptureFixture[str]) -> Iterator[None]:
    yield
    said = capsys.readouterr()
    assert "Traceback" not in said.out + said.err
    assert "the instrument failed" not in said.err


def line_of(**fields: Any) -> bytes:
    row = {"seq": 3, "run_id": "run", "tool": "look", "args": {"at": "x"}, "result": "y", **fields}
    return json.dumps(row).encode()


def test_the_run_that_these_tests_damage_passes(run: Run) -> None:
    assert run.judge() == 0


@pytest.mark.fault("C1")
@pytest.mark.parametrize(
    "nested",
    [
        pytest.param('{"results": ' + DEEP + "}", id="the-results"),
        pytest.param('{"results": [{"tool": "look", "args": {"at": ' + DEEP + "}}]}", id="an-argument"),
        pytest.param('{"results": [{"tool": "look", "result": ' + DEEP + "}]}", id="a-result"),
        pytest.param('{"results": [' + '{"a":' * 5000, id="unclosed"),
    ],
)
def test_a_deeply_nested_block_is_unreadable(run: Run, nested: str) -> None:
    run.report.write_text(f"```json\n{nested}\n```\n", encoding="ascii")
    assert run.judge() == 2


@pytest.mark.fault("C1")
def test_deep_nesting_outside_a_block_is_nothing(run: Run) -> None:
    run.edit(run.report, lambda data: f"{DEEP}\n".encode() + data)
    assert run.judge() == 0


@pytest.mark.fault("C2")
def test_a_deeply_nested_log_line_is_damage(run: Run) -> None:
    run.add_line(line_of(result="DEEP").replace(b'"DEEP"', DEEP.encode()))
    assert run.judge() == 2


@pytest.mark.fault("C3")
@pytest.mark.parametrize("place", ["args", "result"])
def test_an_integer_of_5000_digits_in_the_report_is_unreadable(run: Run, place: str) -> None:
    item: dict[str, Any] = {"tool": "look", "args": {"at": "here"}, place: {"at": "DIGITS"}}
    run.report.write_text(block(item).replace('"DIGITS"', DIGITS), encoding="ascii")
    assert run.judge() == 2


@pytest.mark.fault("C3")
def test_an_integer_of_5000_digits_in_the_log_is_damage(run: Run) -> None:
    run.add_line(line_of(result="DIGITS").replace(b'"DIGITS"', DIGITS.encode()))
    assert run.judge() == 2


@pytest.mark.fault("C3")
def test_an_integer_of_4000_digits_is_a_value(tmp_path: Path) -> None:
    number = int("7" * 4000)
    with AuditSession({"look": lambda at: "seen"}, run_dir=tmp_path, run_id="long") as session:
        session.call("canary_probe", {"label": "A"})
        session.call("look", {"at": number})
        session.score(block({"tool": "look", "args": {"at": number}}))
    assert session.outcome.exit_code == 0


@pytest.mark.fault("C4")
@pytest.mark.parametrize("line", [b"[]", b"3", b'"text"', b"null", b"true", b"[1, 2]"])
def test_a_log_line_that_is_no_object_is_damage(run: Run, line: bytes) -> None:
    run.add_line(line)
    assert run.judge() == 2


@pytest.mark.fault("C5")
@pytest.mark.parametrize("args", [["here"], "here", 3])
def test_arguments_that_are_no_object_are_damage_in_log_1(tmp_path: Path, args: Any) -> None:
    run = Run(tmp_path, 1)
    run.add_line(line_of(args=args))
    assert run.judge() == 2


@pytest.mark.fault("C5")
def test_arguments_that_are_a_list_are_no_crash_in_log_2(tmp_path: Path) -> None:
    run = Run(tmp_path, 2)
    run.edit(run.log, lambda data: data.replace(b'{"at":"here"}', b'["here"]'))
    assert run.judge() == 1  # the chain shows the edit


@pytest.mark.fault("C5")
def test_a_call_whose_arguments_were_cut_out_of_log_2_is_no_crash(tmp_path: Path) -> None:
    run = Run(tmp_path, 2)
    run.edit(run.log, lambda data: data.replace(b',"args":{"at":"here"}', b""))
    assert run.judge("--json", str(tmp_path / "score.json")) == 1  # the chain shows the edit


@pytest.mark.fault("C6")
@pytest.mark.parametrize("tool", [["look"], {"name": "look"}, 7, None])
def test_a_tool_that_is_no_text_is_damage(run: Run, tool: Any) -> None:
    run.add_line(line_of(tool=tool))
    assert run.judge() == 2


@pytest.mark.fault("C7")
def test_invalid_utf_8_in_the_log_is_damage(run: Run) -> None:
    run.add_line(line_of(result="BYTES").replace(b"BYTES", b"\xff\xfe\xc3"))
    assert run.judge() == 2


@pytest.mark.fault("C7")
def test_valid_utf_8_in_the_log_is_text(tmp_path: Path) -> None:
    run = Run(tmp_path, 1)
    run.add_line(json.dumps(json.loads(line_of(result="naïve 東京 🙂")), ensure_ascii=False).encode())
    assert run.judge() == 0


@pytest.mark.fault("C8")
@pytest.mark.parametrize("junk", [b"\xff", b"\xed\xa0\x80", b"\xc3"])
def test_invalid_utf_8_in_the_report_is_65(run: Run, junk: bytes) -> None:
    run.edit(run.report, lambda data: data + junk)
    assert run.judge() == 65


@pytest.mark.fault("C9")
def test_a_bom_before_the_manifest_is_skipped(run: Run) -> None:
    run.edit(run.manifest, lambda data: BOM + data)
    assert run.judge() == 0


@pytest.mark.fault("C10")
def test_a_bom_before_the_log_is_skipped(run: Run) -> None:
    run.edit(run.log, lambda data: BOM + data)
    assert run.judge() == 0


@pytest.mark.fault("C10")
def test_a_bom_before_the_report_is_skipped(run: Run) -> None:
    run.edit(run.report, lambda data: BOM + data)
    assert run.judge() == 0


SURROGATE = '{"results": [{"tool": "look", "args": {"at": "here"}, "result": "\\ud800"}]}'


@pytest.mark.fault("C11")
def test_a_lone_surrogate_in_a_claim_keeps_the_verdict(run: Run) -> None:
    run.report.write_text(f"```json\n{SURROGATE}\n```\n", encoding="ascii")
    assert run.judge() == 0


@pytest.mark.fault("C11")
def test_a_lone_surrogate_is_escaped_in_the_score_file(run: Run) -> None:
    run.report.write_text(f"```json\n{SURROGATE}\n```\n", encoding="ascii")
    run.judge("--json", str(run.folder / "score.json"))
    document = json.loads((run.folder / "score.json").read_bytes())
    assert document["score"]["detail"][0]["claimed_result"] == "\ud800"


@pytest.mark.fault("C11")
def test_a_session_stores_the_score_of_a_report_with_a_lone_surrogate(tmp_path: Path) -> None:
    with AuditSession({"look": lambda at: "seen"}, run_dir=tmp_path, run_id="run") as session:
        session.call("canary_probe", {"label": "A"})
        session.call("look", {"at": "here"})
        session.score(f"\ud800\n```json\n{SURROGATE}\n```\n")
    assert json.loads((tmp_path / "run.score.json").read_bytes())["outcome"]["overall"] == "PASS"


@pytest.mark.fault("C12")
@pytest.mark.parametrize("name", ["report", "log", "manifest"])
def test_a_missing_file_is_66(run: Run, name: str) -> None:
    path: Path = getattr(run, name)
    path.unlink()
    assert run.judge() == 66


@pytest.mark.fault("C12")
@pytest.mark.parametrize("name", ["report", "log", "manifest"])
def test_a_folder_in_place_of_a_file_is_66(run: Run, name: str) -> None:
    path: Path = getattr(run, name)
    path.unlink()
    path.mkdir()
    assert run.judge() == 66


BREAKS = "a\u2028b\u2029c\u0085d\x0be\x0cf\x1cg\rh"


@pytest.mark.fault("C13")
def test_line_separators_in_arguments_and_results_split_no_record(tmp_path: Path) -> None:
    with AuditSession({"look": lambda at: f"saw {at}"}, run_dir=tmp_path) as session:
        session.call("canary_probe", {"label": "A"})
        session.call("look", {"at": BREAKS})
        session.score(block({"tool": "look", "args": {"at": BREAKS}, "result": f"saw {BREAKS}"}))
    assert session.outcome.exit_code == 0


@pytest.mark.fault("C13")
def test_line_separators_that_stand_raw_in_log_1_split_no_record(tmp_path: Path) -> None:
    run = Run(tmp_path, 1)
    raw = json.dumps(json.loads(line_of(result="a\u2028b\u2029c\u0085d")), ensure_ascii=False).encode()
    run.add_line(raw)
    assert run.judge() == 0


@pytest.mark.fault("C13")
def test_a_raw_line_feed_does_split_a_record(run: Run) -> None:
    run.add_line(line_of(result="a b").replace(b"a b", b"a\nb"))
    assert run.judge() == 2


def nan_session(folder: Path) -> AuditSession:
    session = AuditSession({"look": lambda at: "seen"}, run_dir=folder, run_id="nan")
    session.call("canary_probe", {"label": "A"})
    session.call("look", {"at": float("nan")})
    return session


@pytest.mark.fault("C14")
def test_a_nan_argument_is_written_as_a_tagged_text(tmp_path: Path) -> None:
    session = nan_session(tmp_path)
    session.close()

    def refuse(text: str) -> None:
        raise AssertionError(text)

    lines = [json.loads(line, parse_constant=refuse) for line in session.log_path.read_bytes().splitlines()]
    started = [line["args"] for line in lines if line.get("tool") == "look"]
    assert started == [{"at": {"$df": "float", "text": "NaN"}}]


@pytest.mark.fault("C14")
@pytest.mark.parametrize(("told", "expected"), [("NaN", 0), (0, 1)])
def test_a_nan_argument_is_compared_by_its_text(tmp_path: Path, told: Any, expected: int) -> None:
    session = nan_session(tmp_path)
    session.score(block({"tool": "look", "args": {"at": told}}))
    assert session.outcome.exit_code == expected


@pytest.mark.fault("C14")
def test_a_bare_nan_in_a_claim_is_unreadable(run: Run) -> None:
    run.edit(run.report, lambda data: data.replace(b'"here"', b"NaN"))
    assert run.judge() == 2


# -- C15: linear -------------------------------------------------------------------------------------------


class Counted:
    """A pattern that adds up the characters each of its searches passes over."""

    def __init__(self, pattern: re.Pattern[str], passed: list[int]) -> None:
        self.pattern = pattern
        self.passed = passed

    def search(self, text: str, start: int = 0, end: int | None = None) -> re.Match[str] | None:
        limit = len(text) if end is None else end
        match = self.pattern.search(text, start, limit)
        self.passed.append((match.end() if match else limit) - start)
        return match

    def match(self, text: str) -> re.Match[str] | None:
        match = self.pattern.match(text)
        self.passed.append(match.end() if match else len(text))
        return match

    def finditer(self, text: str, start: int = 0, end: int | None = None) -> Iterator[re.Match[str]]:
        limit = len(text) if end is None else end
        self.passed.append(limit - start)
        return self.pattern.finditer(text, start, limit)

    def sub(self, how: Callable[[re.Match[str]], str], text: str) -> str:
        self.passed.append(len(text))
        return self.pattern.sub(how, text)


HOSTILE = {
    "unclosed-fence-and-blanks": ("```json\n", "\n"),
    "unclosed-fence-and-spaces": ("```json\n{", "  "),
    "openers": ("", "```json\n"),
    "bare-openers": ("", '{"results": [\n'),
    "braces": ("", "{"),
    "closing-braces": ("", "}{"),
    "quotes": ('{"results": [', '"'),
    "escapes": ('```json\n{"results": ["', "\\"),
    "comments": ('```json\n{"results": [', "/*"),
    "line-comments": ('```json\n{"results": [', "// \n"),
    "commas": ('```json\n{"results": [', ", \n"),
    "unreadable-blocks": ("", '```json\n{"results": [,]}\n```\n'),
    "blocks": ("", '```json\n{"results": [{"tool": "t"}]}\n```\n'),
    "tildes": ("", "~~~json\n"),
    "backticks": ("", "````"),
}


def work(monkeypatch: pytest.MonkeyPatch, report: str) -> int:
    passed: list[int] = []
    with monkeypatch.context() as patched:
        for name, value in vars(block_module).items():
            if isinstance(value, re.Pattern):
                patched.setattr(block_module, name, Counted(value, passed))
        find_blocks(report)
    return sum(passed)


@pytest.mark.fault("C15")
@pytest.mark.parametrize("name", HOSTILE)
def test_twenty_times_the_report_is_about_twenty_times_the_work(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    head, unit = HOSTILE[name]
    small, large = work(monkeypatch, head + unit * 500), work(monkeypatch, head + unit * 10_000)
    assert large <= 40 * small


@pytest.mark.fault("C15")
@pytest.mark.parametrize("name", HOSTILE)
def test_a_report_is_passed_over_a_few_times_only(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    head, unit = HOSTILE[name]
    report = head + unit * 10_000
    assert work(monkeypatch, report) <= 12 * len(report)


@pytest.mark.fault("C15")
def test_an_unclosed_fence_before_many_blanks_hides_no_block_after_them(run: Run) -> None:
    run.edit(run.report, lambda data: b"```json\n" + b"\n" * 40_000 + data)
    assert run.judge() == 0
