from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from cli_files import Files, block, conversation

from dispatch_fidelity import __version__
from dispatch_fidelity.cli.exits import Exit
from dispatch_fidelity.cli.main import COMMANDS, main, usage


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def audit(folder: Path, name: str, report: str, *options: str) -> int:
    path = folder / name
    path.write_text(json.dumps(conversation(report)), encoding="utf-8")
    return main(["audit", str(path), *options])


# -- verdicts ----------------------------------------------------------------------------------------------


def test_a_true_report_is_0(files: Files) -> None:
    assert main(files.score(files.true)) == 0


def test_a_false_report_is_1(files: Files) -> None:
    assert main(files.score(files.false)) == 1


def test_a_report_that_claims_nothing_is_2(files: Files) -> None:
    assert main(files.score(files.silent)) == 2


def test_a_bound_pair_is_0(files: Files) -> None:
    assert main(files.bind()) == 0


def test_a_crossed_pair_is_1(files: Files) -> None:
    other = Files(files.folder / "other", "other")
    assert main(["bind", "--manifest", str(files.manifest), "--log", str(other.log)]) == 1


def test_a_pair_that_cannot_be_told_is_2(files: Files) -> None:
    files.log.write_bytes(files.log.read_bytes()[:-20])
    assert main(files.bind()) == 2


def test_the_demo_is_0_when_every_agent_comes_out_as_it_must(tmp_path: Path) -> None:
    assert main(["demo", "--run-dir", str(tmp_path)]) == 0


def test_a_true_conversation_is_2_because_its_binding_cannot_be_checked(tmp_path: Path) -> None:
    report = block({"tool": "look", "args": {"at": "here"}, "result": "seen"})
    assert audit(tmp_path, "true.json", report) == 2


def test_a_true_conversation_is_0_where_no_proof_is_asked(tmp_path: Path) -> None:
    report = block({"tool": "look", "args": {"at": "here"}, "result": "seen"})
    assert audit(tmp_path, "true.json", report, "--binding-proof", "none") == 0


def test_a_false_conversation_is_1(tmp_path: Path) -> None:
    report = block({"tool": "look", "args": {"at": "there"}, "result": "seen"})
    assert audit(tmp_path, "false.json", report, "--binding-proof", "none") == 1


# -- wrong usage: 64 ---------------------------------------------------------------------------------------

WRONG = [
    [],
    ["scoer"],
    ["score"],
    ["score", "--claims", "a"],
    ["score", "--nonsense"],
    ["score", "--claims", "a", "--log", "b", "--results", "loose"],
    ["score", "--claims", "a", "--log", "b", "--binding-proof", "hope"],
    ["score", "--claims", "a", "--log", "b", "--implied", "maybe"],
    ["score", "--claims", "a", "--log", "b", "--strict-results", "--results", "off"],
    ["score", "--clai", "a", "--log", "b"],
    ["score", "--claims", "a", "--log", "b", "stray"],
    ["score", "--claims", "a", "--log", "b", "--json"],
    ["bind"],
    ["bind", "--manifest", "a"],
    ["audit"],
    ["audit", "x", "--only", "passing"],
    ["demo", "stray"],
    ["selftest", "--without", "nothing-of-this-name"],
    ["--nonsense"],
]


@pytest.mark.parametrize("args", WRONG, ids=" ".join)
def test_wrong_usage_is_64(args: list[str]) -> None:
    assert main(args) == 64


@pytest.mark.parametrize("args", WRONG, ids=" ".join)
def test_wrong_usage_says_so_without_a_traceback(args: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    main(args)
    said = capsys.readouterr()
    assert "dispatch-audit" in said.out + said.err
    assert "Traceback" not in said.out + said.err


@pytest.mark.parametrize("pattern", ["(", "no group"])
def test_a_nonce_pattern_that_cannot_work_is_64(files: Files, pattern: str) -> None:
    assert main(files.bind("--nonce-pattern", pattern)) == 64


@pytest.mark.parametrize("levels", ["X1", "E", "E1;D2"])
def test_a_required_level_that_does_not_exist_is_64(files: Files, levels: str) -> None:
    assert main(files.score(files.true, "--require", levels)) == 64


# -- inputs: 65, 66 ----------------------------------------------------------------------------------------


def test_a_log_that_is_none_is_65(files: Files) -> None:
    files.log.write_text("this is\nno log\n", encoding="ascii")
    assert main(files.score(files.true)) == 65


def test_a_manifest_that_is_none_is_65(files: Files) -> None:
    command = ["bind", "--manifest", str(files.true), "--log", str(files.log)]
    assert main(command) == 65


@pytest.mark.parametrize(
    "text", ["[]", "{", '{"look": 1}', '{"look": {"params": "at"}}', '{"a": {}, "a": {}}']
)
def test_a_schema_that_is_none_is_65(files: Files, text: str) -> None:
    assert main(files.score(files.true, "--schema", str(files.write("schema.json", text)))) == 65


@pytest.mark.parametrize("text", ["no transcript", "{}", "[]", "", "\x00\x01"])
def test_a_named_file_that_is_no_transcript_is_65(tmp_path: Path, text: str) -> None:
    path = tmp_path / "some.json"
    path.write_text(text, encoding="utf-8")
    assert main(["audit", str(path)]) == 65


def test_a_format_that_does_not_exist_is_65(tmp_path: Path) -> None:
    assert audit(tmp_path, "true.json", block(), "--format", "nonsense") == 65


@pytest.mark.parametrize("option", ["--claims", "--log", "--manifest", "--schema"])
def test_a_missing_file_is_66(files: Files, option: str) -> None:
    missing = str(files.folder / "nowhere")
    args = files.score(files.true, "--schema", missing)
    if option != "--schema":
        args = files.score(files.true)
        args[args.index(option) + 1] = missing
    assert main(args) == 66


def test_a_missing_conversation_is_66(tmp_path: Path) -> None:
    assert main(["audit", str(tmp_path / "nowhere.json")]) == 66


@pytest.mark.parametrize("name", ["report\x1b[2J.md", "a\x00b", "größe\u202e.md", "x" * 5000, "\ud800"])
def test_a_name_that_cannot_be_opened_is_66(files: Files, name: str) -> None:
    assert main(files.score(files.folder / name)) == 66


# -- the instrument itself: 70, 130, 141 -------------------------------------------------------------------


def test_a_fault_of_the_instrument_is_70_and_no_verdict(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("a wheel came off")

    monkeypatch.setattr("dispatch_fidelity.cli.commands.score.assess", broken)
    assert main(files.score(files.true)) == 70


def test_a_fault_of_the_instrument_is_said_without_a_traceback(
    files: Files, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("a wheel \x1b[31mcame off")

    monkeypatch.setattr("dispatch_fidelity.cli.commands.score.assess", broken)
    main(files.score(files.true))
    said = capsys.readouterr()
    assert ("RuntimeError" in said.err, "Traceback" in said.err, "\x1b" in said.err, said.out) == (
        True,
        False,
        False,
        "",
    )


def test_an_interrupt_is_130(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("dispatch_fidelity.cli.commands.score.assess", interrupted)
    assert main(files.score(files.true)) == 130


def test_a_reader_that_goes_away_is_no_verdict_of_fail(files: Files) -> None:
    program = [sys.executable, "-m", "dispatch_fidelity", *files.score(files.true)]
    process = subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    said = process.stderr.read()
    process.stderr.close()
    assert (process.wait() in (0, 141), said) == (True, b"")


def test_every_exit_code_is_the_promised_one() -> None:
    assert {code.name: code.value for code in Exit} == {
        "PASS": 0,
        "FAIL": 1,
        "INCONCLUSIVE": 2,
        "USAGE": 64,
        "BAD_INPUT": 65,
        "NO_INPUT": 66,
        "FAILED": 70,
        "INTERRUPTED": 130,
        "BROKEN_PIPE": 141,
    }


# -- help --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("option", ["-h", "--help", "help"])
def test_help_is_0_and_names_every_command(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([option]) == 0
    said = capsys.readouterr().out
    assert all(name in said for name in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--help"]) == 0
    assert f"dispatch-audit {command}" in capsys.readouterr().out


@pytest.mark.parametrize("option", ["--version", "-V"])
def test_the_version_is_0(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([option]) == 0
    assert capsys.readouterr().out == f"dispatch-audit {__version__}\n"


def test_the_usage_names_the_exit_codes() -> None:
    assert "64 wrong usage" in usage()


def test_the_arguments_of_the_process_are_taken_where_none_are_given(
    monkeypatch: pytest.MonkeyPatch, files: Files
) -> None:
    monkeypatch.setattr(sys, "argv", ["dispatch-audit", *files.score(files.true)])
    assert main() == 0


def test_python_m_is_the_same_program(files: Files) -> None:
    program = [sys.executable, "-m", "dispatch_fidelity", *files.score(files.false)]
    assert subprocess.run(program, capture_output=True, check=False).returncode == 1


def test_output_that_cannot_hold_a_character_costs_no_verdict(files: Files) -> None:
    report = files.write("odd.md", block({"tool": "größe 東京", "args": {"at": "🙂"}, "result": "→"}))
    program = [sys.executable, "-m", "dispatch_fidelity", *files.score(report)]
    env = {**os.environ, "PYTHONIOENCODING": "ascii"}
    found = subprocess.run(program, capture_output=True, check=False, env=env)
    assert (found.returncode, found.stderr, b"\\u6771" in found.stdout) == (1, b"", True)
