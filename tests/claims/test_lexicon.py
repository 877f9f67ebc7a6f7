"""The word lists: each entry can be found, and what is loaded is what the lists say."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from dispatch_fidelity.claims import words
from dispatch_fidelity.claims.lexicon import compiled

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLDER = Path(words.__file__).parent / "lexicon"


def entries() -> Iterator[tuple[str, str, str]]:
    """Language, kind and text of each entry of each list."""
    for path in sorted(FOLDER.glob("*.toml")):
        for kind, text in tomllib.loads(path.read_text("utf-8")).items():
            for entry in text.replace("\n", " ").split(","):
                yield path.stem, kind, entry.strip()


def instance(entry: str) -> str:
    """Text that the entry stands for."""
    if entry.startswith("*"):
        return f"zz{entry[1:]}"
    return entry.replace("*", "zz") + ("elle" if entry.endswith("'") else "")


def kinds_in(text: str) -> int:
    """All kinds that the words of a text may have; a failure at its end keeps the rest from being passed over."""
    found = words.words_of(f"{text} . failed")
    kinds = 0
    for kind, form in zip(found.kinds[:-2], found.forms, strict=False):
        for meaning in (kind, *words.load_lexicon().ambiguous.get(form, {}).values()):
            kinds |= meaning
    return kinds


def test_the_compiled_lexicon_is_the_one_of_the_lists() -> None:
    assert tuple(words.read_lexicon()) == compiled.LEXICON


def test_every_list_is_of_a_known_kind_and_every_kind_has_a_list() -> None:
    assert {kind for _, kind, _ in entries()} == set(words.KINDS)


def test_every_language_has_its_lists() -> None:
    assert {language for language, _, _ in entries()} == set(words.LANGUAGES)


def test_stems_and_endings_are_as_long_as_what_they_are_filed_by() -> None:
    for language, _, entry in entries():
        for word in entry.split():
            assert "*" not in word or len(word) > words.FILED_BY, (language, entry)


def test_every_entry_gives_its_kind_to_the_words_it_stands_for() -> None:
    unused = [
        (language, kind, entry)
        for language, kind, entry in entries()
        if not kinds_in(instance(entry)) & words.KINDS[kind]
    ]
    assert unused == []


def test_a_word_listed_for_its_topic_keeps_the_kinds_of_its_stem() -> None:
    assert kinds_in("declined") & words.ACT
    assert kinds_in("declined") & words.MOVES


def test_a_word_is_compared_with_few_entries() -> None:
    filed = words.load_lexicon()
    assert max(len(found) for seconds in filed.phrases.values() for found in seconds.values()) <= 12
    assert max(len(pieces) for pieces in filed.pieces.values()) <= 100
