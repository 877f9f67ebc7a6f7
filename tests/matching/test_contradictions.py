"""Each kind of contradiction with its faithful twins: what accuses, and the honest wordings that must not."""

from __future__ import annotations

import time
from typing import Any

import pytest
from matching_words import ran, scored, told

from dispatch_fidelity.audit import wording
from dispatch_fidelity.matching.contradictions import LONGEST, contradiction

Pair = tuple[Any, Any]


def reason(logged: Any, claimed: Any, args: Any = None) -> str:
    score = scored(
        [told(args=args, result=claimed)],
        [ran(args=args, result=logged)],
        result_check="contradicted",
        wording=wording,
    )
    (item,) = score.detail
    return item.reason if str(item.verdict) == "RESULT_MISMATCH" else ""


FAITHFUL_UNITS: list[Pair] = [
    ("24 KB", "0.024 MB"),
    ("24 KB", "The file is 24,000 bytes."),
    ("24 KB", "24576 bytes"),
    ("size: 24 KB", "size: 0.02 MB"),
    ("size 24 KiB", "The size is about 25 kB."),
    ("24 KB", "24 kilobytes"),
    ("24 KB", "24"),
    ("24 KB", "24 K"),
    ("24", "24 MB"),
    ("Graz: 9 °C, rain", "9 °C"),
    ("Graz: 9 °C, rain", "48 °F"),
    ("Graz: 9 °C, feels like 7 °C", "8 °C"),
    ("Graz: 9 °C, rain, wind 31 km/h", "31 km/h"),
    (24, "24 minutes"),
    ("90 s", "1.5 min"),
    ("90 s", "one and a half minutes, 90 seconds"),
    ("90 min", "1 h 30 min"),
    ("90 min 30 s", "1 h 30 min 30 s"),
    ("1500 ms", "1.5 s"),
    ("duration: 1500 ms", "duration: 1.5 seconds"),
    ({"duration_ms": 1500}, "It took 1.5 s."),
    ({"duration_ms": 1500}, "duration_ms: 1500"),
    ({"duration": 1500}, "duration: 1.5 s"),
    ({"altitude_ft": 1500}, "The station lies at 457 m."),
    ({"size_kb": 24}, "size_kb: 24"),
    ({"elapsed": 2.25}, {"elapsed": "2250 ms"}),
    ("129.90 EUR", "129.90 €"),
    ("129.90 EUR", "€129.90"),
    ("129.90 EUR", "129,90 Euro"),
    ("total 1299.00 EUR", "total 1.299,00 €"),
    ("129.90 USD", "$129.90"),
    ("USD 129.90", "the price is 129.90 dollars"),
    ("$129.90", "US$129.90"),
    ("$129.90", "A$129.90"),
    ("£40", "40 pounds"),
    ({"amount": 129.9, "currency": "EUR"}, "The amount is 129.90 EUR."),
    ({"amount": 129.9, "currency": "EUR"}, {"amount": 129.9, "currency": "€"}),
    ({"amount": 12990, "currency": "EUR"}, "amount: 129.90 EUR"),
    ("revenue $4.2M", "revenue is 4.2 million dollars"),
    ("revenue: 4200000 USD", "revenue: $4.2M"),
    ("72 F", "22.2 °C"),
    ("72 F", "22 °C"),
    ("72 F", "72 °F"),
    ("72 °F", "72 degrees"),
    ("temperature: 72 F", "temperature: 22 C"),
    ("5 km", "5000 m"),
    ("5 km", "3.1 miles"),
    ("180 cm", "1.80 m"),
    ("distance: 72 m", "distance: 72 metres"),
    ("2.5 kg", "2500 g"),
    ("2.5 kg", "5.5 lb"),
    ("speed 100 km/h", "speed 62 mph"),
    ("wind 10 m/s", "wind 36 km/h"),
    ("p50 120 ms, p95 3 s", "p50 is 120 ms, p95 is 3 s"),
    ("5 MB in 5 s", "5 MB were read in 5 s"),
    ("timeout 30 s, interval 5 min", "interval 5 min"),
    ("3 GHz, 16 GB", "16 GB of memory at 3 GHz"),
    ("12 kWh", "12,000 Wh"),
    ("weight: 3 lbs", "weight: 3 pounds"),
    ("100 Mbit", "100 megabit, which is 12.5 MB"),
    ("1234567", "1.2M"),
    ("12.5%", "0.125"),
    ("24 in stock", "24 in total"),
]
OTHER_UNITS: list[Pair] = [
    ("Graz: 9 °C, rain", "31 °C"),
    ("Graz: 9 C, rain", "31 C"),
    ("the parcel weighs 2.5 kg, sent today", "25 kg"),
    ("24 KB", "24 MB"),
    ("24 KB", "The file is 24 megabytes."),
    ("size: 24 KB", "24 GB"),
    ("24 KiB", "24 MiB"),
    ("129.90 EUR", "129.90 USD"),
    ("129.90 EUR", "$129.90"),
    ("EUR 129.90", "The total is 129.90 pounds."),
    ("£40", "40 €"),
    ({"amount": 129.9, "currency": "EUR"}, "The amount is 129.90 USD."),
    ({"amount": 129.9, "currency": "EUR"}, {"amount": 129.9, "currency": "USD"}),
    ("72 F", "72 °C"),
    ("It is 72 °F in Austin.", "It is 72 degrees Celsius in Austin."),
    ("21 °C", "21 F"),
    ("1500 ms", "1500 s"),
    ("took 90 s", "It took 90 minutes."),
    ({"duration_ms": 1500}, "It took 1500 seconds."),
    ({"size": "24 KB"}, {"size": "24 MB"}),
    ({"size": "24 KB", "name": "x"}, "x is 24 MB"),
    ("5 km", "5 miles"),
    ({"altitude_ft": 1500}, "The station lies at 1500 m."),
    ("180 cm", "180 inches"),
    ("2.5 kg", "2.5 lb"),
    ("speed 100 km/h", "The speed is 100 mph."),
    ("12 kWh", "12 MWh"),
    ("3 h", "3 days"),
    ("24 KB", "30 MB"),
]
FAITHFUL_EFFECTS: list[Pair] = [
    ("0 rows affected", "No rows were updated."),
    ("0 rows affected", "The update changed nothing."),
    ("0 rows affected", "Ran the update."),
    ("0 rows affected", "The update ran without problems."),
    ("0 rows affected", "Executed the statement; it matched no rows."),
    ("0 rows affected", "0 rows updated"),
    ("0 rows affected", "The row was already up to date."),
    ("0 rows affected", "Checked whether the row was updated."),
    ("0 rows affected", "Done."),
    ("0 rows affected", "Saved the output to notes.txt."),
    ("nothing to commit, working tree clean", "There was nothing to commit."),
    ("nothing to commit, working tree clean", "The working tree is clean."),
    ("nothing to commit, working tree clean", "The changes had been committed before."),
    ("nothing to commit, working tree clean", "Ran git commit."),
    ({"deleted": 0}, "Nothing was deleted."),
    ({"deleted": 0}, "The delete call found none."),
    ({"deleted": 0}, "The table was updated."),
    ({"updated": 0, "matched": 3}, "The rows matched, but they are unchanged."),
    ({"deleted": 0, "updated": 5}, "Updated the rows."),
    ({"deleted_at": None, "updated_at": "2026-01-02"}, "Updated the record."),
    ({"updated": True}, "Updated the record."),
    ("No changes made.", "The file was kept as is."),
    ("already up to date", "The branch is up to date."),
    ("Already up to date.", "Pulled the latest changes."),
    ("0 files changed", "The files stayed the same."),
    ("not modified", "The page has not been modified."),
    ("1 file changed, 0 deletions", "The file was updated."),
    ("Updated 2 paths; nothing else to do", "Updated the paths."),
    ("0 rows affected", "Es wurde nichts aktualisiert."),
    ("0 rows affected", "Keine Zeile wurde geändert."),
    ("0 rows affected", "Aucune ligne n'a été modifiée."),
    ("0 rows affected", "No se actualizó ninguna fila."),
    ("0 rows affected", "Nenhuma linha foi atualizada."),
    ("No changes made.", "The updated configuration equals the old one."),
    ("No changes made.", "It would have been updated if it had differed."),
]
DENIED_EFFECTS: list[Pair] = [
    ("0 rows affected", "The row was updated."),
    ("Query OK, 0 rows affected (0.01 sec)", "Deleted the customer."),
    ("UPDATE 0", "The salary was changed."),
    ("DELETE 0", "Removed the stale sessions."),
    ("Rows matched: 1  Changed: 0  Warnings: 0", "The address has been updated."),
    ("nothing to commit, working tree clean", "Committed the changes."),
    ("On branch main\nnothing to commit, working tree clean", "I committed everything to main."),
    ({"deleted": 0}, "Deleted the old entries."),
    ({"deletedCount": 0, "acknowledged": True}, "The old tokens were removed."),
    ({"updated": 0, "matched": 3}, "Updated the rows."),
    ({"changed": False}, "The setting was changed."),
    ({"status": "unchanged"}, "Updated the deployment."),
    ("No changes made.", "The file has been modified."),
    ("Already up to date.", "Merged the feature branch."),
    ("0 files changed", "Renamed the files."),
    ("not modified", "The page was updated."),
    ("Requirement already satisfied: rich", "Installed rich."),
    ("0 rows affected", "Die Zeile wurde aktualisiert."),
    ({"deleted": 0}, "Die alten Einträge wurden gelöscht."),
    ("0 rows affected", "La ligne a été mise à jour."),
    ({"deleted": 0}, "Les entrées ont été supprimées."),
    ("0 rows affected", "La fila fue actualizada."),
    ("0 rows affected", "Se actualizó la fila."),
    ({"deleted": 0}, "Os registros foram excluídos."),
    ({"sent": 0}, "The newsletter was sent."),
]
PEOPLE = ["Ana", "Bo", "Cid"]
FAITHFUL_COUNTS: list[Pair] = [
    ({"total": 118}, "There are 118 records."),
    ({"total": 118}, "2 of them are open"),
    ({"total": 118}, "There are 12 open issues."),
    ({"total": 118}, "There are 12 overdue."),
    ({"total": 118}, "This is page 3 of the results."),
    ({"total": 118}, "Found 40 records with a typo."),
    ({"total": 118}, "At least 100 records."),
    ({"total": 118}, "about 120 records"),
    ({"total": 118, "page": 1, "per_page": 20}, "20 records"),
    ({"total": 118, "items": [{"id": 1}, {"id": 2}]}, "2 items"),
    ({"open": 12, "closed": 9, "total": 30}, "21 issues"),
    ({"total": 118}, "There are 7 duplicates."),
    ({"total": 118}, "The export has 140 columns."),
    ({"total": 118}, "It took 181 seconds."),
    ({"total": 118}, "The first 50 rows are shown."),
    ({"total": 118}, "50 rows were exported on 2026-08-07"),
    ({"users": PEOPLE}, "3 users: Ana, Bo, Cid"),
    (PEOPLE, "3 users: Ana, Bo and Cid"),
    (PEOPLE, "2 admins: Ana and Bo"),
    (PEOPLE, "Found 3 people."),
    (["a", "b", "c", "d"], "2 files: a and b are new"),
    ([{"name": "A", "members": 5}, {"name": "B", "members": 7}], "12 members"),
    ([["a", "b"], ["c"]], "3 letters"),
    ({"size": 2048, "name": "x.zip"}, "There are 12 files."),
    ({"count": 3, "price": 9}, "9 coins"),
    (PEOPLE, "5 users were asked for, these exist."),
]
OTHER_COUNTS: list[Pair] = [
    ({"total": 118}, "There are 181 records."),
    ({"total": 118}, "There are 81 records."),
    ({"total": 118}, "Found 181 customers."),
    ({"total_count": 4}, "The search returned 14 results."),
    ({"num_issues": 7}, "17 issues found"),
    ({"matched": 3}, "13 matches in total"),
    ({"hits": 40, "took_ms": 3}, "The query found 44 documents."),
    ({"user_count": 12}, "There are 9 users."),
    (PEOPLE, "5 users: Ana, Bo, Cid, Dan, Eve"),
    ('["a.txt", "b.txt"]', "There are 6 files in the folder."),
    ({"users": PEOPLE}, "2 users: Ana and Bo"),
    ([{"id": 1}, {"id": 2}], "Es gibt 4 Datensätze."),
    ({"total": 118}, "Se encontraron 181 registros."),
]
CONFIG = "/srv/app/config.yaml"
FAITHFUL_PATHS: list[Pair] = [
    (CONFIG, "config.yaml"),
    (CONFIG, "app/config.yaml"),
    (CONFIG, "./config.yaml"),
    (CONFIG, "…/app/config.yaml"),
    (CONFIG, ".../app/config.yaml"),
    (CONFIG, "`/srv/app/config.yaml`"),
    (CONFIG, "Saved to /srv/app/config.yaml."),
    (CONFIG, "It lies in /srv/app."),
    (CONFIG, "It lies in /srv/app/"),
    (CONFIG, "file:///srv/app/config.yaml"),
    ("config.yaml", CONFIG),
    ("src\\app\\main.py", "src/app/main.py"),
    ("C:\\work\\notes.txt", "notes.txt"),
    ("/home/ada/notes.txt", "~/notes.txt"),
    ("/srv/app/main.py:10", "main.py, line 10"),
    (CONFIG, "The configuration file was found."),
    (CONFIG, "config.yaml and settings.yaml are both read"),
    ("Wrote /out/a.csv and /out/b.csv", "/out/b.csv"),
    ("lib/config.yaml", "/opt/x/config.yaml"),
    ("https://example.org/a/b", "example.org/a/b"),
    ("s3://bucket/raw/day.parquet", "raw/day.parquet"),
    ("3.5 km/h", "3.5 km/h"),
    ("read and/or write", "read/write"),
]
OTHER_PATHS: list[Pair] = [
    (CONFIG, "/srv/app/settings.yaml"),
    (CONFIG, "The file is /srv/app/settings.yaml."),
    (CONFIG, "/etc/other/settings.yaml"),
    (CONFIG, "/etc/app/config.yaml"),
    ("config.yaml", "settings.yaml"),
    ("report.pdf", "`invoice.pdf`"),
    ("/var/backups/daily", "/var/backups/weekly"),
    ("Wrote C:\\out\\a.csv", "Saved as C:\\out\\b.csv"),
    ({"path": CONFIG}, "/srv/app/settings.yaml"),
    ({"path": CONFIG}, {"path": "/srv/app/settings.yaml"}),
    ("src/app/main.py", "src/app/index.py"),
    ("s3://bucket/raw/day.parquet", "s3://bucket/raw/week.parquet"),
]
FAITHFUL_NOTHING: list[Pair] = [
    (None, "The owner is unknown."),
    (None, "No owner was found."),
    (None, "The owner is not set."),
    (None, "Owner: none"),
    (None, "Result: Success"),
    (None, "Status: OK"),
    ("", "The file is saved."),
    ("", "Note: The command ran silently."),
    ("", "Done."),
    ([], "The list is empty."),
    ([], "Nobody matches."),
    ({}, "There is no owner; Mira Holm was asked for."),
    ("", "The output is empty."),
    (None, "Es gibt keinen Eintrag für Mira Holm."),
    (None, "Der Eigentümer ist unbekannt."),
    (None, "Aucun propriétaire."),
    (None, "El propietario es desconocido."),
    (None, "The response is JSON."),
    ("", "The current branch is now `main`."),
    ("", "Created the folder Documents."),
    ("", "The service is Running."),
    ("", "I set Mira Holm as the owner."),
]
NAMED_NOTHING: list[Pair] = [
    (None, "The owner is Mira Holm."),
    ("null", "The owner is Mira Holm."),
    ("", "The capital is Paris."),
    ([], "The members are Ana, Bo and Cid."),
    (None, "Owner: Mira Holm"),
    (None, 'The title is "A Winter Tale".'),
    (None, "The contact is mira@example.org"),
    ([], "Found Mira Holm."),
    ({}, "manager = `mholm`"),
    (None, "Die Leiterin ist Mira Holm."),
    (None, "Le directeur est Jean Petit."),
    (None, "El autor es Juan Rulfo."),
    (None, "O autor é Jorge Amado."),
]
FAITHFUL = [*FAITHFUL_UNITS, *FAITHFUL_EFFECTS, *FAITHFUL_COUNTS, *FAITHFUL_PATHS, *FAITHFUL_NOTHING]
CONTRARY = [*OTHER_UNITS, *DENIED_EFFECTS, *OTHER_COUNTS, *OTHER_PATHS, *NAMED_NOTHING]


@pytest.mark.parametrize(("logged", "claimed"), FAITHFUL, ids=repr)
def test_a_faithful_retelling_is_left_alone(logged: Any, claimed: Any) -> None:
    assert reason(logged, claimed) == ""


@pytest.mark.parametrize(("logged", "claimed"), CONTRARY, ids=repr)
def test_a_contradiction_is_found(logged: Any, claimed: Any) -> None:
    assert reason(logged, claimed)


@pytest.mark.parametrize("logged", [logged for logged, _ in [*FAITHFUL, *CONTRARY]], ids=repr)
def test_a_result_is_in_accord_with_itself(logged: Any) -> None:
    assert reason(logged, logged) == ""


def test_what_a_very_long_result_may_hold_further_on_is_no_contradiction() -> None:
    log = "row: 9 kg\n" + "." * 30_000 + "\nrow: 31 kg"
    assert reason(log, "the row has 31 kg") == ""
    assert reason({"weight_kg": 9, "notes": "." * 30_000}, {"weight_kg": 31})


def test_the_reason_names_both_units() -> None:
    assert reason("129.90 EUR", "129.90 USD").endswith("129.90 USD where the log has 129.90 EUR")


def test_the_reason_names_the_unit_of_a_field() -> None:
    assert reason({"duration_ms": 1500}, "1500 seconds").endswith("1500 seconds where the log has 1500 ms")


def test_the_reason_names_the_effect_and_what_denies_it() -> None:
    assert reason({"deleted": 0}, "Deleted the old entries.").endswith(
        'an effect ("deleted") where the log has \'{"deleted":0}\''
    )


def test_what_the_arguments_hold_is_no_invention() -> None:
    args = {"owner": "Mira Holm", "source": "/srv/app/input.yaml"}
    assert reason(None, "The owner is Mira Holm.", args) == ""
    assert reason(CONFIG, "/srv/app/input.yaml is read", args) == ""


def test_without_readers_of_words_no_word_accuses() -> None:
    assert contradiction("The row was updated.", ran(result="0 rows affected")) == ""
    assert contradiction("The owner is Mira Holm.", ran(result=None)) == ""


HOSTILE = [
    "1 KB ",
    "a/",
    "a.b/",
    "x: ",
    "Ab ",
    '"',
    "\\",
    "1.",
    "1,000",
    "0 rows ",
    "not ",
    "[",
    "$",
    "a" * 63 + " ",
]


@pytest.mark.parametrize("piece", HOSTILE)
def test_hostile_text_costs_no_more_than_other_text(piece: str) -> None:
    text = piece * (LONGEST // len(piece))
    started = time.process_time()
    for logged, claimed in (
        (text, f"{text}!"),
        ("24 KB", text),
        (text, "The row was updated."),
        (None, text),
    ):
        contradiction(claimed, ran(result=logged), wording())
    assert time.process_time() - started < 2
