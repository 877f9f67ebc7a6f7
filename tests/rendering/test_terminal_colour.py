"""Lines and tables on a terminal: the words of the plain text, with colour, and no markup of an agent's own."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from judged_runs import UNSAFE, judged, lying

from dispatch_fidelity.rendering.plain import SUMMARY_HEAD, assessment_lines, summary_row
from dispatch_fidelity.rendering.terminal import show_lines, show_table
from dispatch_fidelity.rendering.text import columns

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
MARKUP = "[bold red]look[/] [link=http://x]y[/link] :smile: [/nothing]"


class Terminal(io.StringIO):
    """A text file that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A terminal of 200 columns that knows colours, whatever the tests run in."""
    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "LINES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "200")
    return Terminal()


def without_colour(text: str) -> str:
    return COLOUR.sub("", text)


def test_a_terminal_shows_the_words_of_the_plain_text(terminal: Terminal, tmp_path: Path) -> None:
    lines = assessment_lines(judged(tmp_path, change=lying))
    show_lines(lines, terminal)
    assert without_colour(terminal.getvalue()).splitlines() == [text for _, text in lines]


@pytest.mark.parametrize(
    ("style", "code"), [("pass", "1;32"), ("fail", "1;31"), ("open", "1;33"), ("title", "1"), ("dim", "2")]
)
def test_each_style_has_its_colour(terminal: Terminal, style: str, code: str) -> None:
    show_lines([(style, "words")], terminal)
    assert terminal.getvalue() == f"\x1b[{code}mwords\x1b[0m\n"


@pytest.mark.parametrize("style", ["", "reason", "a style that nobody knows"])
def test_other_lines_have_none(terminal: Terminal, style: str) -> None:
    show_lines([(style, "words 12 'x' True http://x")], terminal)
    assert terminal.getvalue() == "words 12 'x' True http://x\n"


def test_a_file_that_is_no_terminal_gets_no_colour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    out = io.StringIO()
    show_lines(assessment_lines(judged(tmp_path, change=lying)), out)
    assert "\x1b" not in out.getvalue()


def test_a_long_line_is_not_broken(terminal: Terminal) -> None:
    show_lines([("fail", "word " * 200)], terminal)
    assert terminal.getvalue().count("\n") == 1


def test_markup_in_a_line_is_shown_as_it_is(terminal: Terminal) -> None:
    show_lines([("fail", MARKUP)], terminal)
    assert without_colour(terminal.getvalue()) == MARKUP + "\n"


def test_markup_in_a_cell_or_a_title_is_shown_as_it_is(terminal: Terminal) -> None:
    show_table(("run", "outcome"), [(MARKUP, "FAIL")], terminal, title=MARKUP)
    assert without_colour(terminal.getvalue()).count(MARKUP) == 2


def test_the_outcome_of_a_row_has_its_colour(terminal: Terminal) -> None:
    show_table(("outcome",), [("PASS",), ("FAIL",), ("INCONCLUSIVE",)], terminal)
    text = terminal.getvalue()
    assert [f"\x1b[{code}m{word}" in text for code, word in ((32, "PASS"), (31, "FAIL"), (33, "INCON"))] == [
        True
    ] * 3


def test_rows_of_a_table_are_aligned(terminal: Terminal, tmp_path: Path) -> None:
    rows = [summary_row(judged(tmp_path)), summary_row(judged(tmp_path, change=lying))]
    show_table(SUMMARY_HEAD, [*rows, ("日本語", *rows[0][1:])], terminal)
    lines = without_colour(terminal.getvalue()).splitlines()
    widths = {columns(line) for line in lines}
    assert len(widths) == 1
    bars = [[columns(line[:at]) for at, c in enumerate(line) if c in "│┃"] for line in lines]
    assert len({tuple(found) for found in bars if found}) == 1


def test_only_colour_acts_on_the_terminal(terminal: Terminal, tmp_path: Path) -> None:
    show_lines(assessment_lines(judged(tmp_path, change=lying)), terminal)
    show_table(SUMMARY_HEAD, [summary_row(judged(tmp_path))], terminal, title="runs")
    assert not UNSAFE.findall(without_colour(terminal.getvalue()))
