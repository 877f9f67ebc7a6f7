"""Whether the text given as a call's result admits that the call failed; the words come from ``lexicon/``.

1. The text is folded (case, accents, widths, apostrophes) and cut into words; runs of Han and Kana are
   matched piece by piece. Each word gets its kinds, which ``lexicon/en.toml`` explains.
2. Clauses end at sentence marks and at words such as "but" and "then". Each gets a polarity: a failure is
   bad, a negated success too, a negated failure is good.
3. The last clause with a polarity decides, but a good one takes back a failure before it only where it speaks
   of the whole ("worked") or is tied to it ("then", "retry", "failed at first").

One pass with a bounded look ahead: hostile text costs linear time.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Sized
from functools import lru_cache
from typing import NamedTuple

SHORT = 400
LANGUAGES = ("en", "de", "fr", "es", "pt", "zh", "ja")

# The kinds are bits, in the order in which en.toml explains them.
_NAMES = (
    "failure", "act", "setting", "success", "done", "finds", "able", "unable", "repair", "negation",
    "negation_after", "none", "none_after", "nothing", "contrast", "sequence", "clause", "after",
    "despite", "join", "at_first", "again", "hedge", "count", "status", "exit", "not_failure",
    "not_success", "plain",
)  # fmt: skip
_KINDS = {name: 1 << place for place, name in enumerate(_NAMES)}
(
    _FAILURE, _ACT, _SETTING, _SUCCESS, _DONE, _FINDS, _ABLE, _UNABLE, _REPAIR, _NEGATION,
    _NEGATION_AFTER, _NONE, _NONE_AFTER, _NOTHING, _CONTRAST, _SEQUENCE, _CLAUSE, _AFTER, _DESPITE,
    _JOIN, _AT_FIRST, _AGAIN, _HEDGE, _COUNT, _STATUS, _EXIT, _NOT_FAILURE, _NOT_SUCCESS, _PLAIN,
) = _KINDS.values()  # fmt: skip
_NUMBER = 1 << 29  # a number above zero
_STOP = 1 << 30  # a mark that ends a clause

_BAD = _FAILURE | _ACT | _SETTING
_GOOD = _SUCCESS | _DONE | _FINDS | _REPAIR
_LINKS = _CONTRAST | _SEQUENCE
_OPENS = _LINKS | _CLAUSE | _AFTER | _DESPITE
_MARKS = _AT_FIRST | _AGAIN | _HEDGE
# Without one of these no clause can be bad, and the text does not speak of failure either.
_TELLING = _BAD | _UNABLE | _NEGATION | _NEGATION_AFTER | _NONE | _NOTHING | _STATUS | _EXIT | _NOT_FAILURE

_ZERO = _NONE | _NOTHING
_NEVER = -99
_DENIES_ITSELF = "no …"  # the form of a phrase such as "no response", which no other negation turns
_REACH = 5  # words from a negation to what it turns
_HEAD = 3  # letters by which stems and endings are filed


class _Folding(dict[int, str]):
    """Character to its plain form: lower case, no accents or voicing marks, one width, one apostrophe.

    Character by character, so that a long run of combining marks costs no more than other text.
    """

    def __missing__(self, code: int) -> str:
        parts = unicodedata.normalize("NFKD", chr(code))
        plain = "".join(part for part in parts if not unicodedata.combining(part)).casefold()
        if code < 0x10000:
            self[code] = plain
        return plain


_FOLDING = _Folding({ord(mark): "'" for mark in "‘’‛ʼ`´＇′"})
_HUMP = re.compile(r"[A-Z](?:(?<=[a-z0-9.][A-Z])|(?<=[A-Z][A-Z])(?=[a-z]))")
_PATH = re.compile(r"\S+")
_TOKEN = re.compile(
    r"(?:[cdjlmnst]|(?:jus|lors|puis)?qu)'(?=[a-z])"  # elided words: d'erreur, n'existe
    r"|\d+(?:[.,]\d+)*(?![a-z0-9])"
    r"|[a-z0-9]+(?:[.\x1f][a-z0-9]+)*(?:'t(?![a-z]))?"
    r"|[\u3040-\u30ff\u3400-\u9fff]+"
    r"|\s[-\u2013\u2014]+\s|--|\n|[^\s_-]"
)
_ENDS = frozenset(".!?;:()[]{}|\n,。、…·•→=—–")
_MUTE = frozenset("\"'*`#<>%$~\\^“”„«»「」『』@+")
_OF = frozenset(("of", "out", "von", "sur", "de", "/"))
_ANY = frozenset(("any", "an", "a", "the", "single", "further", "more", "d'", "de", "un", "una", "um", "uma"))
_ARTICLES = frozenset(("a", "an", "ein", "einen", "un", "une", "um", "got", "gets"))
_UNITS = frozenset(("s", "ms", "sec", "secs", "seconds", "min", "minutes", "sekunden", "segundos"))
# What may stand between "HTTP" and its number.
_PASSES = frozenset((":", "=", "(", "/", "code", "error", "is", "was", "of", "with", "a", "response"))
_FOLLOWS_STATUS = frozenset(("from", "on", "for", "by", "with", "back", "response", "page", "von", "de"))
# Japanese: what stands before these is not what a denial after them is about.
_CASES = frozenset("てにをの")


def _fold(text: str) -> str:
    return text.lower() if text.isascii() else text.translate(_FOLDING).lower()


class _Lexicon(NamedTuple):
    """The words of all languages by the way they are found; a meaning is (kinds, languages), both bits."""

    words: dict[str, tuple[int, int]]
    ambiguous: dict[str, dict[int, int]]
    stems: dict[str, list[tuple[str, tuple[int, int]]]]
    endings: dict[str, list[tuple[str, tuple[int, int]]]]
    phrases: dict[str, dict[str, list[tuple[list[str], tuple[int, int]]]]]
    pieces: dict[str, list[tuple[str, int]]]

    def meaning(self, word: str) -> tuple[int, int]:
        """A listed form goes before a stem, a stem before an ending."""
        found = self.words.get(word)
        if found is not None:
            return found
        for stem, meaning in self.stems.get(word[:_HEAD], ()):
            if word.startswith(stem):
                return meaning
        for ending, meaning in self.endings.get(word[-_HEAD:], ()):
            if word.endswith(ending):
                return meaning
        if "." in word:  # socket.timeout, but not error.log
            return self.words.get(word[word.rindex(".") + 1 :], (0, 0))
        return 0, 0


@lru_cache(maxsize=1)
def _lexicon() -> _Lexicon:
    """The lexicon as it was compiled; loading it costs a tenth of reading the lists."""
    from .lexicon.compiled import LEXICON

    return _Lexicon(*LEXICON)


def read_lexicon() -> _Lexicon:
    """The lexicon read from the lists of all languages; ``lexicon/compiled.py`` is generated from it."""
    from importlib.resources import files

    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    lexicon = _Lexicon({}, {}, {}, {}, {}, {})
    entries: dict[str, dict[int, int]] = {}
    for place, language in enumerate(LANGUAGES):
        text = (files(__package__) / "lexicon" / f"{language}.toml").read_text(encoding="utf-8")
        bit = 1 << place
        for key, listed in tomllib.loads(text).items():
            kind = _KINDS[key]
            for entry in _fold(listed).replace("\n", " ").split(","):
                senses = entries.setdefault(entry.strip(), {})
                senses[bit] = senses.get(bit, 0) | kind
    for entry, senses in entries.items():
        kinds = 0
        for sense in senses.values():
            kinds |= sense
        meaning = kinds, sum(senses)
        if entry[0] > "\u3000":
            lexicon.pieces.setdefault(entry[0], []).append((entry, kinds))
        elif entry[0] == "*":
            lexicon.endings.setdefault(entry[-_HEAD:], []).append((entry[1:], meaning))
        elif " " in entry or "'" in entry[:-1]:
            _file_phrase(lexicon, entry, meaning)
        elif entry[-1] == "*":
            lexicon.stems.setdefault(entry[:_HEAD], []).append((entry[:-1], meaning))
        else:
            lexicon.words[entry] = meaning
            if len(set(senses.values())) > 1:
                lexicon.ambiguous[entry] = senses
    for stems in lexicon.stems.values():
        stems.sort(key=_longest_first)
    for pieces in lexicon.pieces.values():
        pieces.sort(key=_longest_first)
    for filed in lexicon.phrases.values():
        for phrases in filed.values():
            phrases.sort(key=_longest_first)
    return lexicon


def _longest_first(item: tuple[Sized, object]) -> int:
    return -len(item[0])


def _file_phrase(lexicon: _Lexicon, entry: str, meaning: tuple[int, int]) -> None:
    first, *rest = _TOKEN.findall(entry) if "'" in entry else entry.split(" ")
    if "'" in entry and entry.endswith("*"):
        rest[-2:] = [rest[-2] + "*"]
    if rest:
        filed = lexicon.phrases.setdefault(first, {})
        filed.setdefault(rest[0].rstrip("*")[:_HEAD], []).append((rest, meaning))
    else:
        lexicon.words[first] = meaning


def _continues(tokens: list[str], at: int, rest: list[str]) -> bool:
    """Whether the tokens from ``at`` are the rest of a phrase."""
    if at + len(rest) > len(tokens):
        return False
    for word in rest:
        token = tokens[at]
        if token != word and not (word[-1] == "*" and token.startswith(word[:-1])):
            return False
        at += 1
    return True


def _without_paths(text: str) -> str:
    """The text without addresses and paths: their names speak of nothing."""

    def plain(match: re.Match[str]) -> str:
        chunk = match.group()
        if chunk[:5].lower() == "http/":
            return chunk
        rooted = chunk.startswith(("/", "./", "../", "~/")) or "://" in chunk
        if "/" not in chunk[:-1] or not (rooted or "." in chunk[chunk.rfind("/") : -1]):
            return chunk
        return chunk[-1] if chunk[-1] in _ENDS else "_"

    return _PATH.sub(plain, text)


def _without_humps(tokens: list[str], lexicon: _Lexicon) -> list[str]:
    """The tokens with CamelCase parted, but for names of errors: NoCredentialsError denies nothing."""
    parted: list[str] = []
    for token in tokens:
        parts = token.split("\x1f")
        if len(parts) > 2 and lexicon.meaning(parts[-1])[0] & _FAILURE:
            del parts[:-1]
        parted += parts
    return [token for token in parted if token]


def _is_http_failure(number: str) -> bool:
    return len(number) == 3 and number[0] in "45" and number.isdigit()


class _Words:
    """A text as words: their kinds, and beside them their folded forms (a phrase has none)."""

    __slots__ = ("forms", "kinds")

    def __init__(self) -> None:
        self.kinds: list[int] = []
        self.forms: list[str] = []


def _words_of(text: str) -> _Words:
    """The words of a text; none when nothing in it could tell of a failure."""
    lexicon = _lexicon()
    if "/" in text:
        text = _without_paths(text)
    if text[1:] != text[1:].lower():
        text = _HUMP.sub("\x1f\\g<0>", text)
    tokens: list[str] = _TOKEN.findall(_fold(text))
    if "\x1f" in text:
        tokens = _without_humps(tokens, lexicon)
    words = _Words()
    add_kinds, add_form = words.kinds.append, words.forms.append
    listed, phrases, ambiguous = lexicon.words, lexicon.phrases, lexicon.ambiguous
    meaning_of = lexicon.meaning
    votes: dict[int, int] = {}
    doubtful: list[int] = []
    seen = at = 0
    while at < len(tokens):
        token = tokens[at]
        at += 1
        if token in _MUTE:
            continue
        if token in _ENDS or token[0].isspace() or token == "--":
            add_kinds(_STOP)
            add_form(token)
            continue
        if token[0] > "\u3000":
            seen |= _pieces_of(token, lexicon, words)
            continue
        kinds, languages = listed.get(token) or meaning_of(token)
        if token in phrases and at < len(tokens):
            for rest, meaning in phrases[token].get(tokens[at][:_HEAD], ()):
                if _continues(tokens, at, rest):
                    after = at + len(rest)
                    compound = kinds & _NONE and meaning[0] & _FAILURE and after < len(tokens)
                    if compound and meaning_of(tokens[after])[0] & _FAILURE:
                        break  # "no connection errors" is no "no connection"
                    token = _DENIES_ITSELF if kinds & (_NONE | _NEGATION) else ""
                    (kinds, languages), at = meaning, after
                    break
        if not kinds and token[:1].isdigit():
            kinds = _ZERO if not token.strip("0.,") else _NUMBER
            if _is_http_failure(token):
                seen |= _STATUS
        if token in ambiguous:
            doubtful.append(len(words.kinds))
        elif languages:
            votes[languages] = votes.get(languages, 0) + 1
        seen |= kinds
        add_kinds(kinds)
        add_form(token)
    if not seen & _TELLING:
        return _Words()
    senses = {form: _sense(ambiguous[form], votes) for form in {words.forms[place] for place in doubtful}}
    for place in doubtful:
        words.kinds[place] = senses[words.forms[place]]
    return words


def _pieces_of(run: str, lexicon: _Lexicon, words: _Words) -> int:
    """Appends the pieces of a run of Han or Kana, the longest first; what is between them has no kinds.

    Returns the kinds that were seen.
    """
    seen = at = 0
    while at < len(run):
        for piece, kinds in lexicon.pieces.get(run[at], ()):
            if run.startswith(piece, at):
                words.kinds.append(kinds)
                words.forms.append(piece)
                seen |= kinds
                at += len(piece)
                break
        else:
            words.kinds.append(0)
            words.forms.append(run[at])
            at += 1
    return seen


def _sense(senses: dict[int, int], votes: dict[int, int]) -> int:
    """The kinds of a word in the language that most words of the text are of, or in the first of such."""
    language = max(senses, key=lambda bit: sum(votes[languages] for languages in votes if languages & bit))
    return senses[language]


class _Reading:
    """Reads words in order and keeps what the clauses so far say."""

    def __init__(self, words: _Words) -> None:
        # A stop at the end spares every look ahead the question whether there is a next word.
        self.kinds = [*words.kinds, _STOP, _STOP]
        self.forms = [*words.forms, "", ""]
        self.failed = self.spoke = self.decided = False
        self.passing = self.loose = self.tally = self.numbers = False
        self.status = 0
        self.open(0, 0)

    # --- clauses

    def open(self, at: int, link: int) -> None:
        self.opened = at
        self.link = link
        self.marks = self.bad = self.good = self.negation = self.polar = 0
        self.bad_at = self.good_at = self.negation_at = self.number_at = self.able_at = _NEVER
        self.carry = self.finds_at = self.polar_at = _NEVER
        self.unable = self.counted_bad = self.counted_good = self.numbered = self.repaired = self.zero = False

    def close(self) -> None:
        """Weighs the clause that ends here against what was said before."""
        bad = self.bad or (_FAILURE if self.unable else 0)
        if bad and self.takes_back(bad):
            bad, self.good = 0, _SUCCESS
        if bad:
            self.close_bad()
        elif self.good and not self.marks & _HEDGE:
            tied = self.link & _LINKS or self.marks & _AGAIN or self.passing or self.loose
            if self.good & _SUCCESS:
                overrides = tied or not (self.tally and self.counted_good)
            elif self.good & _DONE:
                overrides = bool(tied)
            else:
                overrides = bool(self.link & _SEQUENCE or self.marks & _AGAIN or self.passing or self.loose)
            if overrides:
                self.failed = False
            self.decided = True
        elif self.failed and self.passing and not self.marks & _HEDGE:
            self.loose = self.loose or bool(self.marks & _AGAIN)
            if self.numbered and (self.loose or self.link & _LINKS):
                self.failed = False
        self.numbers = self.numbers or self.numbered

    def takes_back(self, bad: int) -> bool:
        """Whether the clause tells of a failure only as of something that was overcome."""
        if self.repaired and not self.unable:
            return True
        passing, looks_back = bool(self.marks & _AT_FIRST), bool(self.link & _AFTER)
        if self.good & _SUCCESS and bad == _ACT:
            return True
        if self.good_at < self.bad_at:
            return False
        if self.good & _SUCCESS and (passing or looks_back):
            return True
        return bool(self.link & _DESPITE) or (passing and looks_back)

    def close_bad(self) -> None:
        if self.link & (_AFTER | _DESPITE):
            if not self.decided and not (self.link & _DESPITE and self.numbers):
                self.failed = self.passing = self.loose = True
            return
        self.failed = self.decided = True
        self.passing, self.loose = bool(self.marks & _AT_FIRST), False
        self.tally = self.counted_bad and not self.marks & (_AT_FIRST | _AGAIN)

    def kept_link(self, at: int) -> int:
        """What the word that opened the clause still says of the next: "but, as it is, it worked"."""
        polar = self.bad or self.good or self.unable
        return self.link & _LINKS if not polar and at - self.opened <= 3 else 0

    # --- words

    def read(self) -> None:
        for at in range(len(self.kinds) - 1):
            kinds = self.kinds[at]
            if self.status and self.forms[at] not in _PASSES and not kinds & (_STATUS | _EXIT | _NUMBER):
                self.status = 0
            if not kinds:
                continue
            if kinds & _STOP:
                link = self.kept_link(at)
                self.close()
                self.open(at, link)
                continue
            if kinds & _OPENS:
                link = self.kept_link(at)
                self.close()
                self.open(at, link | kinds & _OPENS)
            self.marks |= kinds & _MARKS
            if kinds & (_NUMBER | _COUNT):
                self.number(at, kinds)
            if kinds & (_STATUS | _EXIT):
                self.status |= kinds & (_STATUS | _EXIT)
            if kinds & _NOT_FAILURE:
                self.spoke = True
            if kinds & (_NEGATION_AFTER | _NONE_AFTER) and self.turn_before(at, kinds):
                continue
            if kinds & (_ABLE | _UNABLE):
                self.ability(at, kinds)
            if kinds & _BAD:
                self.failure(at, kinds)
            elif kinds & _GOOD:
                self.success(at, kinds)
            if kinds & (_NEGATION | _NONE):
                self.negate(at, kinds)
            elif kinds & _JOIN:
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
        if not kinds & _NUMBER:
            return
        told = self.status
        if not told and forms[at - 1] in _ARTICLES:
            told = _STATUS
        if not self.kinds[at + 1] and follows not in _FOLLOWS_STATUS:
            told &= ~_STATUS  # "got 404 rows"
        if (told & _EXIT and form.isdigit()) or (told & _STATUS and _is_http_failure(form)):
            self.fail(at, _FAILURE)
            self.number_at, self.counted_bad = _NEVER, False
        elif not form[-1].isalpha() and follows not in _UNITS:
            self.numbered = True

    def negate(self, at: int, kinds: int) -> None:
        reach = 6 if kinds & _NEGATION_AFTER else 1 if kinds & _NEGATION else 3
        is_zero = self.forms[at].startswith("0")
        if at - self.able_at <= reach and not is_zero:
            self.unable, self.finds_at, self.spoke = True, _NEVER, True
            if kinds & _NEGATION:
                return
        self.negation, self.negation_at, self.zero = kinds & (_NEGATION | _NONE), at, is_zero

    def turn_before(self, at: int, kinds: int) -> bool:
        """Whether the word denied what stands before it: エラーなし, antwortet nicht."""
        between = self.forms[self.polar_at + 1 : at] if at - self.polar_at <= 8 else None
        if not self.polar or between is None:
            return False
        if self.polar & _GOOD:
            return bool(kinds & _NEGATION_AFTER) and len(between) <= 4 and self.turn_good(at)
        if not kinds & _NONE_AFTER or not _CASES.isdisjoint(between):
            return False
        self.bad, self.bad_at, self.polar = 0, _NEVER, 0
        self.good |= _NONE
        return True

    def turn_good(self, at: int) -> bool:
        self.good = self.polar = 0
        self.fail(at, _FAILURE)
        return True

    def ability(self, at: int, kinds: int) -> None:
        if kinds & _UNABLE or (self.active(at) & _NEGATION and at - self.negation_at <= 3):
            self.unable, self.spoke, self.negation = True, True, 0
            self.finds_at = _NEVER
        else:
            self.able_at = at

    def success(self, at: int, kinds: int) -> None:
        negation = self.active(at)
        if negation & _NEGATION or (negation & _NONE and kinds & _SUCCESS and not self.zero):
            if kinds & _FINDS:
                self.unable, self.finds_at, self.spoke, self.negation = True, at, True, 0
            else:
                self.fail(at, _FAILURE)
            self.polar = 0
            return
        if negation:
            return
        if self.unable:
            if kinds & _FINDS:
                self.finds_at = at
            return
        value = self.value_after(at)
        if value & _NOTHING and (self.forms[at + 1] in (":", "=") or value & _NEGATION):
            if value != _ZERO:
                self.fail(at, _FAILURE)
            return
        self.good |= _SUCCESS if kinds & _SUCCESS else _DONE
        self.good_at = self.polar_at = at
        self.polar = kinds & _GOOD
        self.repaired = self.repaired or bool(kinds & _REPAIR)
        if at - self.number_at <= 2 or value & _NUMBER:
            self.counted_good = True

    def failure(self, at: int, kinds: int) -> None:
        self.spoke = True
        if self.forms[at] == _DENIES_ITSELF:
            self.fail(at, kinds & _BAD)
            return
        negation = self.active(at)
        if negation and not (kinds & _ACT and self.unable):
            self.deny(at)
            if negation & _NONE:
                self.unable = False
            return
        near = at - self.finds_at
        if self.unable and (near == 1 or (near <= 3 and self.forms[at - 1] in _ANY)):
            self.unable = False
            self.deny(at)
            return
        value = self.value_after(at)
        if value & _NOTHING:
            self.deny(at)
            return
        if kinds & _SETTING and value & _NUMBER and self.is_setting(at + 1):
            return
        self.fail(at, kinds & _BAD)
        self.polar, self.polar_at = kinds & _BAD, at
        if value & _NUMBER:
            self.counted_bad = True

    def is_setting(self, sign: int) -> bool:
        """Whether sign and number give a parameter: "timeout=30", but not "Timeout: 30 s"."""
        number, unit = self.forms[sign + 1], self.forms[sign + 2]
        return self.forms[sign] == "=" or (number.isdigit() and unit not in _UNITS)

    def deny(self, at: int) -> None:
        self.good |= _NONE
        self.carry = at
        self.negation = self.polar = 0

    def value_after(self, at: int) -> int:
        """The kinds of the value given to the word, 0 when none is: "errors: 0", "failed tests = 3"."""
        kinds, forms = self.kinds, self.forms
        sign = at + 1
        last = min(at + 3, len(kinds) - 2)
        while sign < last and not kinds[sign] & (_STOP | _NOTHING | _NUMBER):
            sign += 1
        if forms[sign] in (":", "="):
            value = sign + 1
            if forms[value] in (",", "}") or (forms[value] in ("[", "{") and forms[value + 1] in ("]", "}")):
                return _NOTHING
        elif sign == at + 1 or (kinds[sign] == _ZERO and forms[at + 1] > "\u3000"):
            value = sign
        else:
            return 0
        if kinds[value] & _NOTHING and not forms[value].startswith("0"):
            closed = kinds[value + 1] & (_STOP | _FINDS | _JOIN) and forms[value + 1] not in (":", "=")
            return kinds[value] if closed or forms[sign] == "=" else 0
        return kinds[value]

    def join(self, at: int) -> None:
        if 0 < at - self.carry <= 2:
            self.negation, self.negation_at, self.zero = _NONE, at, False
        elif self.bad or self.good:
            link = self.link & _LINKS
            self.close()
            self.open(at, link)


def _read(text: str) -> _Reading:
    reading = _Reading(_words_of(text))
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
