"""Sets aside the words of failure that name the data of a result and not the end of its call.

1. Names in nested JSON: ``error_count`` in a row of a table.
2. Compounds: error handling, the failure rate, catálogo de códigos de error.
3. Content: "the article explains how errors are handled".
4. Categories with counts beside another category: "23 denied claims and 310 approved".
5. Movements of a number: "the rate dropped from 4.1 % to 1.9 %".

In doubt a word is kept, and the text admits a failure.
"""

from __future__ import annotations

import re

from .words import (
    BAD,
    CATEGORY,
    CLAUSE,
    CONTRAST,
    COUNT,
    HEAD,
    HOLDS,
    JOIN,
    MOVES,
    NEGATION,
    NONE,
    NOT_FAILURE,
    NUMBER,
    QUOTED,
    STOP,
    TELLING,
    TELLS,
    UNABLE,
    WEAK_HEAD,
    WORK,
    Words,
)

_HINTS = HEAD | TELLS | CATEGORY | HOLDS | QUOTED | MOVES
_SENTENCE_ENDS = frozenset(".!?\n。")
_LINKS = frozenset((
    "of", "the", "in", "for", "von", "der", "des", "de", "d'", "do", "da", "dos", "das", "del", "du", "la",
    "les",
))  # fmt: skip
_ALIKE = frozenset(("の", "的"))
_OBJECTS = frozenset(("を", "て", "で"))
_THAT = frozenset(("that", "dass", "que", "qu'"))
_FROM_OR_TO = frozenset(("from", "to", "by", "de", "a", "para", "von", "auf", "um"))
_PAST = frozenset(("さ", "れ", "た", "し"))
_PARTICIPLES = ("ado", "ada", "ados", "adas", "ido", "ida", "idos", "idas", "es")
_ADJECTIVES = ("ed", "te", "ten", "ter", "tes", "ene", "enen", "ener", "enes")
_NO_NOUNS = frozenset((
    "by", "at", "in", "on", "to", "from", "with", "for", "of", "today", "yesterday", "twice", "per", "von",
    "wegen", "beim", "durch", "here", "there", "during",
))  # fmt: skip
_JSON = r"(?s)\"((?:[^\"\\]|\\.)*)\"?(\s*:\s*-?\d)?|[\[\]{}]"  # compiled when the first one is read
_KEPT_NAMES = frozenset(("error", "errors", "status", "message", "code"))


def without_names(text: str) -> str:
    """JSON without the names of nested numbers, but for those by which a result reports an error.

    In a row of a table every such name is one of data; in a nested object only a name of several words is.
    """
    if not text.startswith(("{", "[")):
        return text
    nesting: list[str] = []
    rows = 0  # how many of the open brackets are lists

    def plain(match: re.Match[str]) -> str:
        nonlocal rows
        found = match.group()
        if found in ("[", "{"):
            nesting.append(found)
            rows += found == "["
        elif found in ("]", "}"):
            if nesting:
                rows -= nesting.pop() == "["
        elif match[2] and len(nesting) > 1 and match[1].lower() not in _KEPT_NAMES:
            one_word = match[1].isalpha() and match[1] in (match[1].lower(), match[1].upper())
            return found if one_word and not rows else f'""{match[2]}'
        return found

    return re.sub(_JSON, plain, text)


def set_aside(words: Words) -> None:
    """Takes the meaning from the words of failure that name data."""
    if not (words.seen & BAD and words.seen & _HINTS):
        return
    start = 0
    for end, form in enumerate(words.forms):
        if form in _SENTENCE_ENDS and words.kinds[end] & STOP:
            _Sentence(words, start, end).set_aside()
            start = end + 1
    _Sentence(words, start, len(words.forms)).set_aside()


class _Sentence:
    """The words from ``start`` to before ``end``."""

    def __init__(self, words: Words, start: int, end: int) -> None:
        self.words, self.kinds, self.forms = words, words.kinds, words.forms
        self.start, self.end = start, end

    def kind(self, at: int) -> int:
        return self.kinds[at] if self.start <= at < self.end else STOP

    def set_aside(self) -> None:
        seen = 0
        for at in range(self.start, self.end):
            seen |= self.kinds[at]
        if not seen & BAD:
            return
        if seen & HEAD:
            self.compounds()
        if seen & TELLS and seen & WORK:
            self.content()
        if seen & MOVES and seen & NUMBER:
            self.movements()
        if seen & (NUMBER | COUNT) and seen & (CATEGORY | HOLDS | QUOTED):
            self.categories()

    def clear(self, at: int) -> None:
        self.kinds[at] = NOT_FAILURE

    def compounds(self) -> None:
        for at in range(self.start, self.end):
            if not self.kinds[at] & BAD:
                continue
            after = at + 1
            while after < at + 4 and (self.kind(after) & WEAK_HEAD or self.form(after) in _ALIKE):
                after += 1
            before = at - 1
            while before > at - 6 and (self.kind(before) & WEAK_HEAD or self.form(before) in _LINKS):
                before -= 1
            linked = self.form(at - 1) in _LINKS and self.kind(before) & HEAD
            if self.kind(after) & HEAD or linked:
                self.clear(at)

    def form(self, at: int) -> str:
        return self.forms[at] if self.start <= at < self.end else ""

    def content(self) -> None:
        work = -99
        for at in range(self.start, self.end):
            kinds = self.kinds[at]
            if kinds & WORK:
                work = at
            elif kinds & TELLS and at - work <= 16 and self.form(at + 1) not in _THAT:
                # In Japanese what is told stands before the verb.
                told_before = self.form(at)[0:1] > "\u3000" and self.form(at - 1) in _OBJECTS
                for told in range(work + 1, at) if told_before else range(at + 1, self.end):
                    if self.kinds[told] & CONTRAST:
                        break
                    if self.kinds[told] & TELLING:
                        self.clear(told)
                return

    def movements(self) -> None:
        metric = False
        subject = self.start
        for at in range(self.start, self.end):
            kinds = self.kinds[at]
            metric = metric or bool(kinds & HEAD)
            if kinds & STOP:
                subject = at
            elif kinds & MOVES and self.form(at + 1) in _FROM_OR_TO:
                numbers = sum(bool(self.kind(near) & NUMBER) for near in range(at + 2, at + 10))
                if numbers >= 2 or (metric and numbers):
                    for told in range(subject, at + 1):
                        if self.kinds[told] & BAD:
                            self.clear(told)
                    subject = at

    def categories(self) -> None:
        other = held = worked = listed = rows = False
        named: list[int] = []
        for at in range(self.start, self.end):
            kinds = self.kinds[at]
            held = held or bool(kinds & HOLDS)
            listed = listed or bool(worked and kinds & HOLDS)
            worked = worked or bool(kinds & WORK)
            if kinds & BAD:
                if self.is_attribute(at, held):
                    named.append(at)
                    rows = rows or listed
            elif kinds & CATEGORY or (kinds & QUOTED and self.form(at + 1) != ":"):
                other = True
        if other or rows:
            for at in named:
                self.clear(at)

    def is_attribute(self, at: int, held: bool) -> bool:
        """Whether the word says of which kind things are, and not what became of them."""
        before, after = self.kind(at - 1), self.kind(at + 1)
        if self.kinds[at] & QUOTED:
            return self.form(at - 1) not in (":", "=")
        if self.form(at)[:1] > "\u3000":
            if self.form(at + 2) == "的" and not after:
                return True
            past = at + 1
            while past < at + 4 and self.form(past) in _PAST:
                past += 1
            return self.form(past) == "的" or (
                past > at + 2 and not self.kind(past) & (STOP | CLAUSE | CONTRAST)
            )
        if before & (NEGATION | NONE | UNABLE):
            return False
        if self.form(at).endswith(_ADJECTIVES):
            follows = self.form(at + 1)
            if not after and follows.isalpha() and follows not in _NO_NOUNS and follows[-3:] != "ing":
                return bool(before & (NUMBER | COUNT)) or self.is_label(at)
            if before & NUMBER and after & JOIN and self.kind(at + 2) & NUMBER:
                return bool(self.kind(at + 3) & CATEGORY) and self.form(at + 4).isalpha()
        if not self.form(at - 1).isalpha() or not self.form(at).endswith(_PARTICIPLES):
            return False
        counted = held and self.kind(at - 2) & (NUMBER | COUNT)
        return bool(counted) or bool(self.kind(at - 2) & STOP and self.is_label(at))

    def is_label(self, at: int) -> bool:
        """Whether a colon and a number follow: "denied claims this month: 23"."""
        for sign in range(at + 1, at + 6):
            if self.kind(sign) & STOP:
                return self.form(sign) == ":" and bool(self.kind(sign + 1) & NUMBER)
        return False
