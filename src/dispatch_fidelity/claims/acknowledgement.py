"""Whether the text given as a call's result admits that the call failed; words come from ``lexicon/``.

1. The text is folded (case, accents, widths, apostrophes) and cut into words; runs of Han and Kana are matched
   piece by piece. Each word has a meaning: a set of the kinds that ``lexicon/en.toml`` explains.
2. Clauses end at sentence marks and at words such as "but" and "then". Each gets a polarity: a failure, a
   negated success is a failure, a negated failure is good news.
3. The last clause that has a polarity decides, but a success takes back a failure before it only where it speaks
   of the whole ("worked") or is tied to it ("then", "retry", "failed at first").

Everything is one pass with a bounded look ahead: hostile text costs linear time.
"""

from __future__ import annotations

import pkgutil
import re
import sys
import unicodedata
from collections.abc import Iterator
from enum import IntFlag
from functools import lru_cache
from typing import NamedTuple

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LANGUAGES = ("en", "de", "fr", "es", "pt", "zh", "ja")


class Kind(IntFlag):
    """What a word does in a clause; the names are the keys of the lexicon files."""

    FAILURE = 1 << 0
    ACT = 1 << 1
    SETTING = 1 << 2
    SUCCESS = 1 << 3
    DONE = 1 << 4
    FINDS = 1 << 5
    ABLE = 1 << 6
    UNABLE = 1 << 7
    REPAIR = 1 << 8
    NEGATION = 1 << 9
    NEGATION_AFTER = 1 << 10
    NONE = 1 << 11
    NONE_AFTER = 1 << 12
    NOTHING = 1 << 13
    CONTRAST = 1 << 14
    SEQUENCE = 1 << 15
    CLAUSE = 1 << 16
    AFTER = 1 << 17
    DESPITE = 1 << 18
    JOIN = 1 << 19
    AT_FIRST = 1 << 20
    AGAIN = 1 << 21
    HEDGE = 1 << 22
    COUNT = 1 << 23
    STATUS = 1 << 24
    EXIT = 1 << 25
    NOT_FAILURE = 1 << 26
    NOT_SUCCESS = 1 << 27
    PLAIN = 1 << 28


# Plain integers: an operation on a flag costs twenty times one on an int, and the loop below runs per word.
_FAILURE, _ACT, _SETTING = int(Kind.FAILURE), int(Kind.ACT), int(Kind.SETTING)
_SUCCESS, _DONE, _FINDS = int(Kind.SUCCESS), int(Kind.DONE), int(Kind.FINDS)
_ABLE, _UNABLE, _REPAIR = int(Kind.ABLE), int(Kind.UNABLE), int(Kind.REPAIR)
_NEGATION, _NEGATION_AFTER = int(Kind.NEGATION), int(Kind.NEGATION_AFTER)
_NONE, _NONE_AFTER, _NOTHING = int(Kind.NONE), int(Kind.NONE_AFTER), int(Kind.NOTHING)
_CONTRAST, _SEQUENCE = int(Kind.CONTRAST), int(Kind.SEQUENCE)
_AFTER, _DESPITE, _JOIN = int(Kind.AFTER), int(Kind.DESPITE), int(Kind.JOIN)
_AT_FIRST, _AGAIN, _HEDGE, _COUNT = int(Kind.AT_FIRST), int(Kind.AGAIN), int(Kind.HEDGE), int(Kind.COUNT)
_STATUS, _EXIT, _NOT_FAILURE = int(Kind.STATUS), int(Kind.EXIT), int(Kind.NOT_FAILURE)
_OPENS = int(Kind.CONTRAST | Kind.SEQUENCE | Kind.CLAUSE | Kind.AFTER | Kind.DESPITE)
_WRONG = int(Kind.FAILURE | Kind.ACT)
_RIGHT = int(Kind.SUCCESS | Kind.DONE | Kind.FINDS | Kind.REPAIR)
_POLAR = _WRONG | _RIGHT | _UNABLE
# Without one of these no clause can be a failure.
_TELLING = int(
    Kind.FAILURE
    | Kind.ACT
    | Kind.UNABLE
    | Kind.NEGATION
    | Kind.NEGATION_AFTER
    | Kind.NONE
    | Kind.NOTHING
    | Kind.STATUS
    | Kind.EXIT
    | Kind.NOT_FAILURE
)

_REACH = 5  # words from a negation to what it turns
_STEM = 3  # characters by which stems and endings are looked up


class _Folding(dict[int, str]):
    """Character to its plain form: lower case, no accents or voicing marks, one width, one apostrophe.

    Character by character, so that a long run of combining marks costs no more than other text.
    """

    def __missing__(self, code: int) -> str:
        character = chr(code)
        plain = "".join(c for c in unicodedata.normalize("NFKD", character) if not unicodedata.combining(c))
        plain = plain.casefold()
        if code < 0x10000:
            self[code] = plain
        return plain


_FOLDING = _Folding({ord(mark): "'" for mark in "‘’‛ʼ`´＇′"})
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=\.)(?=[A-Z])")
_PATH = re.compile(r"\S*/\S*")
_TOKEN = re.compile(
    r"(?:[cdjlmnst]|(?:jus|lors|puis)?qu)'(?=[a-z])"  # elided words: d'erreur, n'existe
    r"|\d+(?:[.,]\d+)*(?![a-z0-9])"
    r"|[a-z0-9]+(?:\.[a-z0-9]+)*(?:'t(?![a-z]))?"
    r"|[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+"
    r"|\s[-\u2013\u2014]+\s|--|\n|[^\s_]"
)
_END = frozenset(".!?;:()[]{}|\n,。、，；：！？…·•→=—")
_MUTE = frozenset("\"'*`#>-<%$~\\^“”«»「」『』")
_NO_ARGUMENT_MARKS = ("て", "に", "を", "の")  # Japanese: what stands before them is not what is denied


def _fold(text: str) -> str:
    return text.lower() if text.isascii() else text.translate(_FOLDING).lower()


class _Lexicon(NamedTuple):
    """The words of all languages by the ways in which they are found; a value is (kinds, languages)."""

    words: dict[str, tuple[int, int]]
    ambiguous: dict[str, dict[int, int]]
    stems: dict[str, list[tuple[str, int, int]]]
    endings: dict[str, list[tuple[str, int, int]]]
    phrases: dict[str, list[tuple[tuple[str, ...], int, int]]]
    pieces: dict[str, list[tuple[str, int]]]

    def look_up(self, word: str) -> tuple[int, int]:
        """Kinds and languages of one word; a listed form goes before a stem, a stem before an ending."""
        found = self.words.get(word)
        if found is not None:
            return found
        for stem, kinds, language in self.stems.get(word[:_STEM], ()):
            if word.startswith(stem):
                return kinds, language
        for ending, kinds, language in self.endings.get(word[-_STEM:], ()):
            if word.endswith(ending):
                return kinds, language
        if "." in word:
            return self.words.get(word[word.rindex(".") + 1 :], _NO_MEANING)
        return _NO_MEANING


_NO_MEANING = (0, 0)


@lru_cache(maxsize=1)
def _lexicon() -> _Lexicon:
    words: dict[str, tuple[int, int]] = {}
    senses: dict[str, dict[int, int]] = {}
    stems: dict[tuple[str, bool], tuple[int, int]] = {}
    phrases: dict[str, tuple[int, int]] = {}
    pieces: dict[str, int] = {}
    for number, language in enumerate(LANGUAGES):
        data = pkgutil.get_data(__package__ + ".lexicon", f"{language}.toml") or b""
        bit = 1 << number
        for key, entries in tomllib.loads(data.decode()).items():
            kind = int(Kind[key.upper()])
            for entry in _fold(entries).replace("\n", " ").split(","):
                entry = entry.strip()
                if entry[0] > "\u3000":
                    pieces[entry] = pieces.get(entry, 0) | kind
                elif " " in entry or "'" in entry:
                    kinds, languages = phrases.get(entry, _NO_MEANING)
                    phrases[entry] = kinds | kind, languages | bit
                elif "*" in entry:
                    stem = (entry.strip("*"), entry[0] == "*")
                    kinds, languages = stems.get(stem, _NO_MEANING)
                    stems[stem] = kinds | kind, languages | bit
                else:
                    sense = senses.setdefault(entry, {})
                    sense[bit] = sense.get(bit, 0) | kind
    ambiguous = {}
    for word, sense in senses.items():
        kinds = 0
        for meaning in sense.values():
            kinds |= meaning
        words[word] = kinds, sum(sense)
        if len(set(sense.values())) > 1:
            ambiguous[word] = sense
    lexicon = _Lexicon(words, ambiguous, {}, {}, {}, {})
    for (stem, ending), (kinds, languages) in stems.items():
        table, key = (lexicon.endings, stem[-_STEM:]) if ending else (lexicon.stems, stem[:_STEM])
        table.setdefault(key, []).append((stem, kinds, languages))
    for entry, (kinds, languages) in phrases.items():
        first, *rest = _phrase(entry)
        if rest:
            lexicon.phrases.setdefault(first, []).append((tuple(rest), kinds, languages))
        else:
            words[first] = kinds, languages
    for piece, kinds in pieces.items():
        lexicon.pieces.setdefault(piece[0], []).append((piece, kinds))
    for longest_first in (lexicon.stems, lexicon.endings, lexicon.pieces):
        for candidates in longest_first.values():
            candidates.sort(key=_length)  # type: ignore[attr-defined]
    for rests in lexicon.phrases.values():
        rests.sort(key=lambda candidate: -len(candidate[0]))
    return lexicon
