"""Which suppressions are found, and which words are none: each kind with its quiet twin."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dispatch_fidelity.discipline.marker_table import CODE, COMMENTS, PYTHON_TEXT, RULES, STEMS
from dispatch_fidelity.discipline.markers import find_markers

CAUGHT = [
    ("a.py", "import os  # noqa: F401\n", ["noqa"]),
    ("a.py", "x: int = f()  # type: ignore[misc]  # noqa\n", ["type-ignore", "noqa"]),
    ("a.py", "def f():  # pragma: no cover\n    pass\n", ["no-cover"]),
    ("a.py", "x = 1  # pylint: disable=all\n", ["pylint-disable"]),
    ("a.py", "import pytest\n\n@pytest.mark.skip\ndef test(): ...\n", ["skip"]),
    ("a.py", "import pytest\n\n@pytest.mark.xfail(strict=True)\ndef test(): ...\n", ["xfail"]),
    ("a.py", "from pytest import mark\n\n@mark.skipif(True, reason='x')\ndef test(): ...\n", ["skip"]),
    ("a.py", "import unittest as ut\n\n@ut.skip('x')\nclass A: ...\n", ["skip"]),
    ("a.py", "from unittest import skip\n\n@skip('x')\ndef test(): ...\n", ["skip"]),
    ("a.py", "class A:\n    def test(self):\n        self.skipTest('x')\n", ["skip"]),
    ("tool", "#!/usr/bin/env python\nx = 1  # noqa\n", ["noqa"]),
    ("a.ts", "// @ts-ignore\nx();\n", ["ts-ignore"]),
    ("a.tsx", "/* eslint-disable no-console */\nconst a = <div/>;\n", ["eslint-disable"]),
    ("a.test.js", "it.skip('a', () => {});\ndescribe.only('b', () => {});\n", ["skip", "only"]),
    ("a.test.js", "xit('a', () => {});\nfdescribe('b', () => {});\n", ["skip", "only"]),
    ("a.css", "/* stylelint-disable */\na {}\n", ["stylelint-disable"]),
    ("a.rb", "# rubocop:disable Metrics\n", ["rubocop-disable"]),
    ("a_spec.rb", 'xit "a" do\nend\n', ["skip"]),
    ("a.go", "x := f() //nolint:errcheck\n", ["nolint"]),
    ("a_test.go", "func TestA(t *testing.T) {\n\tt.Skip()\n}\n", ["skip"]),
    ("A.java", '@SuppressWarnings("unchecked")\nclass A {}\n', ["suppress-warnings"]),
    ("ATest.java", "import org.junit.jupiter.api.*;\n@Disabled\nclass ATest {}\n", ["skip"]),
    ("a.kt", '@Suppress("X")\nfun a() {}\n', ["suppress-warnings"]),
    ("a.rs", "#[ignore]\nfn t() {}\n#[allow(dead_code)]\nfn u() {}\n", ["skip", "rust-allow"]),
    ("a.c", "int x; // NOLINT(foo)\n", ["nolint"]),
    ("a.cpp", '#pragma GCC diagnostic ignored "-Wall"\n', ["pragma-warning"]),
    ("a.cs", "#pragma warning disable 1\n", ["pragma-warning"]),
    ("a.php", "<?php\n// phpcs:ignore\n$a->markTestSkipped('x');\n", ["phpcs-ignore", "skip"]),
    ("a.exs", "@tag :skip\n", ["skip"]),
    ("a.sh", "# shellcheck disable=SC2086\necho $a\n", ["shellcheck-disable"]),
    ("Dockerfile", "# hadolint ignore=DL3008\nRUN x\n", ["hadolint-ignore"]),
    ("ci.yml", "a:\n  continue-on-error: true\n", ["continue-on-error"]),
    ("ci.yml", "a:\n  continue-on-error: ${{ matrix.x }}\n", ["continue-on-error"]),
    (".gitlab-ci.yml", "a:\n  allow_failure: true\n", ["allow-failure"]),
    ("a.sql", "select 1 -- noqa\n", ["noqa"]),
    ("a.tf", "#tfsec:ignore:aws-x\n", ["tfsec-ignore"]),
    ("a.lua", "-- luacheck: ignore\n", ["luacheck-ignore"]),
    ("a.r", "x # nolint\n", ["nolint"]),
    ("a.vue", "<script>\n// eslint-disable-next-line\n</script>\n", ["eslint-disable"]),
    ("README.md", "<!-- markdownlint-disable MD013 -->\n", ["markdownlint-disable"]),
    ("a.toml", "a = 1 # codespell:ignore\n", ["codespell-ignore"]),
]
QUIET = [
    ("a.py", 'x = "use # noqa: E501 there"\n'),
    ("a.py", '"""A docstring.\n\n    x = 1  # type: ignore\n"""\n'),
    ("a.py", "# the old noqa was removed\n"),
    ("a.py", "noqa = 1\nskip = noqa\n"),
    ("a.py", "def skip(): ...\n\n\nqueue.skip(10)\n"),
    ("a.py", "model.fit(x)\nfit(x, y)\n"),
    ("a.js", "const s = 'it.skip()'; const t = `describe.only(${s})`; const r = /xit\\(/;\n"),
    ("a.js", "cursor.skip(10).limit(5); query.only('a'); stream.skip(2);\n"),
    ("a.js", "// do not use eslint-disable here\n"),
    ("a.js", "fit(x, y);\n"),
    ("a.go", "rows.Skip(10)\n// see the nolint docs\n"),
    ("a.rb", "x = <<~TEXT\n  # rubocop:disable all\nTEXT\n"),
    ("a.sh", 'echo "# shellcheck disable=SC1"\n'),
    ("a.sh", "cat <<EOF\n# noqa\nEOF\n"),
    ("ci.yml", "a:\n  continue-on-error: false\n"),
    ("ci.yml", 'a:\n  name: "continue-on-error: true"\n'),
    ("README.md", "```python\nx = 1  # noqa\n```\n"),
    ("README.md", "Write `# noqa` behind it, or it.skip('a').\n"),
    ("a.html", "<p>it.skip('a') // eslint-disable</p>\n"),
    ("a.json", '{"a": "# noqa"}\n'),
    ("a.txt", "# noqa\n"),
    ("a.unknown", "# noqa\n"),
    ("A.java", 'String s = "@SuppressWarnings";\n'),
    ("a.c", '// a lint of mine\nchar *s = "NOLINT";\n'),
]


@pytest.mark.parametrize(("path", "text", "rules"), CAUGHT, ids=lambda value: repr(value)[:50])
def test_a_suppression_is_found_by_its_rule(path: str, text: str, rules: list[str]) -> None:
    assert [marker.rule for marker in find_markers(text, path)] == rules
    assert set(rules) <= RULES


@pytest.mark.parametrize(("path", "text"), QUIET, ids=lambda value: repr(value)[:50])
def test_words_that_switch_nothing_off_are_none(path: str, text: str) -> None:
    assert find_markers(text, path) == ()


def test_a_marker_tells_its_line_and_its_words() -> None:
    (marker,) = find_markers("a = 1\n\nb = 2  # noqa: E501\n", "a.py")
    assert (marker.line, marker.text) == (3, "# noqa: E501")


@pytest.mark.parametrize("text", ["# noqa\r\nx\r\n", "\ufeff# noqa\n", "# noqa", "x\n# noqa\n\n\n"])
def test_line_ends_and_byte_order_marks_hide_nothing(text: str) -> None:
    assert [marker.rule for marker in find_markers(text, "a.py")] == ["noqa"]


def ere(text: str) -> str:
    return text.replace("~~", "[ \t]+").replace("~", "[ \t]*")


TEXTS = sorted({row.text for row in COMMENTS} | {row.text for row in CODE} | {PYTHON_TEXT})


@pytest.mark.parametrize("text", TEXTS)
def test_every_marker_holds_a_stem_by_which_files_are_searched(text: str) -> None:
    stems = re.compile(STEMS)

    @settings(max_examples=20, deadline=None, database=None)
    @given(st.from_regex(re.compile(ere(text)), fullmatch=True))
    def holds(written: str) -> None:
        assert stems.search(written)

    holds()


NAMES = ["a.py", "a.js", "a.rs", "a.yml", "a.md", "a.html", "a.sh", "a.rb", "a.php", "a.c", "Makefile", "x"]


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(NAMES),
    st.lists(
        st.sampled_from(
            ["# noqa", "'", '"', "`", "/*", "*/", "\n", "<!--", "it.skip(", "\0", "é", "<<A", "{%"]
        )
    ),
)
@example("a.py", ["# noqa", "\0"])
def test_no_text_breaks_the_search(path: str, pieces: list[str]) -> None:
    for marker in find_markers("".join(pieces), path):
        assert marker.rule in RULES


@settings(max_examples=80, deadline=None)
@given(
    st.sampled_from(["# noqa", "# type: ignore", "# NOSONAR", "pytest.skip('x')", "# pylint: disable=x"]),
    st.data(),
)
def test_a_marker_put_into_a_string_is_never_found(marker: str, data: st.DataObject) -> None:
    quote = data.draw(st.sampled_from(["'", '"', "'''", '"""']))
    text = f"x = {quote}{marker.replace(chr(39), '')}{quote}\n"
    assert find_markers(text, "a.py") == ()
