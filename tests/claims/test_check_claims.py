"""What a report states of its checks, each form beside a twin that states nothing."""

from __future__ import annotations

import random

import pytest

from dispatch_fidelity.claims.checks import check_claims
from dispatch_fidelity.claims.polarity import polarity
from dispatch_fidelity.model.claim import Polarity, Source, Strength


def told(report: str, *labels: str) -> list[str]:
    """The claims in short: ``test passed 42``."""
    return [
        " ".join(map(str, (claim.action, claim.status, *claim.args.values())))
        for claim in check_claims(report, labels)
    ]


# -- forms, each with a twin ---------------------------------------------------------------------------------

FORMS = [
    # what is said of it
    ("All tests pass.", ["test passed"], "Most tests pass."),
    ("All tests pass", ["test passed"], "Make sure all tests pass"),
    ("the test suite is green", ["test passed"], "the test suite is slow"),
    ("The tests now pass again.", ["test passed"], "The tests should pass again."),
    ("Tests passed successfully.", ["test passed"], "Tests passed before my change."),
    ("Every test passes.", ["test passed"], "The test passes."),
    ("Each test passes", ["test passed"], "The new tests pass"),
    ("The unit tests pass", ["test passed"], "The unit tests use fixtures"),
    ("The tests have all passed.", ["test passed"], "I passed the test data."),
    ("The build succeeds", ["build passed"], "The build passes the flag to gcc"),
    ("the build was successful", ["build passed"], "the build is configured"),
    ("The build completed without errors.", ["build passed"], "The build completed the list."),
    ("The project builds successfully.", ["build passed"], "The project builds on top of others."),
    ("lint is clean", ["lint passed"], "lint the code"),
    ("mypy reports no issues", ["typecheck passed"], "mypy reports no issues in the files I looked at"),
    ("eslint exits 0", ["lint passed"], "eslint exits early"),
    ("Types check cleanly.", ["typecheck passed"], "Types check their input."),
    ("mypy --strict passes", ["typecheck passed"], "mypy --config x.ini passes"),
    ("CI is green", ["check passed"], "CI of upstream said it is green"),
    ("The formatting is clean", ["format passed"], "The formatting is JSON"),
    ("no type errors", ["typecheck passed"], "no new type errors"),
    ("There are no lint warnings.", ["lint passed"], "There are no lint rules."),
    ("No failing tests", ["test passed"], "A failing test"),
    ("0 tests failed", ["test passed"], "0 tests passed"),
    ("Lint and type checks are clean.", ["lint passed", "typecheck passed"], "Lint and the docs are clean."),
    (
        "Tests, lint and types all pass",
        ["test passed", "lint passed", "typecheck passed"],
        "Tests, lint and types",
    ),
    ("tests fail", ["test failed"], "tests fail fast"),
    ("The tests fail because the port is taken.", ["test failed"], "The tests fail without the fix."),
    ("Tests don't pass yet — I ran out of time.", ["test failed"], "Tests wouldn't pass."),
    ("The build is broken.", ["build failed"], "The build is broken into stages."),
    ("eslint found 3 errors", ["lint failed"], "eslint found 3 files"),
    # counts
    ("all 42 tests pass", ["test passed 42"], "40/42 tests pass"),
    ("All 1,204 tests pass!", ["test passed 1204"], "40 of 42 tests pass"),
    ("All 42 of the tests pass", ["test passed 42"], "All but 2 of the tests pass"),
    ("42/42 tests pass", ["test passed 42"], "0/42 tests pass"),
    ("2 tests are failing", ["test failed 2"], "2 tests are in the folder"),
    ("pytest: 12 passed", ["test passed 12"], "12 passed"),
    ("pytest: 12 passed, 0 failed, 3 skipped in 0.4s", ["test passed 12"], "pytest: 3 skipped"),
    ("pytest: 1 failed, 11 passed", ["test failed 1"], "pytest: 0 passed"),
    ("12 tests passed, 0 failed", ["test passed 12"], "12 tests passed, 1 failed"),
    ("Specs: 47 examples, 0 failures", ["test passed 47"], "Specs: 47 examples"),
    ("Tests pass (31 passed)", ["test passed"], "Tests pass (1 failed)"),
    # behind a sign
    ("Tests: passed", ["test passed"], "Tests: not run"),
    ("**Tests:** ✅", ["test passed"], "**Tests:** ⏳"),
    ("Lint: ok", ["lint passed"], "Lint: n/a"),
    ("mypy: Success: no issues found in 12 source files", ["typecheck passed"], "mypy: see the log"),
    ("ruff: All checks passed!", ["lint passed"], "ruff: added to the checks"),
    ("tsc -> 0 errors", ["typecheck passed"], "tsc -> 2 files"),
    ("Tests: all 42 tests pass", ["test passed 42"], "Tests: 40/42"),
    ("Tests: failing", ["test failed"], "Tests: flaky"),
    # ticked
    ("✅ Tests", ["test passed"], "✅ Tests added"),
    (
        "✅ Lint, types and tests",
        ["lint passed", "typecheck passed", "test passed"],
        "✅ Lint, types and docs",
    ),
    ("❌ Tests", ["test failed"], "❌ tests pass"),
    ("- [x] tests pass", ["test passed"], "- [ ] tests pass"),
    ("- [x] all tests pass", ["test passed"], "- [x] run tests"),
    # commands
    ("`cargo test` passes", ["test passed"], "`cargo test -p core` passes"),
    ("`pytest -q`: 12 passed in 0.31s", ["test passed 12"], "`pytest tests/test_a.py -q`: 12 passed"),
    ("`python -m mypy src` is clean", ["typecheck passed"], "`python -m mypy src/a.py` is clean"),
    ("`npx tsc --noEmit`: no errors", ["typecheck passed"], "`npx tsc --version`: no errors"),
    ("`pytest` passes", ["test passed"], "`pytest --collect-only` passes"),
    # runs
    ("I ran the tests and they all passed", ["test passed"], "I did not run the tests"),
    ("Ran `pytest`: all 42 tests pass", ["test passed 42"], "Run `pytest`: all 42 tests pass"),
    ("Ran the suite: 12 passed", ["test passed 12"], "Ran the suite for the 12 passed"),
    ("I ran the tests, which all passed.", ["test passed"], "I ran the tests, which took long."),
    ("I ran pytest and all tests pass", ["test passed"], "I ran pytest a/test_b.py and all tests pass"),
    ("I verified that all tests pass", ["test passed"], "I have not verified that all tests pass"),
    # what leads to it
    ("Fixed the parser, and all tests pass.", ["test passed"], "If you fix the parser, all tests pass."),
    ("After the change, all tests pass.", ["test passed"], "Once the change is in, all tests pass."),
    ("With this fix, all tests pass.", ["test passed"], "With the flag on, all tests pass."),
    ("In summary, all tests pass.", ["test passed"], "On Linux, all tests pass."),
    ("Verification: all tests pass", ["test passed"], "core module: all tests pass"),
    ("I changed nothing else: all tests pass.", ["test passed"], "I ran it on Linux: all tests pass."),
    # what follows it
    ("All tests pass, but coverage went down.", ["test passed"], "All tests pass but one fails."),
    ("All tests pass; lint comes next.", ["test passed"], "All tests pass; I did not run them."),
    ("All tests pass — it took a while.", ["test passed"], "All tests pass — or they should."),
    ("All tests pass. The docs are new.", ["test passed"], "All tests pass. Except test_x."),
    ("tests: pass (3 minutes)", ["test passed"], "tests: pass (from memory, need to confirm)"),
]


@pytest.mark.parametrize(("report", "claims"), [(report, claims) for report, claims, _ in FORMS])
def test_a_statement_of_an_outcome_is_a_claim(report: str, claims: list[str]) -> None:
    assert told(report) == claims


@pytest.mark.parametrize("twin", [twin for _, _, twin in FORMS])
def test_its_twin_states_no_outcome(twin: str) -> None:
    assert told(twin) == []


@pytest.mark.parametrize(
    "report",
    [
        "",
        "run pytest",
        "Do the tests pass?",
        "All tests pass? Yes.",
        "tests were not run",
        "the tests might pass",
        "I expect that all tests pass",
        "Tests will pass",
        "tests would fail",
        "If tests fail, revert",
        "When the tests pass, merge",
        "so that tests pass",
        "Confirm that the tests pass.",
        "Run the tests and they pass",
        "previously failing tests",
        "the user says the tests pass",
        "The README says all tests pass",
        "My colleague ran CI and all tests pass",
        "All tests pass, according to the author",
        "Goal: all tests pass",
        "The issue: tests fail on Windows",
        "Earlier, the tests passed",
        "Tests passed, then I changed the config",
        "CI was green yesterday",
        "Tests pass on main",
        "nearly all tests pass",
        "not all tests pass",
        "the other tests pass",
        "all tests pass except test_x",
        "All tests but one pass",
        "passing tests are in tests/",
        "tests for the failing case were added",
        "password tests",
        "the tests pass a list to the function",
        "tests pass through the proxy",
        "the linter passes options",
        "All test files pass lint rules",
        "types pass through",
        "build ok button",
        "No type errors reported... wait, that was yesterday's run",
        "tests passing is required",
        "It waits until CI is green",
        "I made the tests pass",
        "no errors",
    ],
)
def test_doubt_time_others_and_parts_state_nothing(report: str) -> None:
    assert told(report) == []


# -- where it stands -----------------------------------------------------------------------------------------

PLACES = [
    ("All tests pass", "`All tests pass`"),
    ("Result: all tests pass", 'Result: "all tests pass"'),
    ("all tests pass", "“all tests pass”"),
    ("Result: all tests pass", "Result: 'all tests pass'"),
    ("all tests pass", "~~all tests pass~~"),
    ("all tests pass", "> all tests pass"),
    ("Text\n\nall tests pass", "> Text\nall tests pass"),
    ("- all tests pass", "- > all tests pass"),
    ("```\nx\n```\nall tests pass", "```\nall tests pass\n```"),
    ("~~~\nx\n~~~\nall tests pass", "~~~\nall tests pass"),
    ("- a\n\n    all tests pass", "a\n\n    all tests pass"),
    ("<!-- x -->\nall tests pass", "<!--\nall tests pass\n-->"),
    ("<b>\n\nall tests pass", "<pre>\nall tests pass\n</pre>"),
    ("## Results\n\nall tests pass", "## Next steps\n\nall tests pass"),
    ("**Done**\n\nall tests pass", "**Expected**\n\nall tests pass"),
    ("Verification:\n- all tests pass", "Before merging:\n- all tests pass"),
    ("Checked:\n\n- all tests pass", "Definition of done:\n\n- all tests pass"),
    ("- Checked:\n  - all tests pass", "- `packages/core`:\n  - all tests pass"),
    ("- [x] all tests pass", "- [ ] all tests\n  pass"),
    ("## Checklist\n- [x] all tests pass", "## Checklist\n- all tests pass"),
    ("☑ all tests pass", "☐ all tests pass"),
    ("The code is in.\nAll tests\npass.", "If you rebase\nthen all tests pass."),
    ("[all tests pass](x)", "![all tests pass](x.svg)"),
    ("all tests pass\r\n", "> all tests pass\r\n"),
    ("| tests | passed |", "| tests | passed |\n|---|---|\n| a | b |"),
    ("|a|b|\n|-|-|\n| Tests | ✅ |", "|a|expected|\n|-|-|\n| Tests | ✅ |"),
    ("| 1 | `pytest -q` | 12 passed | 3.1 s |", "| core | `pytest -q` | 12 passed | 3.1 s |"),
    ("| check | now |\n|---|---|\n| tests | passed |", "| check | before |\n|---|---|\n| tests | passed |"),
    ("| lint | ok |\n| tests | pass |", "| lint | pending |\n| tests | failed | passed |"),
]


@pytest.mark.parametrize(("stated", "set_aside"), PLACES)
def test_a_statement_counts_where_the_report_speaks_itself(stated: str, set_aside: str) -> None:
    assert told(stated)
    assert told(set_aside) == []


# -- what the report itself takes back -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("report", "claims"),
    [
        ("The tests fail because of a typo. I fixed it. All tests pass.", ["test passed"]),
        ("One test failed, so I raised the limit. Everything is green.", []),
        ("Tests failed.", ["test failed"]),
        ("Tests passed. Then I renamed it; tests fail.", ["test failed"]),
        ("All tests pass. The integration tests still fail on CI.", []),
        ("All tests pass. The failing test was in auth.", ["test passed"]),
        ("Unit tests pass. Integration tests fail.", []),
        ("Integration tests fail. Unit tests pass.", []),
        ("Frontend:\n- tests fail\n\nBackend:\n- tests pass", []),
        ("Lint fails. All tests pass.", ["lint failed", "test passed"]),
        ("The build is green. 2 tests are failing.", ["build passed", "test failed 2"]),
    ],
)
def test_what_was_overcome_or_contradicted_is_no_claim(report: str, claims: list[str]) -> None:
    assert told(report) == claims


# -- labels --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("report", "labels", "claims"),
    [
        ("tests: passed", ["tests"], ["test passed tests"]),
        ("The unit tests pass", ["tests", "unit-tests"], ["test passed unit-tests"]),
        ("unit-tests pass", ["unit-tests"], ["test passed unit-tests"]),
        ("smoke is green", ["smoke"], ["check passed smoke"]),
        ("`smoke` passed", ["smoke"], ["check passed smoke"]),
        ("The smoke check passes", ["smoke"], ["check passed smoke"]),
        ("lint-js: ok", ["lint-js"], ["check passed lint-js"]),
        ("smoke_tests passed", ["smoke_tests"], ["check passed smoke_tests"]),
        ("| smoke | failed |", ["smoke"], ["check failed smoke"]),
        ("All 42 tests pass", ["tests"], ["test passed tests 42"]),
        ("smoke and lint pass", ["smoke", "lint"], ["check passed smoke", "lint passed lint"]),
        ("smoke is green", [], []),
        ("smoke is in the air", ["smoke"], []),
        ("docs are clean", ["docs"], []),
        ("all pass", ["all"], []),
        ("Tests pass", ["lint", "", "…"], ["test passed"]),
    ],
)
def test_a_label_of_the_run_is_a_check_by_its_name(report: str, labels: list[str], claims: list[str]) -> None:
    assert told(report, *labels) == claims


# -- what a claim holds --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("report", "words"),
    [
        ("I fixed it, and now all 42 tests pass. Done.", "all 42 tests pass"),
        ("| a | b |\n|---|---|\n| Tests | 12 passed |\n", "Tests | 12 passed"),
        ("Done. `pytest -q`: 12 passed in 0.3s.", "`pytest -q`: 12 passed in 0.3s"),
        ("- ✅ Tests", "✅ Tests"),
        ("Ümlaut — **Lint:** clean", "Lint:** clean"),
    ],
)
def test_the_span_holds_the_words_of_the_clause(report: str, words: str) -> None:
    (claim,) = check_claims(report)
    assert report[slice(*claim.span)] == words


def test_passed_reads_as_success_and_failed_as_failure() -> None:
    passed, failed = check_claims("Lint is clean. The build is broken.")
    assert polarity(passed) is Polarity.SUCCEEDED
    assert polarity(failed) is Polarity.FAILED
    assert {passed.source, failed.source} == {Source.PROSE}
    assert {passed.strength, failed.strength} == {Strength.EXPLICIT}
    assert (passed.tool, passed.args) == ("", {})


# -- hostile texts -------------------------------------------------------------------------------------------


def test_no_text_raises() -> None:
    chance = random.Random(7)
    words = "tests pass lint is clean all ran the no type errors ✅ 42 [x] ~~ ``` <!-- <pre> ]( ![ -- ... 1/1"
    pieces = [*words.split(), *"`\"'|\n->#*_.,:/<[]()!?\r\0\ud800\u2028“‘", "- ", "| ", "\n\n", " ", " "]
    for _ in range(1000):
        check_claims("".join(chance.choice(pieces) + chance.choice(("", " ")) for _ in range(30)), ["unit"])


def test_each_of_many_items_is_read() -> None:
    assert len(check_claims("- [x] tests pass\n" * 2000)) == 2000


def test_a_sentence_beyond_the_bound_states_nothing() -> None:
    assert told("tests pass and " * 200) == []
    assert told("tests pass and " * 200 + "so on. All tests pass.") == ["test passed"]
