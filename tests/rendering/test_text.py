"""Text from an agent, made harmless: nothing in it moves a cursor, hides or reorders text."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from judged_runs import HOSTILE, UNSAFE

from dispatch_fidelity.rendering.text import call_text, clean, columns, shortened, value_text

ANY = st.text(st.characters(exclude_categories=())) | st.text(st.sampled_from(HOSTILE + 'ab "\n'))
SHOWN_BY_SCRIPTS = {"ARABIC", "SYRIAC", "KAITHI", "EGYPTIAN"}  # signs of category Cf that are visible


def test_no_character_that_acts_on_a_terminal_or_is_invisible_stays() -> None:
    everything = "".join(map(chr, range(sys.maxunicode + 1)))
    acting = [
        f"U+{ord(c):04X}"
        for c in set(clean(everything))
        if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")
        or (unicodedata.category(c) == "Cf" and unicodedata.name(c, "").split(" ")[0] not in SHOWN_BY_SCRIPTS)
    ]
    assert acting == []


@pytest.mark.parametrize(
    "text",
    [
        "plain words",
        "naïve Größe",
        "日本語",
        "עברית",
        "العربية",
        "🙂✔\ufe0f",
        "e\u0301",
        "[bold]x[/]",
        "{0} %s",
    ],
)
def test_visible_text_of_any_script_stays_as_it_is(text: str) -> None:
    assert clean(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\nb", "a⏎b"),
        ("a\tb", "a b"),
        ("a\r\nb", "a\\x0d⏎b"),
        ("\x1b[2J", "\\x1b[2J"),
        ("\x9b31m", "\\x9b31m"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("a\u200bb", "a\\u200bb"),
        ("\ud800", "\\ud800"),
        ("\U000e0041", "\\U000e0041"),
    ],
    ids=ascii,
)
def test_what_acts_is_shown_as_an_escape(text: str, shown: str) -> None:
    assert clean(text) == shown


@settings(deadline=None)
@given(ANY)
def test_clean_text_is_one_line_that_can_be_written_and_stays_clean(text: str) -> None:
    shown = clean(text)
    assert len(shown.splitlines()) <= 1
    assert clean(shown) == shown
    assert shown.encode("utf-8").decode("utf-8") == shown


@settings(deadline=None)
@given(ANY, st.integers(5, 50))
def test_shortened_text_is_clean_and_no_longer_than_it_may_be(text: str, width: int) -> None:
    shown = shortened(text, width)
    assert len(shown) <= width
    assert not UNSAFE.findall(shown)


def test_shortened_text_keeps_both_ends() -> None:
    assert shortened("begin" + "x" * 500 + "end", 21) == "beginxxxx … xxxxxxend"
    assert shortened("short", 21) == "short"


@settings(deadline=None)
@given(ANY, st.dictionaries(ANY, st.recursive(ANY | st.integers() | st.none(), st.lists), max_size=3))
def test_a_call_is_one_clean_line_whatever_it_holds(tool: str, args: dict[str, object]) -> None:
    shown = call_text(tool, args)
    assert not UNSAFE.findall(shown)
    assert "\n" not in shown


def test_a_call_reads_like_one() -> None:
    args = {"at": "here", "deep": {"x": [1, None]}, "n": 1.5}
    assert call_text("look", args) == 'look(at="here", deep={"x":[1,null]}, n=1.5)'
    assert call_text("look", {}) == "look()"
    assert call_text("look", "not an object") == 'look("not an object")'


@pytest.mark.parametrize(
    ("value", "shown"),
    [("a", '"a"'), (None, "null"), (True, "true"), (2**70, str(2**70)), (["\ud800"], '["\\ud800"]')],
    ids=ascii,
)
def test_a_value_is_shown_as_json(value: object, shown: str) -> None:
    assert value_text(value) == shown


@pytest.mark.parametrize(
    ("text", "count"), [("", 0), ("abc", 3), ("Größe", 5), ("日本", 4), ("ｅ", 2), ("e\u0301", 1), ("🙂", 2)]
)
def test_wide_characters_take_two_columns_and_combining_ones_none(text: str, count: int) -> None:
    assert columns(text) == count
