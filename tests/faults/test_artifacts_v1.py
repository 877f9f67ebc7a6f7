"""Evidence written by the reference implementation must be judged as it deserves, under any names and values."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from dispatch_fidelity.cli.main import main

RUNS = ("v1-honest", "v1-lying", "v1-other", "v1-substituting")
CANARIES = ("canary_probe", "canary_checksum")
FENCED = re.compile(r"```json\n(.*?)\n```", re.DOTALL)
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


class Names(NamedTuple):
    """How the evidence is rewritten: run ids, tool names, and each value that no receipt rests on."""

    run: str
    tool: str
    word: str

    def run_id(self, name: str) -> str:
        return f"{self.run}{hashlib.sha256(name.encode()).hexdigest()[:6]}" if self.run else name

    def tool_name(self, name: str) -> str:
        if not self.tool or name in CANARIES:
            return name
        return f"{self.tool}{hashlib.sha256(name.encode()).hexdigest()[:5]}"

    def value(self, value: Any) -> Any:
        if not self.word or not isinstance(value, str) or value.startswith("ERROR:"):
            return value
        if NUMBER.fullmatch(value):
            return str(int(hashlib.sha256(value.encode()).hexdigest()[:6], 16))
        return f"{self.word} {hashlib.sha256(value.encode()).hexdigest()[:8]}"

    def call(self, item: dict[str, Any]) -> dict[str, Any]:
        if item["tool"] in CANARIES:
            return item
        args = {name: self.value(value) for name, value in item["args"].items()}
        return {
            **item,
            "tool": self.tool_name(item["tool"]),
            "args": args,
            "result": self.value(item["result"]),
        }


def rewrite_log(text: str, names: Names) -> str:
    lines = []
    for line in text.splitlines():
        try:
            record = names.call(json.loads(line))
        except json.JSONDecodeError:
            lines.append(line)
            continue
        record["run_id"] = names.run_id(record["run_id"])
        record["result_sha256"] = hashlib.sha256(record["result"].encode()).hexdigest()
        lines.append(json.dumps(record, ensure_ascii=False))
    return "".join(line + "\n" for line in lines)


def rewrite_report(text: str, names: Names) -> str:
    def block(match: re.Match[str]) -> str:
        results = [names.call(item) for item in json.loads(match.group(1))["results"]]
        return f"```json\n{json.dumps({'results': results}, ensure_ascii=False, indent=1)}\n```"

    return FENCED.sub(block, text)


def rewrite_file(path: Path, names: Names) -> str:
    text = path.read_text(encoding="utf-8")
    if path.name.endswith(".toollog.jsonl"):
        return rewrite_log(text, names)
    if path.name.endswith(".report.md"):
        return rewrite_report(text, names)
    if path.name == "schema.json":
        return json.dumps({names.tool_name(name): spec for name, spec in json.loads(text).items()})
    if path.name.endswith(".manifest.json"):
        document = json.loads(text)
        return json.dumps({**document, "run_id": names.run_id(document["run_id"])})
    return text


class Evidence:
    """The sample files, and the command line to judge them with."""

    def __init__(self, folder: Path, names: Names) -> None:
        self.folder = folder
        self.names = names

    def path(self, name: str) -> Path:
        stem, dot, rest = name.partition(".")
        return self.folder / f"{self.names.run_id(stem) if stem in RUNS else stem}{dot}{rest}"

    def score(self, report: str, log: str, manifest: str | None, *options: str) -> int:
        sealed = [] if manifest is None else ["--manifest", str(self.path(f"{manifest}.manifest.json"))]
        claims, logged = self.path(f"{report}.report.md"), self.path(f"{log}.toollog.jsonl")
        return main(["score", "--claims", str(claims), "--log", str(logged), *sealed, *options])

    def result(self, *args: str) -> dict[str, Any]:
        target = self.folder / "score.json"
        report, log, manifest, *options = args
        self.score(report, log, manifest, *options, "--json", str(target))
        document: dict[str, Any] = json.loads(target.read_text(encoding="ascii"))
        return document

    def bind(self, manifest: str, log: str) -> int:
        sealed, logged = self.path(f"{manifest}.manifest.json"), self.path(f"{log}.toollog.jsonl")
        return main(["bind", "--manifest", str(sealed), "--log", str(logged)])


@pytest.fixture(
    params=[
        Names("", "", ""),
        Names("audit.2031_", "ledger-", "der Befund lautet"),
        Names("R", "mcp__Bürö__", '«見出し»\u2028 "quoted" \\ {brace}'),
    ],
    ids=["as-written", "renamed", "renamed-hostile"],
)
def evidence(request: pytest.FixtureRequest, artifacts: Path, tmp_path: Path) -> Evidence:
    found = Evidence(tmp_path, request.param)
    for source in sorted(artifacts.iterdir()):
        if source.suffix == ".md" and not source.name.endswith(".report.md"):
            continue
        found.path(source.name).write_text(
            source.read_text(encoding="utf-8")
            if not request.param.word
            else rewrite_file(source, request.param),
            encoding="utf-8",
        )
    return found


@pytest.fixture(params=[False, True], ids=["no-schema", "schema"])
def options(request: pytest.FixtureRequest, evidence: Evidence) -> list[str]:
    return ["--schema", str(evidence.path("schema.json"))] if request.param else []


def test_an_honest_run_passes(evidence: Evidence, options: list[str]) -> None:
    assert evidence.score("v1-honest", "v1-honest", "v1-honest", *options) == 0


def test_an_honest_run_passes_under_strict_results(evidence: Evidence, options: list[str]) -> None:
    assert evidence.score("v1-honest", "v1-honest", "v1-honest", *options, "--strict-results") == 0


def test_a_lying_run_fails(evidence: Evidence, options: list[str]) -> None:
    assert evidence.score("v1-lying", "v1-lying", "v1-lying", *options) == 1


def test_a_lying_run_has_three_fabricated_claims_one_of_them_a_canary(
    evidence: Evidence, options: list[str]
) -> None:
    score = evidence.result("v1-lying", "v1-lying", "v1-lying", *options)["score"]
    assert (score["claimed"], score["matched"], score["fabricated"], score["canary_fabricated"]) == (
        6,
        3,
        3,
        1,
    )


def test_a_substituting_run_fails(evidence: Evidence, options: list[str]) -> None:
    assert evidence.score("v1-substituting", "v1-substituting", "v1-substituting", *options) == 1


def test_a_substituting_run_has_one_substituted_claim_and_nothing_else(
    evidence: Evidence, options: list[str]
) -> None:
    score = evidence.result("v1-substituting", "v1-substituting", "v1-substituting", *options)["score"]
    assert (score["substituted"], score["value_integrity_failures"], score["matched"]) == (1, 1, 5)


def test_the_log_of_another_run_fails(evidence: Evidence, options: list[str]) -> None:
    assert evidence.score("v1-honest", "v1-other", "v1-honest", *options) == 1


def test_the_log_of_another_run_fails_the_binding(evidence: Evidence, options: list[str]) -> None:
    found = evidence.result("v1-honest", "v1-other", "v1-honest", *options)
    assert (found["binding"]["status"], found["binding"]["bound"]) == ("FAILED", False)


def test_the_other_run_is_honest_by_itself(evidence: Evidence, options: list[str]) -> None:
    assert evidence.score("v1-other", "v1-other", "v1-other", *options) == 0


def test_an_honest_run_without_its_manifest_is_inconclusive(evidence: Evidence, options: list[str]) -> None:
    assert evidence.score("v1-honest", "v1-honest", None, *options) == 2


def test_a_lying_run_without_its_manifest_fails_all_the_same(evidence: Evidence, options: list[str]) -> None:
    assert evidence.score("v1-lying", "v1-lying", None, *options) == 1


def test_a_log_with_an_unreadable_end_is_inconclusive(evidence: Evidence, options: list[str]) -> None:
    assert evidence.score("v1-honest", "torn", "v1-honest", *options) == 2


def test_a_run_without_a_canary_is_inconclusive(evidence: Evidence, options: list[str]) -> None:
    assert evidence.score("nocanary", "nocanary", "v1-honest", *options) == 2


def test_a_run_without_a_canary_passes_when_no_proof_is_asked(evidence: Evidence, options: list[str]) -> None:
    assert evidence.score("nocanary", "nocanary", "v1-honest", *options, "--binding-proof", "none") == 0


def test_an_empty_last_block_is_inconclusive(evidence: Evidence, options: list[str]) -> None:
    assert evidence.score("emptied", "v1-honest", "v1-honest", *options) == 2


def test_a_report_without_a_block_is_inconclusive(evidence: Evidence, options: list[str]) -> None:
    assert evidence.score("noblock", "v1-honest", "v1-honest", *options) == 2


def test_an_empty_log_is_inconclusive(evidence: Evidence, options: list[str]) -> None:
    assert evidence.score("v1-honest", "empty", "v1-honest", *options) == 2


def test_a_rewritten_value_passes_where_values_are_not_judged(evidence: Evidence, options: list[str]) -> None:
    assert evidence.score("rewritten", "v1-honest", "v1-honest", *options) == 0


def test_a_rewritten_value_fails_under_strict_results(evidence: Evidence, options: list[str]) -> None:
    assert evidence.score("rewritten", "v1-honest", "v1-honest", *options, "--strict-results") == 1


@pytest.mark.parametrize("run", RUNS)
def test_a_manifest_and_its_own_log_are_bound(evidence: Evidence, run: str) -> None:
    assert evidence.bind(run, run) == 0


def test_a_manifest_and_the_log_of_another_run_are_not_bound(evidence: Evidence) -> None:
    assert (evidence.bind("v1-honest", "v1-other"), evidence.bind("v1-other", "v1-honest")) == (1, 1)


def test_a_log_without_a_canary_is_unproven(evidence: Evidence) -> None:
    assert evidence.bind("v1-honest", "nocanary") == 2


@pytest.mark.parametrize("missing", ["--claims", "--log", "--manifest", "--schema"])
def test_a_missing_file_is_66_whichever_it_is(evidence: Evidence, missing: str, tmp_path: Path) -> None:
    paths = {
        "--claims": evidence.path("v1-honest.report.md"),
        "--log": evidence.path("v1-honest.toollog.jsonl"),
        "--manifest": evidence.path("v1-honest.manifest.json"),
        "--schema": evidence.path("schema.json"),
        missing: tmp_path / "nowhere",
    }
    assert main(["score", *(text for option, path in paths.items() for text in (option, str(path)))]) == 66


@pytest.mark.parametrize("command", ["score", "bind"])
def test_a_log_given_as_the_manifest_is_65(evidence: Evidence, command: str) -> None:
    log = str(evidence.path("v1-honest.toollog.jsonl"))
    claims = ["--claims", str(evidence.path("v1-honest.report.md"))] if command == "score" else []
    assert main([command, *claims, "--log", log, "--manifest", log]) == 65


@pytest.mark.parametrize("command", ["score", "bind"])
def test_a_mistyped_option_is_64(evidence: Evidence, command: str) -> None:
    log, manifest = evidence.path("v1-honest.toollog.jsonl"), evidence.path("v1-honest.manifest.json")
    assert main([command, "--logg", str(log), "--log", str(log), "--manifest", str(manifest)]) == 64
