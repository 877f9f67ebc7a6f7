"""What a report says in prose of how its checks came out: "all 42 tests pass", "lint is clean", "pytest: 1 failed".

A narrow reader of English that must not hear what was not said. A clause is a claim only where every word of it, up
to the mark or word that ends it, belongs to the forms below; one word more, of doubt, of time, of a part, of somebody
else, and it is none. The text is cut once into units, sentences and words, and the forms are tried at the starts of
clauses of sentences of bounded length: the work grows with the text and no faster.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from ..model.claim import Claim, Source


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _listed(text: str) -> list[str]:
    return [entry.strip() for entry in text.split(",")]


def _one_of(entries: Collection[str]) -> str:
    """An alternation of plain texts, the longest first."""
    return "(?:" + "|".join(map(re.escape, sorted(entries, key=len, reverse=True))) + ")"


# -- what is spoken of -------------------------------------------------------------------------------------

_NOUNS = {
    "test": "tests, test, test case, test suite, test suites, suite, test cases, test results, test run, tests run, "
    "specs, spec suite, unit tests, integration tests, unit test suite, integration test suite, regression tests, "
    "regression suite, end to end tests, e2e tests, pytest, jest, vitest, mocha, rspec, phpunit, unittest, ctest, "
    "cargo test, go test, npm test, yarn test, pnpm test, bun test, dotnet test, mvn test, make test, npm run test",
    "build": "build, builds, build process, compilation, production build, cargo build, go build, npm run build, "
    "yarn build, pnpm build, dotnet build, webpack",
    "lint": "lint, linter, linters, linting, ruff, ruff check, eslint, flake8, pylint, clippy, cargo clippy, go vet, "
    "golangci lint, stylelint, rubocop, shellcheck, npm run lint, yarn lint, pnpm lint",
    "typecheck": "type check, type checks, typecheck, typechecks, type checker, type checking, typechecking, types, "
    "mypy, pyright, tsc, npm run typecheck, npm run type check",
    "format": "formatting, formatter, format check, formatting check, ruff format, prettier, gofmt, cargo fmt, rustfmt",
    "check": "ci, ci pipeline, ci build, pipeline, checks, pre commit, pre commit hooks, quality checks, "
    "quality gates",
}
_ACT_OF_NOUN = {noun: act for act, nouns in _NOUNS.items() for noun in _listed(nouns)}
# A single test is a check only as "every test" or "each test".
_SINGLE = frozenset({"test", "test case"})
_COUNTED_NOUNS = frozenset({"tests", "test cases", "specs"})
_OF_ALL = _words("every each")
# Words that make it a suite among others: what is said of it is weighed against what is said of the rest.
_SCOPES = _words("unit integration regression e2e end")
# Commands between code marks: what may start them, and what they begin with.
_STARTERS = re.compile(
    r"(?:(?:uv|poetry|pdm|rye|pipenv|hatch) run |(?:\S{1,80}/)?python[\d.]* -m |npx (?:--yes |-y )?|bunx |pnpm exec "
    r"|bundle exec |yarn (?=jest|vitest|eslint|tsc)|\$ ){0,3}"
)
_COMMANDS = {
    "test": "pytest, py.test, unittest, jest, vitest, vitest run, mocha, rspec, phpunit, ctest, tox, cargo test, "
    "cargo nextest run, go test, npm test, npm run test, npm t, yarn test, pnpm test, pnpm -r test, bun test, "
    "dotnet test, mvn test, gradle test, ./gradlew test, make test, swift test, flutter test, mix test, sbt test",
    "build": "cargo build, go build, npm run build, yarn build, pnpm build, dotnet build, mvn package, make, "
    "make build, gradle build, ./gradlew build, cmake --build, ninja, vite build, next build, webpack",
    "lint": "ruff, ruff check, eslint, flake8, pylint, cargo clippy, go vet, golangci-lint run, stylelint, rubocop, "
    "shellcheck, npm run lint, yarn lint, pnpm lint, make lint, biome check, biome lint",
    "typecheck": "mypy, pyright, basedpyright, tsc, npm run typecheck, npm run type-check, yarn typecheck, "
    "pnpm typecheck, cargo check, make typecheck, ty check",
    "format": "ruff format --check, black --check, prettier --check, cargo fmt --check, isort --check",
    "check": "make check, pre-commit run, npm run check",
}
_COMMAND = re.compile(
    "(?:"
    + "|".join(f"(?P<{act}>{_one_of(_listed(listed))})(?= |$)" for act, listed in _COMMANDS.items())
    + ")"
)
_WHOLES = _words(
    ". ./... src tests test app lib src/ tests/ .. --workspace --all --all-files --noEmit --check"
)
_QUIET_OPTIONS = re.compile(
    r"-(?:[qvsxW]{1,4}|-quiet|-verbose|-strict|-release|-no-cov|-all-targets|-color=\S+|-tb=\S+|r\w)"
)

# -- what takes a statement back ---------------------------------------------------------------------------

# One of these in a sentence before a clause, and the clause is no claim.
_DOUBTS = _words(
    "if unless once when whenever until till whether should would could may might must shall will ought expect "
    "expects expected expecting assume assumes assumed assuming suppose supposed hope hopefully hoping probably "
    "likely presumably apparently allegedly theoretically seem seems appear appears plan plans planned planning "
    "going need needs needed require requires required requirement requirements ensure ensures ensuring make "
    "makes making sure try trying guarantee guarantees want wants wanted recommend recommended suggest please "
    "let lets order wait waiting say says said saying tell tells told claim claims claimed mention mentions "
    "mentioned state states stated according per user users you your yours colleague colleagues reviewer "
    "reviewers maintainer maintainers author authors team upstream teammate customer he she someone somebody "
    "everyone readme docs ticket comment docstring message description changelog example examples badge banner "
    "title prompt request instructions task goal goals objective target criteria criterion acceptance condition "
    "conditions todo step before previously previous earlier originally original initially yesterday ago last "
    "prior baseline formerly used first history historically past main master other others remaining rest most "
    "some many several few half almost nearly mostly part partly except excluding besides apart aside otherwise "
    "issue issues bug bugs problem problems cause symptom legend actual reproduced not never cannot unable "
    "without neither nor"
)
# One of these in the sentence behind a clause takes it back; the second set only a good one.
_TAKES_BACK = _words(
    "except excluding besides apart aside unless if assuming provided once when whenever until whether only "
    "otherwise according said says wait memory should would might could expect expected hopefully probably "
    "presumably supposedly need needs needed yesterday earlier before previously previous upstream untested "
    "unverified baseline means meaning definition criterion criteria goal requirement required then since "
    "afterwards later subsequently"
)
_EXCEPTS = _words("except excluding apart unless assuming")  # as the first word of the next sentence
_FAILING = _words("fail fails failed failing failure failures flaky red broken ❌")
_PAST_FAILING = _words("failed failure failures")
_ZERO = _words("0 no zero never")
_NOT_RUN = re.compile(
    r" (?:not|never|cannot|without|unable to)(?: \w+){0,3}? (?:run|ran|rerun|running|verify|verified|verifying|confirm|"
    r"confirmed|check|checked|checking|execute|executed|test|tested|testing) "
)
# A sentence that begins with one of these asks the reader to do something.
_IMPERATIVES = _words(
    "run rerun re execute ensure make check verify confirm use try set install add update fix rebase merge open "
    "apply wait see keep remember please commit push pull let do be consider review double start get allow "
    "require block expect assume imagine suppose show report say print write return assert feel kick"
)
# Said of what is to come, of others or of once, by a heading or by the line that leads to a list.
_PLANS = re.compile(
    r"\b(?:next|to-?do|plan\w*|criteri\w+|checklist|rules?|convention\w*|guideline\w*|polic\w+|strateg\w+|"
    r"condition\w*|requirements?|definition|goals?|objectives?|expect\w*|how to|instructions?|examples?|"
    r"usage|recommend\w*|suggest\w*|you|your|please|remaining|assum\w+|need\w*|future|if|before|"
    r"previous\w*|earlier|original\w*|baseline|history|user|task|request|prompt|should|must|will|would|"
    r"template|quot\w+|message|old|draft|open|unknown|outstanding|wants?|once|when|until|unless|sa(?:ys?|"
    r"id)|ask\w*|not|never|ensure|make sure|verify that|check that|missing|later|legend)\b",
    re.IGNORECASE,
)
_PART = re.compile(r"`|\w[/_.\\]\w")  # a file, a package, a module
_OTHER_COLUMNS = re.compile(
    r"\b(?:before|baseline|expect\w*|previous|old|target|required|main|master|plan\w*|should)\b",
    re.IGNORECASE,
)
# What was overcome: a failure that one of these follows anywhere is no statement of how things stand. The second set
# tells so of a failure in the past tense only.
_REPAIRS = re.compile(
    r"\b(?:(?:fix|fixes|fixed|resolved|corrected|repaired|addressed|again|now|re-?ran|re-?run|solved|adjusted|updated)"
    r"|(pass|passes|passed|passing|green|works?|succeed\w*))\b",
    re.IGNORECASE,
)
# A sentence that speaks of failing checks, and with none of the second set, admits a failure.
_NOT_ADMITTED = _words(
    "no not never if when would should without previously before until used longer fixed 0 zero once could "
    "might was were had first initially originally earlier"
)

# -- the forms ---------------------------------------------------------------------------------------------

_OBJECT = (
    r"(?:(?:type|typing|lint|linting|style|formatting|compile|compiler|build|test) )?"
    r"(?:errors?|issues?|problems?|warnings?|violations?|failures?|findings?|complaints?|diagnostics?|offenses?)"
)
_OBJECTS = rf"{_OBJECT}(?: (?:or|and|,|/) {_OBJECT}){{0,2}}"
_NONE = rf"(?:no|0|zero) {_OBJECTS}(?: (?:or|and|,) (?:no|0|zero) {_OBJECTS}){{0,2}}(?: found)?"
_ADVERBS = r"(?:(?:all|now|still|also|currently|again|both|completely|fully|entirely) ){0,3}"
_BE = r"(?:is|are|'s|remains?|stays?)"
_SHOWS = r"(?:reports?|reported|finds?|found|shows?|showed|has|have|had|returns?|returned|gives?|gave|raises?|raised)"
_PASSES = "|".join(
    (
        "pass|passes|passed|succeeds?|succeeded",
        rf"{_BE} {_ADVERBS}(?:passing|green|clean|happy|successful|ok|okay|error free)",
        rf"(?:was|were) {_ADVERBS}(?:green|clean|successful)",
        rf"(?:has|have) {_ADVERBS}(?:passed|succeeded)",
        "(?:ran|runs?|completes?|completed|finish(?:es|ed)?|builds?|built|compiles?|compiled|came back|comes? back) "
        f"(?:successfully|cleanly|clean|green|error free|(?:with|without) (?:any )?{_OBJECTS}|with {_NONE})",
        "(?:exits?|exited)(?: with)?(?: (?:code|status))? 0",
        f"{_SHOWS} (?:{_NONE}|nothing)|checks? (?:cleanly|clean)",
        "passing|green|clean|cleanly|ok|✅",
    )
)
_FAILS = "|".join(
    (
        "fail|fails|failed",
        rf"{_BE} {_ADVERBS}(?:failing|red|broken)",
        rf"{_BE} not {_ADVERBS}(?:yet )?(?:all )?(?:passing|green|clean)(?: yet)?",
        "(?:do|does|did) not (?:all |yet |currently ){0,2}(?:pass|succeed|compile|build)(?: yet)?",
        rf"{_SHOWS} [1-9][\d,]* {_OBJECT}",
        "failing|red|broken",
    )
)
_GOOD_WORDS = _words("passed passing pass ok succeeded")
_BAD_WORDS = _words("failed failures failure failing errors error")
_TOTAL_WORDS = _words("total examples example tests test cases specs")
_TALLY_WORDS = _GOOD_WORDS | _BAD_WORDS | _TOTAL_WORDS | _words(
    "skipped xfailed xpassed warnings warning deselected ignored pending todo assertions measured offenses issues"
)  # fmt: skip
_COUNTED = rf"[\d,]+ (?:(?:tests?|specs?|test cases) )?{_one_of(_TALLY_WORDS)}"
_TALLY = rf"{_COUNTED}(?:(?: [,;/&]| and)? {_COUNTED}){{0,8}}"
_VALUE = "|".join(
    (
        "(?:all )?(?:pass|passes|passed|passing|green|clean|ok|okay|success|successful|succeeded|✅)",
        f"(?:success : |found )?(?:{_NONE}|all checks passed)|compiled successfully",
        r"all [\d,]+ (?:tests )?(?:pass|passed|passing|green)|all (?:tests )?(?:pass|passed|passing|green)",
        r"[\d,]+/[\d,]+(?: (?:tests )?(?:pass|passed|passing|green))?",
        "exit(?: code| status)? 0",
    )
)
_OF_ALL_TESTS = re.compile(r"all \d|\d[\d,]*/")
_BAD_VALUE = rf"fail|fails|failed|failing|red|broken|❌|failure|[1-9][\d,]* {_OBJECT}"
_CHANGES = (
    r"(?:the|my|this|these|all|those) (?:last |latest )?(?:changes?|fix|fixes|refactor|edits?|update|patch)"
)
_TAIL = "|".join(
    (
        "now|again|locally|successfully|cleanly|clean|too|as well|here|✅|🎉|found|reported|detected|remaining",
        "end to end",
        "across the (?:board|(?:whole |entire )?(?:package|project|codebase|repo|repository))",
        f"without (?:any )?{_OBJECTS}|with {_NONE}",
        r"in [\d.,]+ ?(?:s|ms|m|secs?|seconds|minutes?)?|in [\d,]+ (?:source )?files",
        f"(?:after|with) {_CHANGES}",
        r"\( [\d,]+ (?:tests |passed |total ){0,2}\)",
    )
)
_BAD_TAIL = rf"{_TAIL}|yet|(?:because|due to)(?: [^.;]+)?"
_END = r"(?= (?:[.,;:()|⏎—→…]|(?:but|so|after) |$|and (?!fail|then|do|does|are not|is not)))"
_JOIN = r"(?:, and|,|and|&|\+|plus|/|as well as)"
_SIGN = r"(?:: ⏎|[:—→=|⏎])"
_AGENT = r"(?:i|we)(?: (?:have|can|also|then|just|'ve)){0,3}"
_LEADS = (
    r"(?:(?:and|also|now|finally|currently|overall|yes|ok|done|⏎|so|then|as a result|this time|there (?:are|were)|"
    rf"(?:{_AGENT} )?(?:verified|confirmed|checked|validated)(?: that)?) ){{0,4}}"
)
_RAN = rf"(?:{_AGENT} )?(?:also |then |re |finally )?(?:ran|executed|reran) "
_AFTER_RUN = (
    rf"(?: (?:again|locally|twice|once more|afterwards|after {_CHANGES}))?"
    r"(?: (?:,|and|:|;|—|→|⏎)){1,2}(?: (?:they|it|everything|all of them|which|all)){0,2}"
)
_THING = "(?:project|code|codebase|app|application|package|crate|workspace|solution|library|binary)"
_SETS = (
    r"(?:(?:the|all|of|our|my|every|each|full|whole|entire|complete|existing|project|current|automated|"
    r"[\d,]+/[\d,]+|[\d,]+) ){0,6}"
)
# A sentence that begins so tells under which conditions; the first set does not.
_UNDER = re.compile(
    r" (?!with (?:this|that|these|those|the|my|both)(?: (?:\w+ )?(?:change|fix|patch|update|edit)\w*)? ,"
    r"|with (?:that|it) |in (?:addition|summary|total|short|the end|conclusion) |for (?:completeness|reference) "
    r"|at (?:this point|the end) )(?:with|using|under|on|in|for|by|against|at|from|via|inside) "
)
_UNDER_IN = re.compile(r" (?:with|using|under|on|in|for|against|via|inside) ")
_ALL_BUT = re.compile(r" (?:all|every|everything|any|nothing|none) but $")
_RUNS = re.compile(r" (?:ran|run|executed|running|reran|tried|tested) ")
_PIECE = re.compile(r"¤|\w[./_\\]\w| (?:only|just) ")
# Titles that stand before a colon and name no part.
_TITLES = _words(
    "result results status summary verification verified validation testing tests test checks check qa "
    "note update done ci overall conclusion outcome final all everything good news also and the "
    "after fix fixes change changes my quality now in short of run ran i pytest suite build lint finally "
    "then ✅ ⏎ , ."
)
_PLAIN_CELL = re.compile(r" +(?:(?:[\d.,/]+|§\w+|s|ms|min|sec|seconds|minutes|\d[\d.,]*(?:s|ms|m)|%|—) )*")
_TICKED_ALONE = re.compile(r" (?:$|, [✅❌]|\( [\d,]+ passed \))")
_BOUNDARIES = _words(", ; : ( — → | ⏎ ✅ and but so")
_COMMON = _words(
    "the all of and or a in on is are it pass passed passes fail failed fails green red now no with code"
)
_ADJECTIVES = _words("clean ok okay successful")
_KINDS = {
    "type": "typecheck", "typing": "typecheck", "lint": "lint", "linting": "lint", "style": "lint",
    "formatting": "format", "build": "build", "compile": "build", "compiler": "build", "test": "test",
}  # fmt: skip
_MOST_LABELS = 200


class _Grammar(NamedTuple):
    """What stands before a subject, what is said of it, and what is said without one."""

    leads: re.Pattern[str]
    ran: re.Pattern[str]
    says: re.Pattern[str]
    says_of_run: re.Pattern[str]
    bare: re.Pattern[str]
    value: re.Pattern[str]


@lru_cache(maxsize=1)
def _grammar() -> _Grammar:
    """The patterns, compiled by the first report that needs them."""
    tail, bad_tail = f"(?: (?:{_TAIL})){{0,4}}", f"(?: (?:{_BAD_TAIL})){{0,3}}"
    aside = r"(?: \( (?:[\d,]+ (?:tests|specs)|(?P<aside>[\w§]+)) \))?"
    ended = r"(?: (?:finished|completed|done)(?: in [\d.,]+ ?(?:s|ms|m|seconds)?)?)?"
    tally = f"(?P<tally>{_TALLY}){tail}"
    said = (
        f" {_ADVERBS}(?P<passed>{_PASSES}){tail}",
        f"{ended} {_SIGN} (?P<value>{_VALUE}){tail}",
        f"(?:{ended}| {_SHOWS})(?: with)?(?: {_SIGN})? {tally}",
        f" {_ADVERBS}(?P<failed>{_FAILS}){bad_tail}",
        f" {_SIGN} (?P<bad>{_BAD_VALUE})",
    )
    none = (
        f"(?:no|0|zero) (?:(?P<kind>{_one_of(_KINDS)}) {_OBJECTS}|failing tests|failed tests|tests? (?:fail|failed))"
        f"(?: (?:were |are )?(?:found|reported))?{tail}"
    )
    builds = (
        f"(?:(?:the|whole|entire|our) ){{1,2}}{_THING} {_ADVERBS}(?P<builds>builds|compiles|"
        f"(?:builds|compiles|built|compiled) (?:fine|cleanly|successfully|without (?:any )?{_OBJECTS})){tail}"
    )
    return _Grammar(
        leads=re.compile(f" {_LEADS}"),
        ran=re.compile(_RAN),
        says=re.compile(f"{aside}(?:{'|'.join(said)}){_END}"),
        says_of_run=re.compile(f"{_AFTER_RUN} (?:(?P<passed>{_PASSES}){tail}|{tally}){_END}"),
        bare=re.compile(f"(?:{none}|{builds}){_END}"),
        value=re.compile(
            f" (?:[✅❌] )?(?:(?P<value>{_VALUE})|(?P<bad>{_BAD_VALUE})|(?P<tally>{_TALLY}))(?: ✅)?{tail} "
        ),
    )


class _Forms(NamedTuple):
    """The nouns of checks, with the labels of the run among them."""

    subject: re.Pattern[str]
    noun: re.Pattern[str]
    labels: tuple[tuple[str, str], ...]
    anchor: re.Pattern[str]


@lru_cache(maxsize=16)
def _forms(labels: tuple[str, ...]) -> _Forms:
    own = {" ".join(_plain(label)): label for label in labels}
    own.pop("", None)
    added = [plain for plain in own if _COMMON.isdisjoint(plain.split()) and len(plain) > 1]
    names = _one_of([*_ACT_OF_NOUN, *(f"§{act}" for act in _NOUNS), *added])
    one = rf"{_SETS}{names}(?= )"
    heads = {noun.split()[-1] for noun in _ACT_OF_NOUN} | {"test", *_KINDS, "compil", "builds"}
    heads |= {re.split(r"\W", label.casefold())[0] for label in own.values()} - {""}
    return _Forms(
        re.compile(
            rf"(?P<core>{one}(?: {_JOIN} {one}){{0,5}})(?: (?:run|runs|suite|check|checks|gate|step|job)(?= ))?"
        ),
        re.compile(rf"(?<!\w){names}(?!\w)"),
        tuple(sorted(own.items(), key=lambda pair: -len(pair[0]))),
        re.compile(_one_of(heads), re.IGNORECASE),
    )


# -- units: the lines of a report that speak ---------------------------------------------------------------


class _Unit(NamedTuple):
    """A paragraph, an item, a heading, or a row of a table with the heads of its columns."""

    start: int
    end: int
    heads: tuple[str, ...] | None = None


_FENCE = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,3}[.)])[ \t]+)?(`{3,}|~{3,})")
_ITEM = re.compile(r"[ \t]*(?:(?:[-*+•‣–]|\d{1,3}[.)])[ \t]+|(?=[☐☑☒]))")
_BOX = re.compile(r"\[(.)\][ \t]+|([☐☑☒])[ \t]*")
_HEADING = re.compile(r"[ \t]*#{1,6}[ \t]+|[ \t]*\*\*[^*\n]{1,80}\*\*:?[ \t]*$")
_RULE = re.compile(r"[ \t]*\|?[ \t:|-]*-[ \t:|-]*$")
_OPENS = re.compile(r"<!--|<(pre|blockquote|code|details|q|table)\b", re.IGNORECASE)
_TICKED = "xX✓✔✅☑"
_LONGEST_ROW = 2000


def _units(report: str) -> Iterator[_Unit]:
    """The units that may state something: no code, no quotation, no open box, nothing under a heading of plans."""
    reader = _Lines(report)
    at = 0
    while at < len(report):
        end = report.find("\n", at)
        end = len(report) if end < 0 else end
        yield from reader.line(at, end - report.startswith("\r", end - 1, end) if end > at else end)
        at = end + 1
    yield from reader.flush()


def _sets_apart(text: str) -> bool:
    """Whether a heading, or a line that leads to a list, is of plans, of others, of once, or of one part."""
    return _PLANS.search(text) is not None or (len(text) < 80 and _PART.search(text) is not None)


class _Lines:
    """Puts lines together to units, and remembers what they stand in."""

    def __init__(self, report: str) -> None:
        self.report = report
        self.fence = self.element = ""
        self.quoted = self.in_list = False
        self.after_blank = True
        self.planned = self.planned_list = False
        self.heads: tuple[str, ...] | None = None
        self.row: _Unit | None = None  # a row that may turn out to be the heads of a table
        self.open: list[int] | None = None  # start and end of the unit that grows
        self.dropped = False  # the unit that grows states nothing

    def flush(self) -> Iterator[_Unit]:
        if self.row is not None:
            yield self.row
        if self.open is not None and not self.dropped:
            yield _Unit(self.open[0], self.open[1])
        self.row, self.open, self.dropped = None, None, False

    def line(self, start: int, end: int) -> Iterator[_Unit]:
        text = self.report[start : min(end, start + 400)]
        if self.skips(text, start, end):
            yield from self.flush()
            return
        stripped = text.strip()
        if not stripped:
            yield from self.flush()
            self.quoted, self.after_blank, self.heads = False, True, None
            return
        blank, self.after_blank = self.after_blank, False
        if stripped[0] == "|":
            yield from self.table_row(text, start, end)
            return
        self.heads = None
        if self.quoted or stripped[0] == ">":
            yield from self.flush()
            self.quoted = True
            return
        item = _ITEM.match(text)
        if _HEADING.match(text):
            yield from self.flush()
            self.planned, self.planned_list, self.in_list = _sets_apart(text), False, False
            if not self.planned:
                yield _Unit(start, end)
            return
        if item:
            yield from self.flush()
            self.item(text, start, end, item.end())
            return
        indented = text.startswith(("    ", "\t"))
        if blank and indented and not self.in_list:
            yield from self.flush()
            self.after_blank = True  # code goes on as long as it is indented
            return
        if self.open is None:
            if not indented:
                self.in_list = self.planned_list = False
            self.open, self.dropped = [start, end], self.planned or self.planned_list
        self.open[1] = end
        if stripped.endswith(":"):
            self.planned_list = _sets_apart(self.report[max(self.open[0], end - 400) : end])

    def item(self, text: str, start: int, end: int, at: int) -> None:
        self.in_list = True
        box = _BOX.match(text, at)
        ticked = box is not None and (box[1] or box[2]) in _TICKED
        if box is not None:
            at = box.end()
        quoted = text.startswith(">", at)
        self.open = [start + at, end]
        self.dropped = quoted or (not ticked and (box is not None or self.planned or self.planned_list))
        if text.rstrip().endswith(":"):
            self.planned_list = self.planned_list or _sets_apart(text)

    def table_row(self, text: str, start: int, end: int) -> Iterator[_Unit]:
        if _RULE.match(text) and end - start < 400:
            heads, self.row = self.row, None
            if heads is not None:
                self.heads = tuple(self.report[heads.start : heads.end].strip(" |").split("|"))
            return
        yield from self.flush()
        if not self.planned:
            self.row = _Unit(start, end, self.heads or ())

    def skips(self, text: str, start: int, end: int) -> bool:
        """Whether the line is code, a comment, or inside an element that quotes."""
        fence = _FENCE.match(text)
        if self.fence:
            rest = "" if fence is None else text[fence.end() :].strip()
            if fence and fence[1][0] == self.fence[0] and len(fence[1]) >= len(self.fence) and not rest:
                self.fence = ""
            return True
        if self.element:
            if self.report.find(self.element, start, end) >= 0:
                self.element = ""
            return True
        if fence:
            if not (fence[1][0] == "`" and "`" in text[fence.end() :]):
                self.fence = fence[1]
            return True
        opened = _OPENS.search(text) if "<" in text else None
        if opened:
            closer = f"</{opened[1]}" if opened[1] else "-->"
            if self.report.find(closer, start + opened.end(), end) < 0:
                self.element = closer
            return True
        return False


# -- words -------------------------------------------------------------------------------------------------

# Every part is bounded or may stop anywhere, so that no text makes it begin again and again.
_TOKEN = re.compile(
    r"(?P<code>`+)|(?P<quote>[\"“„«]|~~|(?<!\w)['‘](?=\w))|(?P<other>!\[[^\]\n]{0,300}\])|(?P<link>\]\([^()\s]{0,500}\))"
    r"|(?P<option>(?<=\s)(?:--?[a-zA-Z][\w=-]{0,60}|\.(?:/\.\.\.)?(?=\s)))"
    r"|(?P<ratio>\d[\d,]{0,15}/\d[\d,]{0,15}(?![\w/]))|(?P<number>\d(?:[\d,]{0,15}\d)?(?![.,]?\w))"
    r"|(?P<word>\w[\w'’]*(?:[./\\@:]+\w+){0,50})|(?P<end>[.!?…]+)|(?P<arrow>[-=]{1,3}>|→|⇒)|(?P<dash>\s-{1,2}\s|[–—])"
    r"|(?P<good>✅|☑|✔|✓|🟢)|(?P<bad>❌|✗|✘|🔴|❎)|(?P<line>\n)|(?P<mark>[,;:()|&+=/🎉])"
)
_FORMS = {"other": "¤", "arrow": "→", "dash": "—", "good": "✅", "bad": "❌", "line": "⏎", "link": ""}
_CLOSERS = {
    opener: re.compile(closer)
    for opener, closer in {
        '"': '"', "“": "”", "„": "[”“]", "«": "»", "~~": "~~", "'": r"['’](?!\w)", "‘": r"['’](?!\w)",
    }.items()
}  # fmt: skip
_BEHIND_END = " \t\r\n)*_\"'”’»]`"
_LONGEST_QUOTE = 300
_MOST_WORDS = 250


class _Word(NamedTuple):
    form: str
    start: int
    end: int


def _forms_of(word: str) -> list[str]:
    """The plain forms of a word: lower case, its contraction parted."""
    form = word.casefold().replace("’", "'").strip("'_")
    if form.endswith("n't"):
        return [{"wo": "will", "ca": "can", "sha": "shall"}.get(form[:-3], form[:-3]), "not"]
    stem, mark, ending = form.partition("'")
    if mark:
        return [stem, {"ll": "will"}.get(ending, f"'{ending}")]
    return [form] if form else []


def _plain(text: str) -> list[str]:
    """The forms of a label, as they are found in a report."""
    return [form for match in re.finditer(r"[\w']+", text) for form in _forms_of(match.group())]


def _sentences(report: str, start: int, end: int, own: Collection[str]) -> Iterator[tuple[list[_Word], str]]:
    """The sentences of a unit as words, with the mark that ends each; one beyond the bound has none."""
    words: list[_Word] = []
    at = start
    while match := _TOKEN.search(report, at, end):
        first, at = match.span()
        if match.lastgroup == "end" and match.group() != "…" and "..." not in match.group():
            if at == end or report[at] in _BEHIND_END:
                yield (words if len(words) < _MOST_WORDS else []), match.group()
                words = []
            continue
        forms, at = _read(match, report, end, own)
        if len(words) < _MOST_WORDS:
            words += [_Word(form, first, at) for form in forms]
    if len(words) < _MOST_WORDS:
        yield words, ""


def _read(match: re.Match[str], report: str, end: int, own: Collection[str]) -> tuple[list[str], int]:
    """The forms of a token, and the place behind it and what it opens."""
    kind, token, at = match.lastgroup or "", match.group(), match.end()
    limit = min(end, at + _LONGEST_QUOTE)
    if kind == "word":
        return _forms_of(token), at
    if kind == "code":
        close = report.find(token, at, limit)
        return (_code_forms(report[at:close].strip(), own), close + len(token)) if close >= 0 else (["¤"], at)
    if kind == "quote":
        closing = _CLOSERS[token].search(report, at, limit)
        return (["¤"], closing.end()) if closing else ([] if token in "'‘" else ["¤"], at)
    if kind == "option":
        return [] if token in _WHOLES or _QUIET_OPTIONS.fullmatch(token) else ["¤"], at
    if kind == "end":
        return ["…"], at
    form = _FORMS.get(kind, token)
    return [form] if form else [], at


def _code_forms(inside: str, own: Collection[str]) -> list[str]:
    """What stands between code marks: a label, a command that runs a whole check, or something else."""
    plain = _plain(inside)
    if " ".join(plain) in own:
        return plain
    starter = _STARTERS.match(inside)
    match = _COMMAND.match(inside, starter.end() if starter else 0)
    if match is None:
        return ["¤"]
    rest = inside[match.end() :].split()
    whole = all(word in _WHOLES or _QUIET_OPTIONS.fullmatch(word) for word in rest)
    return [f"§{match.lastgroup}"] if whole else ["¤"]


# -- claims ------------------------------------------------------------------------------------------------


class _Found(NamedTuple):
    """A claim, and what is needed to weigh it against the others."""

    claim: Claim
    scope: frozenset[str] = frozenset()
    is_past: bool = False


def check_claims(report: str, labels: Collection[str] = ()) -> tuple[Claim, ...]:
    """What the report states in prose of the outcome of its checks, in order.

    ``args`` holds ``label`` where one of ``labels`` is named, and ``count`` where the number of tests that passed or
    failed is stated.

    1. Units: code, quotations, open boxes and plans are left out. 2. Sentences: a question, a request or a word of
    doubt states nothing. 3. Clauses that one of the forms covers. 4. What the report itself takes back.
    """
    forms = _forms(tuple(sorted({str(label) for label in labels})[:_MOST_LABELS]))
    own = {plain for plain, _ in forms.labels}
    found: list[_Found] = []
    admitted: dict[str, int] = {}
    for unit in _units(report):  # 1.
        if forms.anchor.search(report, unit.start, unit.end) is None:
            continue
        if unit.heads is not None:
            found += _of_row(report, unit, forms, own)
            continue
        fresh: list[_Found] = []
        for words, mark in _sentences(report, unit.start, unit.end, own):
            if words and words[0].form in _EXCEPTS:
                fresh = []
            found += fresh
            fresh = []
            if words and "?" not in mark:  # 2.
                fresh = _of_sentence(words, forms)
                admitted.update(dict.fromkeys(_admitted(words, forms), words[0].start))
        found += fresh
    return tuple(_settled(found, admitted, report))


class _Clause(NamedTuple):
    """A stretch of a sentence that one of the forms covers: of what it speaks, and what it says by kind."""

    start: int
    end: int
    subject: str
    said: Mapping[str, str | None]


def _of_sentence(words: list[_Word], forms: _Forms) -> list[_Found]:
    """3. The claims of one sentence; a word of doubt ends what it can state."""
    text = _text(words)
    if words[0].form in _IMPERATIVES or _NOT_RUN.search(text):
        return []
    places = [0]
    for word in words:
        places.append(places[-1] + len(word.form) + 1)
    found: list[_Found] = []
    done = 0
    for place, word in enumerate(words):
        if places[place] < done:
            continue
        if word.form in _DOUBTS:
            break
        if place and words[place - 1].form not in _BOUNDARIES:
            continue
        clause = _clause(text, places[place], forms)
        if clause is None or _is_of_part(text[: places[place] + 1], words[place - 1].form if place else ""):
            continue
        done = clause.end
        first, last = bisect_left(places, clause.start - 1), bisect_left(places, clause.end)
        stated = _stated(clause.subject, clause.said, (words[first].start, words[last - 1].end), forms)
        if stated and not _taken_back(words[last:], good=stated[0].claim.status == "passed"):
            found += stated
    return found


def _is_of_part(before: str, mark: str) -> bool:
    """Whether what leads to a clause makes it one of a part: "on Linux, …", "core: …", "all but …"."""
    if _UNDER.match(before) or _ALL_BUT.search(before) or (_RUNS.search(before) and _PIECE.search(before)):
        return True
    if mark not in (":", "→"):
        return False
    lead = set(before.split()) - {":", "→"}
    return bool(_PIECE.search(before) or _UNDER_IN.search(before) or (len(lead) <= 3 and not lead <= _TITLES))


def _clause(text: str, at: int, forms: _Forms) -> _Clause | None:
    """The clause that begins at a place, behind the words that may lead to it."""
    grammar = _grammar()
    leads = grammar.leads.match(text, at)
    start = at = leads.end() if leads else at + 1
    tick = text[start : start + 2].strip()
    if tick in ("✅", "❌"):
        at += 2
    bare = grammar.bare.match(text, at)
    if bare:
        return _Clause(at, bare.end(), "", bare.groupdict())
    ran = grammar.ran.match(text, at)
    subject = forms.subject.match(text, ran.end() if ran else at)
    if subject is None:
        return None
    for end in dict.fromkeys((subject.end(), subject.end("core"))):
        said = grammar.says.match(text, end)
        if ran and not (said and (said["value"] or said["tally"])):
            said = grammar.says_of_run.match(text, end)
        if said:
            of_failure = said.groupdict().get("failed") or said.groupdict().get("bad")
            against = tick == "❌" if not of_failure else tick == "✅"
            return None if against else _Clause(at, said.end(), text[subject.start() : end], said.groupdict())
    if tick in ("✅", "❌") and not ran and _TICKED_ALONE.match(text, subject.end()):
        return _Clause(start, subject.end(), subject.group(), {"passed" if tick == "✅" else "bad": tick})
    return None


def _text(words: Sequence[_Word]) -> str:
    """The words as one text for the patterns, a blank at each end."""
    return " " + " ".join(word.form for word in words) + " "


def _taken_back(after: Sequence[_Word], *, good: bool) -> bool:
    """Whether what follows in the sentence takes a statement back."""
    before = ""
    for word in after:
        if word.form in _TAKES_BACK or (good and word.form in _FAILING and before not in _ZERO):
            return True
        before = word.form
    return False


def _stated(
    subject: str, said: Mapping[str, str | None], span: tuple[int, int], forms: _Forms
) -> list[_Found]:
    """The claims of a clause, one for each check that it speaks of; none where its numbers are those of a part."""
    if not subject:
        act = "build" if said.get("builds") else _KINDS[said.get("kind") or "test"]
        return [_Found(_claim(act, "passed", {}, span))]
    if said.get("aside") and forms.noun.fullmatch(said["aside"] or "") is None:
        return []
    tally, value = said.get("tally"), said.get("value") or ""
    verb = said.get("failed") or said.get("bad") or ""
    failed, count = _tally(tally) if tally else (bool(verb), _count(subject))
    of_all = _OF_ALL_TESTS.match(value) is not None
    if of_all:
        count = _count(value)
    if count is None:
        return []
    found = []
    parts = re.split(f" {_JOIN} ", subject)
    for part in parts:
        noun = forms.noun.search(part)
        if noun is None or not _is_whole(part, noun.group(), said.get("passed") or ""):
            return []
        act = _ACT_OF_NOUN.get(noun.group(), noun.group()[1:] if noun.group()[0] == "§" else "check")
        scope = _SCOPES & set(part.split())
        args: dict[str, object] = {}
        label = next((name for plain, name in forms.labels if f" {plain} " in f" {part} "), None)
        if label is not None:
            args["label"] = label
        of_tests = act == "test" and (tally or of_all or noun.group() in _COUNTED_NOUNS)
        if count and of_tests and len(parts) == 1 and not scope:
            args["count"] = count
        claim = _claim(act, "failed" if failed else "passed", args, span)
        found.append(_Found(claim, scope, is_past=verb == "failed"))
    return found


def _claim(act: str, status: str, args: dict[str, object], span: tuple[int, int]) -> Claim:
    return Claim("", args, action=act, status=status, source=Source.PROSE, span=span)


def _is_whole(part: str, noun: str, verb: str) -> bool:
    """Whether the noun stands for a whole check: no single test; no label that is called clean."""
    if noun in _SINGLE and part.endswith(noun):
        return not _OF_ALL.isdisjoint(part.split())
    return noun in _ACT_OF_NOUN or noun[0] == "§" or _ADJECTIVES.isdisjoint(verb.split())


def _count(text: str) -> int | None:
    """The number in a subject, 0 where it has none; None where there are two, or it is zero."""
    numbers = {number.replace(",", "") for number in re.findall(r"(?<!\w)\d[\d,]*(?!\w)", text)}
    if not numbers:
        return 0
    number = numbers.pop()
    return int(number) if not numbers and number.strip("0") and len(number) < 10 else None


def _tally(text: str) -> tuple[bool, int | None]:
    """Whether a tally tells of failures, and how many there are of these or of what passed; None where of neither."""
    counts = {"good": 0, "bad": 0, "total": 0, "": 0}
    told = set()
    for number, word in re.findall(
        rf"([\d,]+) (?:(?:tests?|specs?|test cases) )?({_one_of(_TALLY_WORDS)})(?!\w)", text
    ):
        kind = "good" if word in _GOOD_WORDS else "bad" if word in _BAD_WORDS else ""
        kind = kind or ("total" if word in _TOTAL_WORDS else "")
        counts[kind] = counts[kind] + int(number.replace(",", "")[:9] or 0)
        told.add(kind)
    if counts["bad"]:
        return True, counts["bad"]
    if counts["good"] or ("bad" in told and counts["total"]):
        return False, counts["good"] or counts["total"]
    return False, None


def _of_row(report: str, unit: _Unit, forms: _Forms, own: Collection[str]) -> list[_Found]:
    """The claims of a row of a table: a cell that names a check, and others that say how it came out."""
    if unit.end - unit.start > _LONGEST_ROW:
        return []
    heads = unit.heads or ()
    cells, at = [], unit.start
    for cell in report[unit.start : unit.end].strip().strip("|").split("|"):
        at = report.index(cell, at, unit.end)
        cells.append([word for words, _ in _sentences(report, at, at + len(cell), own) for word in words])
        at += len(cell)
    told = [word for cell in cells for word in cell]
    if any(word.form in _TAKES_BACK or word.form in _DOUBTS for word in told):
        return []
    texts = [_text(cell) for cell in cells]
    named = [
        hit.group() for text in texts if (hit := forms.subject.match(text, 1)) and hit.end() == len(text) - 1
    ]
    values = [(place, hit) for place, text in enumerate(texts) if (hit := _grammar().value.fullmatch(text))]
    if not named or any(
        _OTHER_COLUMNS.search(head) for place, _ in values for head in heads[place : place + 1]
    ):
        return []
    rest = [
        text for place, text in enumerate(texts) if place not in dict(values) and text.strip() != named[0]
    ]
    if not all(_PLAIN_CELL.fullmatch(text) for text in rest):
        return []
    span = told[0].start, told[-1].end
    found = [_stated(named[0], value.groupdict(), span, forms) for _, value in values]
    if len({each.claim.status for stated in found for each in stated}) != 1:
        return []
    return max(found, key=lambda stated: any("count" in each.claim.args for each in stated))


def _admitted(words: list[_Word], forms: _Forms) -> set[str]:
    """The acts of the checks that a sentence speaks of as failing; with a "?" where it may be in the past."""
    spoken = {word.form for word in words}
    if _FAILING.isdisjoint(spoken) or not _NOT_ADMITTED.isdisjoint(spoken):
        return set()
    acts = {_ACT_OF_NOUN.get(noun, noun[1:]) for noun in forms.noun.findall(_text(words))}
    return {f"{act}?" for act in acts} | (set() if spoken & _FAILING <= _PAST_FAILING else acts)


def _settled(found: list[_Found], admitted: Mapping[str, int], report: str) -> Iterator[Claim]:
    """4. Without what was overcome, what is contradicted, and what an admitted failure of its kind goes against."""
    if any(each.claim.status == "failed" for each in found):
        repairs = {match[1] is not None: match.end() for match in _REPAIRS.finditer(report)}
        last = repairs.get(False, -1), max(repairs.values(), default=-1)
        found = [
            each for each in found if each.claim.status == "passed" or each.claim.span[1] > last[each.is_past]
        ]
    said: dict[str | None, set[tuple[str, frozenset[str]]]] = {}
    for each in found:
        said.setdefault(each.claim.action, set()).add((each.claim.status, each.scope))
    final = {each.claim.action: each.claim.status for each in found}
    for each in found:
        act = str(each.claim.action)
        if each.claim.status == "failed":
            stands = final[act] == "failed" and len({scope for _, scope in said[act]}) == 1
        elif ("failed", each.scope) in said[act] or len({status for status, _ in said[act]}) > 1:
            stands = False
        elif each.scope:
            stands = f"{act}?" not in admitted
        else:
            stands = each.claim.span[0] > admitted.get(act, -1)
        if stands:
            yield each.claim
