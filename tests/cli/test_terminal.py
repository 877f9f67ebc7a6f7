from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from cli_files import Files, block

from dispatch_fidelity.cli.main import main

HOSTILE = "\x1b[2J\x1b]0;title\x07\x9b31m\r\b\x00\u202egnp.exe\u2066\u200b\ud800\x7f"
UNSAFE = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def in_terminal(args: list[str], env: Mapping[str, str] | None = None) -> str:
    """What a command writes to a terminal."""
    main_end, child_end = pty.openpty()
    clean = {
        name: text for name, text in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR", "TERM")
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "dispatch_fidelity", *args],
        stdin=child_end,
        stdout=child_end,
        stderr=subprocess.PIPE,
        env={**clean, "TERM": "xterm-256color", "COLUMNS": "120", **(env or {})},
    )
    os.close(child_end)
    said = b""
    while True:
        try:
            part = os.read(main_end, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        said += part
    os.close(main_end)
    assert process.stderr is not None
    process.stderr.close()
    process.wait()
    return said.decode("utf-8", "surrogateescape")


def modules_after(args: list[str], *, terminal: bool = False) -> set[str]:
    """The modules that a command has imported by its end."""
    program = (
        "import sys\n"
        "from dispatch_fidelity.cli.main import main\n"
        f"code = main({args!r})\n"
        "sys.stderr.write('\\n'.join(sys.modules))\n"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    return {name.partition(".")[0] for name in found.stderr.decode().split("\n")}


# -- colour ------------------------------------------------------------------------------------------------


def test_a_terminal_shows_colour(files: Files) -> None:
    assert "\x1b[" in in_terminal(files.score(files.false))


def test_no_color_is_obeyed(files: Files) -> None:
    assert "\x1b[" not in in_terminal(files.score(files.false), {"NO_COLOR": "1"})


def test_a_dumb_terminal_gets_no_colour(files: Files) -> None:
    assert "\x1b[" not in in_terminal(files.score(files.false), {"TERM": "dumb"})


def test_a_terminal_shows_the_same_words_as_a_pipe(files: Files, capsys: pytest.CaptureFixture[str]) -> None:
    main(files.score(files.false))
    plain = capsys.readouterr().out.split()
    shown = re.sub(r"\x1b\[[0-9;]*m", "", in_terminal(files.score(files.false))).split()
    assert shown == plain


def test_piped_output_has_no_colour(files: Files, capsys: pytest.CaptureFixture[str]) -> None:
    main(files.score(files.false))
    assert "\x1b" not in capsys.readouterr().out


# -- what is imported --------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["score", "bind"])
def test_piped_output_imports_neither_rich_nor_jinja2(files: Files, command: str) -> None:
    args = files.score(files.false) if command == "score" else files.bind()
    assert not modules_after(args) & {"rich", "jinja2", "pygments"}


@pytest.mark.parametrize("args", [["--help"], ["--version"], ["-h"], [], ["nonsense"]], ids=" ".join)
def test_help_and_version_import_no_msgspec(args: list[str]) -> None:
    assert not modules_after(args) & {"msgspec", "rich", "jinja2", "argparse"}


# -- hostile text ------------------------------------------------------------------------------------------


@pytest.fixture
def hostile(files: Files) -> list[str]:
    items = [
        {"tool": HOSTILE, "args": {HOSTILE: HOSTILE}, "result": HOSTILE},
        {"tool": "look", "args": {"at": [HOSTILE, {HOSTILE: 1}]}, "error": HOSTILE},
        HOSTILE,
    ]
    return files.score(files.write("hostile.md", f"{HOSTILE[:-2]}\n{block(*items)}".replace("\ud800", "")))


def test_control_characters_of_a_report_never_reach_a_pipe(
    hostile: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(hostile) == 1
    said = capsys.readouterr()
    assert not UNSAFE.findall(said.out + said.err)


def test_control_characters_of_a_report_never_reach_a_terminal(hostile: list[str]) -> None:
    shown = re.sub(r"\x1b\[[0-9;]*m", "", in_terminal(hostile)).replace("\r\n", "\n")
    assert not UNSAFE.findall(shown)


def test_raw_control_characters_in_an_item_never_reach_a_pipe(
    files: Files, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "\x9b31m\u202e\u2066\u200b\x7f"
    report = files.write(
        "raw.md", f'```json\n{{"results": [{{"tool": "look{text}", "args": {{}}}}, "{text}"]}}\n```'
    )
    assert main(files.score(report)) == 1
    said = capsys.readouterr()
    assert not UNSAFE.findall(said.out + said.err)


def test_markup_of_a_report_is_shown_as_it_is(files: Files) -> None:
    report = files.write(
        "markup.md", block({"tool": "[bold red]look[/]", "args": {"at": "[link=http://x]y[/link]"}})
    )
    assert "[bold red]look[/]" in re.sub(r"\x1b\[[0-9;]*m", "", in_terminal(files.score(report)))


def test_control_characters_in_a_file_name_never_reach_the_error(
    files: Files, capsys: pytest.CaptureFixture[str]
) -> None:
    main(files.score(files.folder / "a\x1b[2J\u202e.md"))
    assert not UNSAFE.findall(capsys.readouterr().err)


def test_control_characters_in_a_wrong_option_never_reach_the_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main(["score", "--\x1b[2J"])
    assert not UNSAFE.findall(capsys.readouterr().err)


def test_control_characters_of_a_log_never_reach_a_pipe(
    files: Files, capsys: pytest.CaptureFixture[str]
) -> None:
    from dispatch_fidelity import AuditSession

    with AuditSession({"look": lambda at: HOSTILE}, run_dir=files.folder / "h", run_id="h") as session:
        session.call("canary_probe", {"label": HOSTILE})
        session.call("look", {"at": HOSTILE})
        session.call(HOSTILE, {"at": HOSTILE})
    report = files.write("told.md", block({"tool": "look", "args": {"at": "x"}}))
    log, manifest = str(session.log_path), str(session.manifest_path)
    assert (
        main(["score", "--claims", str(report), "--log", log, "--manifest", manifest, "--results", "strict"])
        == 1
    )
    said = capsys.readouterr()
    assert not UNSAFE.findall(said.out + said.err)
