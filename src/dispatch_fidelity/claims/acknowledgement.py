"""Whether the text given as a call's result admits that the call failed.

1. ``words`` gives each word of the text its kinds; ``topics`` sets aside the words that name data.
2. Clauses end at sentence marks and at words such as "but" and "then". Each gets a polarity: a failure is
   bad, a negated success too, a negated failure is good; a negated act (``denials``) is bad.
3. The last clause with a polarity decides, but a good one takes back a failure before it only where it speaks
   of the whole ("worked") or is tied to it ("then", "retry", "failed at first"); ``clauses`` weighs them.

One pass with a bounded look ahead: hostile text costs linear time.
"""

from __future__ import annotations

from functools import lru_cache

from .clauses import LINKS, NEVER, Clauses
from .denials import denies_act, ends_fact
from .topics import set_aside, without_names
from .words import (
    ABLE,
    ACT,
    AFTER,
    AGAIN,
    AT_FIRST,
    BAD,
    CLAUSE,
    COUNT,
    DENIES_ITSELF,
    DESPITE,
    DONE,
    EXIT,
    FAILURE,
    FINDS,
    HEDGE,
    JOIN,
    NEGATION,
    NEGATION_AFTER,
    NONE,
    NONE_AFTER,
    NOT_FAILURE,
    NOTHING,
    NUMBER,
    REPAIR,
    SETTING,
    STATUS,
    STOP,
    SUCCESS,
    TOPICAL,
    UNABLE,
    UNDOES,
    ZERO,
    Words,
    is_http_failure,
    words_of,
)
from .words import read_lexicon as read_lexicon

SHORT = 400

_GOOD = SUCCESS | DONE | FINDS | REPAIR
_OPENS = LINKS | CLAUSE | AFTER | DESPITE
_SAYING = (UNDOES << 1) - 1  # all kinds below those of topics
_MARKS = AT_FIRST | AGAIN | HEDGE

_REACH = 5  # words from a negation to what it turns
_OF = frozenset(("of", "out", "von", "sur", "de", "/"))
_ANY = frozenset(("any", "an", "a", "the", "single", "further", "more", "d'", "de", "un", "una", "um", "uma"))
_ARTICLES = frozenset(("a", "an", "ein", "einen", "un", "une", "um", "got", "gets"))
_UNITS = frozenset(("s", "ms", "sec", "secs", "seconds", "min", "minutes", "sekunden", "segundos"))
# What may stand between "HTTP" and its number.
_PASSES = frozenset((":", "=", "(", "/", "code", "error", "is", "was", "of", "with", "a", "response"))
_FOLLOWS_STATUS = frozenset(("from", "on", "for", "by", "with", "back", "response", "page", "von", "de"))
# Japanese: what stands before these is not what a denial after them is about.
_CASES = frozenset("てにをの")


class _Reading(Clauses):
    """Reads words in order and keeps what the clauses so far say."""

    def __init__(self, words: Words) -> None:
        # A stop at the end spares every look ahead the question whether there is a next word.
        self.kinds = [*words.kinds, STOP, STOP]
        self.forms = [*words.forms, "", ""]
        self.status = 0
        super().__init__()

    def read(self) -> None:
        for at in range(len(self.kinds) - 1):
            kinds = self.kinds[at]
            if self.status and self.forms[at] not in _PASSES and not kinds & (STATUS | EXIT | NUMBER):
                self.status = 0
            if not kinds or (kinds > _SAYING and not kinds & _SAYING):
                continue
            if kinds & STOP:
                link = self.kept_link(at)
                self.close()
                self.open(at, link)
                continue
            if kinds & _OPENS:
                link = self.kept_link(at)
                self.close()
                self.open(at, link | kinds & _OPENS)
            self.marks |= kinds & _MARKS
            if kinds & (NUMBER | COUNT):
                self.number(at, kinds)
            if kinds & (STATUS | EXIT):
                self.status |= kinds & (STATUS | EXIT)
            if kinds & NOT_FAILURE:
                self.spoke = True
            if kinds & (NEGATION_AFTER | NONE_AFTER) and self.turn_before(at, kinds):
                continue
            if kinds & (ABLE | UNABLE):
                self.ability(at, kinds)
            if kinds & BAD:
                self.failure(at, kinds)
            elif kinds & _GOOD:
                self.success(at, kinds)
            if kinds & (NEGATION | NONE):
                self.negate(at, kinds)
                self.undone = self.undone or denies_act(self.kinds, self.forms, at, self.opened)
            elif kinds & UNDOES:
                self.undone = self.undone or not (self.bad or ends_fact(self.kinds, at))
            elif kinds & JOIN:
                self.join(at)

    def active(self, at: int) -> int:
        """The negation that reaches this word."""
        return self.negation if at - self.negation_at <= _REACH else 0

    def fail(self, at: int, kinds: int) -> None:
        self.bad |= kinds
        self.bad_at = at
        self.spoke = True
        self.negation = 0
        if at - self.number_at <= 3:
            self.counted_bad = True

    def number(self, at: int, kinds: int) -> None:
        forms = self.forms
        form, follows = forms[at], forms[at + 1]
        if self.zero and self.negation and forms[at - 1] not in _OF:
            self.negation = 0
        self.number_at = at
        if not kinds & NUMBER:
            return
        told = self.status
        if not told and forms[at - 1] in _ARTICLES:
            told = STATUS
        if not self.kinds[at + 1] & ~TOPICAL and follows not in _FOLLOWS_STATUS:
            told &= ~STATUS  # "got 404 rows"
        if (told & EXIT and form.isdigit()) or (told & STATUS and is_http_failure(form)):
            self.fail(at, FAILURE)
            self.number_at, self.counted_bad = NEVER, False
        elif not form[-1].isalpha() and follows not in _UNITS:
            self.numbered = True

    def negate(self, at: int, kinds: int) -> None:
        reach = 6 if kinds & NEGATION_AFTER else 1 if kinds & NEGATION else 3
        is_zero = self.forms[at].startswith("0")
        if at - self.able_at <= reach and not is_zero:
            self.unable, self.finds_at, self.spoke = True, NEVER, True
            if kinds & NEGATION:
                return
        self.negation, self.negation_at, self.zero = kinds & (NEGATION | NONE), at, is_zero

    def turn_before(self, at: int, kinds: int) -> bool:
        """Whether the word denied what stands before it: エラーなし, antwortet nicht."""
        between = self.forms[self.polar_at + 1 : at] if at - self.polar_at <= 8 else None
        if not self.polar or between is None:
            return False
        if self.polar & _GOOD:
            return bool(kinds & NEGATION_AFTER) and len(between) <= 4 and self.turn_good(at)
        if not kinds & NONE_AFTER or not _CASES.isdisjoint(between):
            return False
        self.bad, self.bad_at, self.polar = 0, NEVER, 0
        self.good |= NONE
        return True

    def turn_good(self, at: int) -> bool:
        self.good = self.polar = 0
        self.fail(at, FAILURE)
        return True

    def ability(self, at: int, kinds: int) -> None:
        if kinds & UNABLE or (self.active(at) & NEGATION and at - self.negation_at <= 3):
            self.unable, self.spoke, self.negation = True, True, 0
            self.finds_at = NEVER
        else:
            self.able_at = at

    def success(self, at: int, kinds: int) -> None:
        negation = self.active(at)
        if negation & NEGATION or (negation & NONE and kinds & SUCCESS and not self.zero):
            if kinds & FINDS:
                self.unable, self.finds_at, self.spoke, self.negation = True, at, True, 0
            else:
                self.fail(at, FAILURE)
            self.polar = 0
            return
        if negation:
            return
        if self.unable:
            if kinds & FINDS:
                self.finds_at = at
            return
        value = self.value_after(at)
        if value & NOTHING and (self.forms[at + 1] in (":", "=") or value & NEGATION):
            if value != ZERO:
                self.fail(at, FAILURE)
            return
        self.good |= SUCCESS if kinds & SUCCESS else DONE
        self.good_at = self.polar_at = at
        self.polar = kinds & _GOOD
        self.repaired = self.repaired or bool(kinds & REPAIR)
        if at - self.number_at <= 2 or value & NUMBER:
            self.counted_good = True

    def failure(self, at: int, kinds: int) -> None:
        self.spoke = True
        if self.forms[at] == DENIES_ITSELF:
            self.fail(at, kinds & BAD)
            return
        negation = self.active(at)
        if negation and not (kinds & ACT and self.unable):
            self.deny(at)
            if negation & NONE:
                self.unable = False
            return
        near = at - self.finds_at
        if self.unable and (near == 1 or (near <= 3 and self.forms[at - 1] in _ANY)):
            self.unable = False
            self.deny(at)
            return
        value = self.value_after(at)
        if value & NOTHING:
            self.deny(at)
            return
        if kinds & SETTING and value & NUMBER and self.is_setting(at + 1):
            return
        self.fail(at, kinds & BAD)
        self.polar, self.polar_at = kinds & BAD, at
        if value & NUMBER:
            self.counted_bad = True

    def is_setting(self, sign: int) -> bool:
        """Whether sign and number give a parameter: "timeout=30", but not "Timeout: 30 s"."""
        number, unit = self.forms[sign + 1], self.forms[sign + 2]
        return self.forms[sign] == "=" or (number.isdigit() and unit not in _UNITS)

    def deny(self, at: int) -> None:
        self.good |= NONE
        self.carry = at
        self.negation = self.polar = 0

    def value_after(self, at: int) -> int:
        """The kinds of the value given to the word, 0 when none is: "errors: 0", "failed tests = 3"."""
        kinds, forms = self.kinds, self.forms
        sign = at + 1
        last = min(at + 3, len(kinds) - 2)
        while sign < last and not kinds[sign] & (STOP | NOTHING | NUMBER):
            sign += 1
        if forms[sign] in (":", "="):
            value = sign + 1
            if forms[value] in (",", "}") or (forms[value] in ("[", "{") and forms[value + 1] in ("]", "}")):
                return NOTHING
        elif sign == at + 1 or (kinds[sign] == ZERO and forms[at + 1] > "\u3000"):
            value = sign
        else:
            return 0
        if kinds[value] & NOTHING and not forms[value].startswith("0"):
            closed = kinds[value + 1] & (STOP | FINDS | JOIN) and forms[value + 1] not in (":", "=")
            return kinds[value] if closed or forms[sign] == "=" else 0
        return kinds[value]

    def join(self, at: int) -> None:
        if 0 < at - self.carry <= 2:
            self.negation, self.negation_at, self.zero = NONE, at, False
        elif self.bad or self.good or self.undone:
            link = self.link & LINKS
            self.close()
            self.open(at, link)


def _read(text: str) -> _Reading:
    words = words_of(without_names(text))
    set_aside(words)
    reading = _Reading(words)
    reading.read()
    return reading


@lru_cache(maxsize=4096)
def _read_short(text: str) -> tuple[bool, bool]:
    """What a short text says; agents that poll or retry repeat the same words a thousand times."""
    reading = _read(text)
    return reading.failed, reading.spoke


def acknowledges_failure(text: str) -> bool:
    """Whether the text, taken as the result of a call, says that the call failed."""
    return _read_short(text)[0] if len(text) <= SHORT else _read(text).failed


def speaks_of_failure(text: str) -> bool:
    """Whether the text has any word of failure, be it denied, overcome or part of a name."""
    return _read_short(text)[1] if len(text) <= SHORT else _read(text).spoke
