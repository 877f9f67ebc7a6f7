"""Finds the suppression markers of a source text: skipped tests, silenced linters, tolerated failures.

A marker counts where its tool would read it: in a comment, or as a call, decorator, annotation, attribute or key in
code; never in a text, a docstring, a sample or prose. Known limits: what is put together at run time
(``getattr(pytest, "skip")``, ``it["skip"]``), said in a tool's configuration, or renamed beyond an import or a plain
assignment is not seen; nor what stands in a language that pygments does not know. Within a comment, a marker in
backticks or double quotes is talk.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cache

from ..model.frozen import Frozen
from .marker_table import (
    CODE,
    COMMENTS,
    PYTHON,
    PYTHON_MODULES,
    PYTHON_TEXT,
    RULES,
    STEMS,
    CodeRow,
    CommentRow,
    Place,
)
from .scanner import Comment, Language, language_of, scan

__all__ = ["RULES", "STEMS", "Marker", "find_markers"]

_LONGEST = 60
_AROUND = 200


class Marker(Frozen, frozen=True):
    """One suppression marker: the rule's name in the table, the line (from 1), and how it is written there."""

    rule: str
    line: int
    text: str


def _ere(text: str) -> str:
    return text.replace("~~", "[ \t][ \t]*").replace("~", "[ \t]*")


def _all_words(families: frozenset[str]) -> str:
    """What a line holds in which a marker can stand, in a file of these families."""
    texts = [
        row.text for row in COMMENTS if not row.families or not families.isdisjoint(row.families.split())
    ]
    texts += [row.text for row in CODE if not families.isdisjoint(row.families.split())]
    texts += [PYTHON_TEXT] if "python" in families else []
    # Gathered by first letter: a search then compares one letter per place, not two hundred.
    by_letter: dict[str, list[str]] = {}
    for text in dict.fromkeys(_ere(text) for text in texts):
        letter = text[0] if (text[0].isalpha() or text[0] in "@:") and text[1] not in "?*+" else ""
        by_letter.setdefault(letter, []).append(text[len(letter) :])
    return "|".join(f"{letter}({'|'.join(rests)})" for letter, rests in by_letter.items())


def _uncaptured(text: str) -> str:
    return re.sub(r"(?<!\\)\((?!\?)", "(?:", text)


@cache
def _words(families: frozenset[str]) -> re.Pattern[str]:
    return re.compile(_uncaptured(_all_words(families)), re.MULTILINE)


@cache
def _stems() -> re.Pattern[str]:
    return re.compile(_uncaptured(STEMS))


def _places(text: str, language: Language) -> list[tuple[int, int]]:
    """Where the words of markers stand: looked for around the stems, within their lines."""
    found: list[tuple[int, int]] = []
    done = 0
    words = _words(language.families)
    for stem in _stems().finditer(text):
        start, end = max(done, stem.start() - _AROUND), min(len(text), stem.end() + _AROUND)
        start = max(start, text.rfind("\n", start, stem.start()) + 1)
        line = text.find("\n", stem.end(), end)
        end = line if line >= 0 else end
        if end > start:
            found += [word.span() for word in words.finditer(text, start, end)]
            done = end
    return found


def find_markers(text: str, path: str) -> tuple[Marker, ...]:
    """The markers in the text of the file at ``path``, in their order; none where the language is not known.

    1. take the text apart; 2. look into comments; 3. look into code; 4. of overlapping finds the first stands.
    """
    text = text.removeprefix("\ufeff")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    language = language_of(path, text) if _stems().search(text) else None
    words = _places(text, language) if language is not None else []
    if language is None or not words:
        return ()
    # Line separators end a line of JavaScript, but not one of an editor.
    source = text.replace("\u2028", "\n").replace("\u2029", "\n")
    parts = scan(source, language)
    found = [find for comment in _with_words(parts.comments, words) for find in _in_comment(source, comment)]
    found += _in_code(source, parts.code, language.families, path)
    markers: list[Marker] = []
    at, line, covered = 0, 1, -1
    for start, end, rule, shown in sorted(found):
        if start < covered:
            continue
        line += text.count("\n", at, start)
        at, covered = start, end
        markers.append(Marker(rule, line, shown))
    return tuple(markers)


_Find = tuple[int, int, str, str]


def _shown(text: str, start: int, end: int) -> str:
    words = " ".join(text[start : min(end, start + 4 * _LONGEST)].split())
    return words if len(words) <= _LONGEST else words[: _LONGEST - 1] + "…"


# -- comments ----------------------------------------------------------------------------------------------

_LEAD = re.compile(
    r"\s*(?:<!--+|<%--|<%!--|<%#|<#|/\*+!?|/\++|/-+|//+!?|\{-#?|\{#-?|\{\{!(?:--)?|@\*|\(\*+|--\[=*\[|--+|-#|#\||#=|#\[=*\[?|"
    r"#+|;+|%+|'+|\"+|!+|::|@?rem\b|=begin\b|\{|/)\s*",
    re.IGNORECASE,
)
_MARK = re.compile(r"#+|//+|--+|;+|%+")
_AGAIN = {
    letter: re.compile(rf"(?<![^\s\])}}]){mark}!?[ \t]*")
    for letter, mark in {"#": "#+", "/": "//+", "-": "--+", ";": ";+", "%": "%+"}.items()
}
_NEXT_LINE = re.compile(r"\n[ \t]*\*{0,2}[ \t]*")
_CLOSE = re.compile(r"\s*(?:\*+/|--+>|-?#\}|#?-\}|--\}\}|\}\}|-*%>|\*\)|#>|\+/|-/|\]=*\]|\|#|=#|\]#|\*@)\Z")
_QUOTED = re.compile(r"`[^`\n]*`|\"[^\"\n]*\"")
_ASIDE = r"(?:(?<=[,;:.)\]–—-][ \t])|(?<=[,;:.)\]–—-]))"


class _Talk:
    """What a comment says in quotes or backticks: there it talks of a marker."""

    def __init__(self, text: str, start: int, end: int) -> None:
        self._where = text, start, end
        self._spans: list[tuple[int, int]] | None = None

    def covers(self, at: int) -> bool:
        if self._spans is None:
            self._spans = [found.span() for found in _QUOTED.finditer(*self._where)]
        number = bisect_right(self._spans, (at,)) - 1
        return number >= 0 and self._spans[number][1] > at


@cache
def _comment_pattern(
    family: str, places: tuple[Place, ...], before: str
) -> tuple[re.Pattern[str], dict[str, str]]:
    """What a marker in these places looks like, and the rule of each of its groups."""
    rows = [
        row
        for row in COMMENTS
        if row.place in places and (not row.families or family in row.families.split())
    ]
    parts = [f"(?P<r{number}>{_comment_text(row)})" for number, row in enumerate(rows)]
    pattern = re.compile(f"{before}(?:{'|'.join(parts) or '(?!)'})")
    return pattern, {f"r{number}": row.rule for number, row in enumerate(rows)}


def _comment_text(row: CommentRow) -> str:
    after = row.after
    if after is None:
        after = "" if row.text.endswith(("=", ":", r"\[", r"\$")) else r"(?![\w-])"
    return f"{_uncaptured(_ere(row.text))}{after}"


def _with_words(comments: Iterable[Comment], words: list[tuple[int, int]]) -> Iterator[Comment]:
    """The comments in which there may be a marker."""
    number = 0
    for comment in comments:
        while number < len(words) and words[number][1] <= comment.start:
            number += 1
        if number == len(words):
            return
        if words[number][0] < comment.end:
            yield comment


def _in_comment(text: str, comment: Comment) -> list[_Find]:
    family = comment.family
    start, end = comment.start, comment.end
    spots: list[tuple[int, int, str]] = []
    talk = _Talk(text, start, end)

    def look(begin: int, at: int, *places: Place) -> None:
        pattern, rules = _comment_pattern(family, places, "")
        found = pattern.match(text, at, end)
        if found:
            spots.append((begin, found.end(), rules[found.lastgroup or ""]))

    lead = _LEAD.match(text, start, end)
    head = lead.end() if lead else start
    look(start, head, Place.START, Place.LEAD, Place.LINE, Place.ASIDE)
    mark = _MARK.match(text, start, end)
    if mark:
        for found in _AGAIN[mark[0][0]].finditer(text, head, end):
            if not talk.covers(found.start()):
                look(found.start(), found.end(), Place.LEAD, Place.ASIDE)
    else:
        for found in _NEXT_LINE.finditer(text, head, end):
            look(found.end(), found.end(), Place.LINE)
    for places, before in (((Place.ANY,), r"(?<!\w)"), ((Place.ASIDE,), _ASIDE)):
        pattern, rules = _comment_pattern(family, places, before)
        spots += [
            (found.start(), found.end(), rules[found.lastgroup or ""])
            for found in pattern.finditer(text, start, end)
            if not talk.covers(found.start())
        ]
    return list(_cut(text, sorted(spots), end))


def _cut(text: str, spots: list[tuple[int, int, str]], end: int) -> Iterator[_Find]:
    """The finds of a comment, each shown up to the next one or the end of its line."""
    for number, (start, stop, rule) in enumerate(spots):
        following = spots[number + 1][0] if number + 1 < len(spots) else end
        reach = min(end, stop + 4 * _LONGEST)
        line = text.find("\n", stop, reach)
        shown = min(line if line >= 0 else reach, following if following >= stop else reach)
        piece = text[start:shown]
        close = _CLOSE.search(piece, max(0, len(piece) - 80)) if shown == end else None
        yield start, stop, rule, _shown(text, start, start + close.start() if close else shown)


# -- code --------------------------------------------------------------------------------------------------


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.MULTILINE)


_BEFORE_FIND = re.compile(r"[\s{,]*(?:-\s+)*")
_NOT_SET = frozenset({"", "~", "null", "false", "no", "off"})


def _in_code(text: str, code: str, families: frozenset[str], path: str) -> Iterator[_Find]:
    for row in CODE:
        if families.isdisjoint(row.families.split()):
            continue
        counts: bool | None = None
        for found in _compiled(row.pattern).finditer(code):
            if "value" in found.re.groupindex and not _is_set(text, code, found):
                continue
            if counts is None:
                counts = _counts(row, code, path)
            if not counts:
                break
            yield _code_find(text, found, row.rule)
    if "python" in families:
        yield from _in_python(text, code)


def _code_find(text: str, found: re.Match[str], rule: str) -> _Find:
    before = _BEFORE_FIND.match(text, found.start(), found.end())
    start = before.end() if before else found.start()
    line = text.find("\n", found.end(), found.end() + 4 * _LONGEST)
    return start, found.end(), rule, _shown(text, start, line if line >= 0 else found.end() + 4 * _LONGEST)


def _counts(row: CodeRow, code: str, path: str) -> bool:
    """Whether the file is of the kind that the row is about."""
    if row.unless and _compiled(row.unless).search(code):
        return False
    if not row.path and not row.beside:
        return True
    if row.path and re.search(row.path, path):
        return True
    return bool(row.beside) and _compiled(row.beside).search(code) is not None


def _is_set(text: str, code: str, found: re.Match[str]) -> bool:
    start, end = found.span("value")
    end = start + len(code[start:end].rstrip())
    return text[start:end].strip().strip("\"'").strip().lower() not in _NOT_SET


# -- Python, where names are imported ----------------------------------------------------------------------

_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]*(?:\(([^()]*)\)|([^\n;()]*))|import[ \t]+([^\n;]*))",
    re.MULTILINE,
)
_ASSIGNED = re.compile(r"^[ \t]*([^\W\d]\w*)[ \t]*=[ \t]*([^\W\d]\w*(?:\.\w+)+)[ \t]*$", re.MULTILINE)
_AS = re.compile(r"\s+as\s+")
_DOTTED = re.compile(r"(?<![\w.])([^\W\d]\w*)(?:[ \t]*\.[ \t]*\w+)*")
_BEFORE = re.compile(r"(@|\braise\b|\bdef\b|\bclass\b)[ \t]*\Z")
_AFTER = re.compile(r"[ \t]*\(")
_GIVEN = re.compile(r"[ \t]*=(?!=)")
_SKIP_TEST = re.compile(r"(?<=\.)skipTest[ \t]*\(")


def _prefixes(names: Iterable[str]) -> frozenset[str]:
    """The modules of dotted names, and the modules of those."""
    parts = [name.split(".") for name in names]
    return frozenset(".".join(part[:end]) for part in parts for end in range(1, len(part)))


_MODULES = _prefixes(PYTHON) | _prefixes(PYTHON_MODULES) | frozenset(PYTHON_MODULES)
_UNIMPORTED = ("pytest", "unittest")


def _meaning(name: str) -> str:
    """The dotted name by which the table knows it."""
    module, rest = name, ""
    while module not in PYTHON_MODULES:
        module, dot, last = module.rpartition(".")
        if not dot:
            return name
        rest = f".{last}{rest}"
    return PYTHON_MODULES[module] + rest


def _python_names(code: str) -> dict[str, str]:
    """What names of interest stand for: each local name, and the dotted name it was imported or assigned from."""
    names = {name: name for name in _UNIMPORTED}

    def note(local: str, dotted: str) -> None:
        if local and (_meaning(dotted) in PYTHON or dotted in _MODULES):
            names[local] = _meaning(dotted)

    for found in _IMPORT.finditer(code):
        module, listed, plain, whole = found.groups()
        for part in (listed or plain or whole or "").split(","):
            name, _, local = _AS.sub("\n", part.strip()).partition("\n")
            if module is None:
                note(local or name.partition(".")[0], name if local else name.partition(".")[0])
            elif name == "*":
                for one in (*PYTHON, "pytest.mark"):
                    if one.rpartition(".")[0] == _meaning(module):
                        note(one.rpartition(".")[2], one)
            else:
                note(local or name, f"{module}.{name}")
    for found in _ASSIGNED.finditer(code):
        root, _, rest = found[2].partition(".")
        if root in names:
            note(found[1], f"{names[root]}.{rest}")
    return names


def _in_python(text: str, code: str) -> Iterator[_Find]:
    code = code.replace("\\\n", "  ")
    names = _python_names(code)
    for found in _DOTTED.finditer(code):
        if found[1] not in names:
            continue
        _, *rest = found[0].replace(" ", "").replace("\t", "").split(".")
        before = _BEFORE.search(code, max(0, found.start() - 20), found.start())
        if (before and before[1] in ("def", "class")) or _GIVEN.match(code, found.end()):
            continue
        dotted = _meaning(".".join([names[found[1]], *rest]))
        if dotted == "pytest.skip.Exception" and before:
            dotted = "unittest.SkipTest"
        rule, use = PYTHON.get(dotted, ("", ""))
        if rule and (use == "named" or before or _AFTER.match(code, found.end())):
            yield _code_find(text, found, rule)
    for found in _SKIP_TEST.finditer(code):
        yield _code_find(text, found, "skip")
