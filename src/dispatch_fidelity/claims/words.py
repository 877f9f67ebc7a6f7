"""The words of a text and what each says about the outcome of a call; the lists are in ``lexicon/``.

The text is folded (case, accents, widths, apostrophes) and cut into words; runs of Han and Kana are matched
piece by piece. Each word gets its kinds, which ``lexicon/en.toml`` explains.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Sized
from functools import lru_cache
from typing import NamedTuple

LANGUAGES = ("en", "de", "fr", "es", "pt", "zh", "ja")

# The kinds are bits, in the order in which en.toml explains them.
_NAMES = (
    "failure", "act", "setting", "success", "done", "finds", "able", "unable", "repair", "negation",
    "negation_after", "none", "none_after", "nothing", "contrast", "sequence", "clause", "after",
    "despite", "join", "at_first", "again", "hedge", "count", "status", "exit", "not_failure",
    "not_success", "plain", "undoes", "state", "acted", "head", "weak_head", "work", "tells", "holds",
    "category", "moves",
)  # fmt: skip
# The common kinds come first: Python is quicker at small numbers.
KINDS = {name: 1 << place + 2 * (place > 28) for place, name in enumerate(_NAMES)}
(
    FAILURE, ACT, SETTING, SUCCESS, DONE, FINDS, ABLE, UNABLE, REPAIR, NEGATION,
    NEGATION_AFTER, NONE, NONE_AFTER, NOTHING, CONTRAST, SEQUENCE, CLAUSE, AFTER,
    DESPITE, JOIN, AT_FIRST, AGAIN, HEDGE, COUNT, STATUS, EXIT, NOT_FAILURE,
    NOT_SUCCESS, PLAIN, UNDOES, STATE, ACTED, HEAD, WEAK_HEAD, WORK, TELLS, HOLDS,
    CATEGORY, MOVES,
) = KINDS.values()  # fmt: skip
NUMBER = 1 << 29  # a number above zero
STOP = 1 << 30  # a mark that ends a clause
QUOTED = 1 << 42  # stands alone in quotes

BAD = FAILURE | ACT | SETTING
ZERO = NONE | NOTHING
# These say nothing of the outcome by themselves.
TOPICAL = STATE | ACTED | HEAD | WEAK_HEAD | WORK | TELLS | HOLDS | CATEGORY | MOVES | QUOTED
# Without one of these no clause can be bad, and the text does not speak of failure either.
TELLING = BAD | UNABLE | NEGATION | NEGATION_AFTER | NONE | NOTHING | STATUS | EXIT | NOT_FAILURE
DENIES_ITSELF = "no …"  # the form of a phrase such as "no response", which no other negation turns
FILED_BY = 3  # letters by which stems and endings are filed


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
# Compiled by the first text that needs it: most have no humps.
_HUMP = r"[A-Z](?:(?<=[a-z0-9.][A-Z])|(?<=[A-Z][A-Z])(?=[a-z]))"
_TOKEN = re.compile(
    r"(?:[cdjlmnst]|(?:jus|lors|puis)?qu)'(?=[a-z])"  # elided words: d'erreur, n'existe
    r"|\d+(?:[.,]\d+)*(?![a-z0-9])"
    r"|[a-z0-9]+(?:[.\x1f][a-z0-9]+)*(?:'t(?![a-z]))?"
    r"|[\u3040-\u30ff\u3400-\u9fff]+"
    r"|\s[-\u2013\u2014]+\s|--|\n|[^\s_-]"
)
_ENDS = frozenset(".!?;:()[]{}|\n,。、…·•→=—–")
_MUTE = frozenset("\"'*`#<>%$~\\^“”„«»「」『』@+")
_QUOTES = frozenset("\"'*`“”„«»「」『』")


def _fold(text: str) -> str:
    return text.lower() if text.isascii() else text.translate(_FOLDING).lower()


class Lexicon(NamedTuple):
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
        for stem, meaning in self.stems.get(word[:FILED_BY], ()):
            if word.startswith(stem):
                return meaning
        for ending, meaning in self.endings.get(word[-FILED_BY:], ()):
            if word.endswith(ending):
                return meaning
        if "." in word:  # socket.timeout, but not error.log
            return self.words.get(word[word.rindex(".") + 1 :], (0, 0))
        return 0, 0


@lru_cache(maxsize=1)
def load_lexicon() -> Lexicon:
    """The lexicon as it was compiled; loading it costs a tenth of reading the lists."""
    from .lexicon.compiled import LEXICON

    return Lexicon(*LEXICON)


def read_lexicon() -> Lexicon:
    """The lexicon read from the lists of all languages; ``lexicon/compiled.py`` is generated from it."""
    from importlib.resources import files

    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    lexicon = Lexicon({}, {}, {}, {}, {}, {})
    entries: dict[str, dict[int, int]] = {}
    for place, language in enumerate(LANGUAGES):
        text = (files(__package__) / "lexicon" / f"{language}.toml").read_text(encoding="utf-8")
        bit = 1 << place
        for key, listed in tomllib.loads(text).items():
            kind = KINDS[key]
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
            lexicon.endings.setdefault(entry[-FILED_BY:], []).append((entry[1:], meaning))
        elif " " in entry or "'" in entry[:-1]:
            _file_phrase(lexicon, entry, meaning)
        elif entry[-1] == "*":
            lexicon.stems.setdefault(entry[:FILED_BY], []).append((entry[:-1], meaning))
        else:
            lexicon.words[entry] = meaning
            if len(set(senses.values())) > 1:
                lexicon.ambiguous[entry] = senses
    for stems in lexicon.stems.values():
        stems.sort(key=_longest_first)
    _inherit(lexicon)
    for pieces in lexicon.pieces.values():
        pieces.sort(key=_longest_first)
    for filed in lexicon.phrases.values():
        for phrases in filed.values():
            phrases.sort(key=_longest_first)
    return lexicon


def _inherit(lexicon: Lexicon) -> None:
    """Adds the kinds of its stem to a word that is listed for its topic alone: "declined" beside ``declin*``."""
    for word, (kinds, languages) in lexicon.words.items():
        if not kinds & ~TOPICAL and word not in lexicon.ambiguous:
            for stem, (more, others) in lexicon.stems.get(word[:FILED_BY], ()):
                if word.startswith(stem):
                    lexicon.words[word] = kinds | more, languages | others
                    break


def _longest_first(item: tuple[Sized, object]) -> int:
    return -len(item[0])


def _file_phrase(lexicon: Lexicon, entry: str, meaning: tuple[int, int]) -> None:
    first, *rest = _TOKEN.findall(entry) if "'" in entry[:-1] else entry.split(" ")
    if "'" in entry and entry.endswith("*"):
        rest[-2:] = [rest[-2] + "*"]
    if rest:
        filed = lexicon.phrases.setdefault(first, {})
        filed.setdefault(rest[0].rstrip("*")[:FILED_BY], []).append((rest, meaning))
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

    return re.sub(r"\S+", plain, text)


def _without_humps(tokens: list[str], lexicon: Lexicon) -> list[str]:
    """The tokens with CamelCase parted, but for names of errors: NoCredentialsError denies nothing."""
    parted: list[str] = []
    for token in tokens:
        parts = token.split("\x1f")
        if len(parts) > 2 and lexicon.meaning(parts[-1])[0] & FAILURE:
            del parts[:-1]
        parted += parts
    return [token for token in parted if token]


def is_http_failure(number: str) -> bool:
    """Whether the number is an HTTP status of a failure."""
    return len(number) == 3 and number[0] in "45" and number.isdigit()


class Words:
    """A text as words: their kinds, and beside them their folded forms (a phrase has none)."""

    __slots__ = ("forms", "kinds", "seen")

    def __init__(self) -> None:
        self.kinds: list[int] = []
        self.forms: list[str] = []
        self.seen = 0  # all kinds of all words


def words_of(text: str) -> Words:
    """The words of a text; none when nothing in it could tell of a failure."""
    lexicon = load_lexicon()
    if "/" in text:
        text = _without_paths(text)
    if text[1:] != text[1:].lower():
        text = re.sub(_HUMP, "\x1f\\g<0>", text)
    tokens: list[str] = _TOKEN.findall(_fold(text))
    if "\x1f" in text:
        tokens = _without_humps(tokens, lexicon)
    words = Words()
    add_kinds, add_form = words.kinds.append, words.forms.append
    listed, phrases, ambiguous = lexicon.words, lexicon.phrases, lexicon.ambiguous
    meaning_of = lexicon.meaning
    votes: dict[int, int] = {}
    doubtful: list[int] = []
    quotes = not _QUOTES.isdisjoint(tokens)
    seen = at = 0
    while at < len(tokens):
        token = tokens[at]
        at += 1
        if token in _MUTE:
            continue
        if token in _ENDS or token[0].isspace() or token == "--":
            add_kinds(STOP)
            add_form(token)
            continue
        if token[0] > "\u3000":
            seen |= _pieces_of(token, lexicon, words, QUOTED if quotes and _is_quoted(tokens, at) else 0)
            continue
        kinds, languages = listed.get(token) or meaning_of(token)
        if token in phrases and at < len(tokens):
            for rest, meaning in phrases[token].get(tokens[at][:FILED_BY], ()):
                if _continues(tokens, at, rest):
                    after = at + len(rest)
                    compound = kinds & NONE and meaning[0] & FAILURE and after < len(tokens)
                    if compound and meaning_of(tokens[after])[0] & FAILURE:
                        break  # "no connection errors" is no "no connection"
                    token = DENIES_ITSELF if kinds & (NONE | NEGATION) else ""
                    (kinds, languages), at = meaning, after
                    break
        if not kinds and token[:1].isdigit():
            kinds = ZERO if not token.strip("0.,") else NUMBER
            if is_http_failure(token):
                seen |= STATUS
        if quotes and _is_quoted(tokens, at):
            kinds |= QUOTED
        if token in ambiguous:
            doubtful.append(len(words.kinds))
        elif languages:
            votes[languages] = votes.get(languages, 0) + 1
        seen |= kinds
        add_kinds(kinds)
        add_form(token)
    if not seen & TELLING:
        return Words()
    senses = {form: _sense(ambiguous[form], votes) for form in {words.forms[place] for place in doubtful}}
    for place in doubtful:
        words.kinds[place] = senses[words.forms[place]] | words.kinds[place] & QUOTED
    words.seen = seen
    return words


def _is_quoted(tokens: list[str], at: int) -> bool:
    """Whether the token before ``at`` stands alone in quotes."""
    return 1 < at < len(tokens) and tokens[at] in _QUOTES and tokens[at - 2] in _QUOTES


def _pieces_of(run: str, lexicon: Lexicon, words: Words, quoted: int) -> int:
    """Appends the pieces of a run of Han or Kana, the longest first; what is between them has no kinds.

    Returns the kinds that were seen.
    """
    seen, at = quoted, 0
    while at < len(run):
        for piece, kinds in lexicon.pieces.get(run[at], ()):
            if run.startswith(piece, at):
                words.kinds.append(kinds | quoted)
                words.forms.append(piece)
                seen |= kinds
                at += len(piece)
                break
        else:
            words.kinds.append(quoted)
            words.forms.append(run[at])
            at += 1
    return seen


def _sense(senses: dict[int, int], votes: dict[int, int]) -> int:
    """The kinds of a word in the language that most words of the text are of, or in the first of such."""
    language = max(senses, key=lambda bit: sum(votes[languages] for languages in votes if languages & bit))
    return senses[language]
