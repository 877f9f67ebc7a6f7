"""What the words of a claim or of a tool say of effects, counts, values and units, and where they say nothing."""

from __future__ import annotations

import pytest

from dispatch_fidelity.claims.effects import (
    claimed_effects,
    denied_effects,
    spelled_unit,
    stated_value,
    whole_count,
)


@pytest.mark.parametrize(
    ("text", "group"),
    [
        ("Updated the row.", "u"),
        ("I deleted the entry and left.", ""),
        ("I deleted the entry.", "d"),
        ("The file was successfully created.", "c"),
        ("Changes committed.", "k"),
        ("We've merged the branch", "g"),
        ("Die Datei wurde umbenannt.", "r"),
        ("Ich habe das Paket installiert.", "i"),
        ("J'ai supprimé les fichiers.", "d"),
        ("La page a été mise à jour.", "u"),
        ("Se eliminó el registro.", "d"),
        ("O arquivo foi criado.", "c"),
    ],
)
def test_an_effect_stated_as_done_has_its_group(text: str, group: str) -> None:
    assert "".join(claimed_effects(text)) == group


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Ran the update.",
        "The update ran.",
        "The deleted rows are listed in the log.",
        "Deleted files are in the trash.",
        "The cache is cleared.",
        "Nothing was updated.",
        "It wasn't updated.",
        "Tried to have it deleted.",
        "The row that was updated yesterday.",
        "The row was already updated.",
        "Nichts wurde gelöscht.",
        "Rien n'a été supprimé.",
        "Updated the row. " * 100,
    ],
)
def test_a_text_in_doubt_states_no_effect(text: str) -> None:
    assert claimed_effects(text) == {}


@pytest.mark.parametrize(
    ("text", "group"),
    [
        ("0 rows affected", "u"),
        ("Nothing to do.", "u"),
        ("nothing to commit, working tree clean", "k"),
        ('{"deleted":0}', "d"),
        ('{"insertedCount":0}', "c"),
        ("Everything up-to-date", "g"),
        ("deployment.apps/web unchanged", "u"),
        ("0 added, 0 changed, 0 destroyed", "c"),
        ("INSERT 0 0", "c"),
        ("changed=0", "u"),
        ("No files were deleted.", "d"),
    ],
)
def test_a_tool_that_did_nothing_denies_the_effect(text: str, group: str) -> None:
    assert group in denied_effects(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ok",
        "1 row affected",
        '{"deleted":0,"created":2}',
        "UPDATE 3",
        '{"updated_at":"2026-01-02"}',
        "Changes to be committed: new file",
        "2 files changed, 0 deletions",
        "Updated the index; nothing else to do",
        "the list of users",
        "0 rows affected\n" * 100,
    ],
)
def test_a_tool_that_did_something_denies_nothing(text: str) -> None:
    assert denied_effects(text) == ""


def test_one_denied_effect_denies_no_other() -> None:
    assert denied_effects('{"deleted":0}') == "d"


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("There are 181 records.", (181, "record", True)),
        ("5 users: Ana, Bo", (5, "user", False)),
        ("Found 1,204 customers in total", (1204, "customer", False)),
        ("Hay 12 registros.", (12, "registro", True)),
        ("There are 7 files in the folder.", (7, "file", True)),
    ],
)
def test_a_plain_count_is_of_the_whole(text: str, count: tuple[int, str, bool]) -> None:
    assert whole_count(text) == count


@pytest.mark.parametrize(
    "text",
    [
        "",
        "12 open issues",
        "12 of 30 issues",
        "12 issues are open",
        "at least 12 issues",
        "the first 12 rows",
        "12 pages",
        "12 seconds",
        "12.5 rows",
        "page 3",
        "12 rows on 3 pages",
        "12 rows with a typo",
    ],
)
def test_a_count_of_a_part_or_of_something_else_is_none(text: str) -> None:
    assert whole_count(text) is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("The owner is Mira Holm.", "Mira Holm"),
        ("The owner is J. Holm.", "J. Holm"),
        ("Owner: Ludwig van Beethoven", "Ludwig van Beethoven"),
        ("The title is “Winter”.", "Winter"),
        ("Found Ana Ruiz.", "Ana Ruiz"),
    ],
)
def test_a_stated_value_is_found(text: str, value: str) -> None:
    assert stated_value(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "The owner is not known.",
        "The status is Active.",
        "Status: OK",
        "The file is saved.",
        "Die Ausgabe ist Unsinn.",
        "The Owner field was read.",
        "The format is CSV.",
        "Done: True",
    ],
)
def test_a_remark_states_no_value(text: str) -> None:
    assert stated_value(text) == ""


@pytest.mark.parametrize(
    ("word", "symbol"),
    [("Kilobytes", "KB"), ("Sekunden", "s"), ("dólares", "$"), ("heures", "h"), ("rows", "")],
)
def test_a_spelled_out_unit_has_its_symbol(word: str, symbol: str) -> None:
    assert spelled_unit(word) == symbol
