r"""The suppression markers that are known, a row for each way of writing one: data for ``markers``.

A further marker is a further row. Its texts are written in what POSIX ERE and Python read alike (no ``\b``, no
``(?…)``), with ``~`` for blanks that may be there and ``~~`` for blanks that must, because the search for files that
may hold a marker is made of the same texts. Switches of layout (formatters, import sorters) hide no finding and are
none.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from .scanner import TEXT


class Place(Enum):
    """Where in a comment the tool reads its marker."""

    START = "where the comment starts"
    LEAD = "where it starts, or after the same comment mark within it"
    LINE = "where it starts, or one of its lines does"
    ASIDE = "as LEAD, or after a punctuation mark"
    ANY = "anywhere"


class CommentRow(NamedTuple):
    """A marker in comments: ``text`` is how it is written, ``after`` (Python) what may follow.

    Without ``after`` a word must end where the text does.
    """

    rule: str
    place: Place
    text: str
    families: str = ""
    after: str | None = None


class CodeRow(NamedTuple):
    """A marker in code: ``text`` is part of each line that ``pattern`` (Python, multi-line) matches in.

    It counts where ``path`` or ``beside`` is found in the path or the code (both empty: everywhere) and ``unless`` is
    not. The group ``value``, where the pattern has one, is what stands there when strings are not masked.
    """

    rule: str
    families: str
    text: str
    pattern: str
    path: str = ""
    beside: str = ""
    unless: str = ""


_START, _LEAD, _LINE, _ASIDE, _ANY = Place.START, Place.LEAD, Place.LINE, Place.ASIDE, Place.ANY
_NOQA = "[nN][oO][qQ][aA]"
_LINES = "(-next-line|-line)?"

COMMENTS = (
    # Python
    CommentRow("noqa", _LEAD, _NOQA),
    CommentRow("noqa", _LEAD, f"(flake8|ruff|pydocstyle|pycodestyle|pylama)~[:=]~{_NOQA}"),
    CommentRow("noqa", _LEAD, r"ruff:~(disable|ignore|file-ignore)~\["),
    CommentRow("type-ignore", _LEAD, "type:~ignore"),
    CommentRow(
        "type-ignore",
        _LEAD,
        "(pyright|basedpyright|mypy|ty|pyrefly|zuban|steep|sorbet|typed):~ignore(-errors)?",
    ),
    CommentRow("type-ignore", _LEAD, "mypy:~disable[-_]error[-_]code"),
    CommentRow("type-ignore", _LEAD, "pyright:~report[A-Za-z]+~=~(false|none)"),
    CommentRow("type-ignore", _LEAD, "pyre-(ignore|fixme)(-all-errors)?"),
    CommentRow("type-ignore", _LEAD, "pytype:~(disable|skip-file)"),
    CommentRow("pylint-disable", _ANY, "pylint:~(disable(-next|-msg|-line)?~=|skip-file)", after=""),
    CommentRow("lint-ignore", _LEAD, "lint-(ignore|fixme)~:"),
    CommentRow("no-cover", _ASIDE, "(pragma|PRAGMA)[: \t]~(no|NO)~(cover|COVER|branch|BRANCH)"),
    CommentRow("no-mutate", _LEAD, "pragma:~no~mutate"),
    # security and secrets, in any language
    CommentRow("nosec", _LEAD, "#?nosec"),
    CommentRow("nosec", _ANY, "#nosec", "go js"),
    CommentRow("nosemgrep", _LEAD, "nosem(grep)?"),
    CommentRow("nosonar", _ANY, "NOSONAR"),
    CommentRow("nopmd", _ANY, "NOPMD"),
    CommentRow("nopmd", _LEAD, "CPD-OFF"),
    CommentRow("allow-secret", _ASIDE, "pragma:~(allowlist|whitelist)~(nextline~)?secret"),
    CommentRow("allow-secret", _LEAD, "(gitleaks:allow|trufflehog:ignore|ggignore)"),
    CommentRow("skipcq", _LEAD, "skipcq"),
    CommentRow("codeql-ignore", _LEAD, r"(lgtm|codeql)~\["),
    # spelling and prose
    CommentRow("codespell-ignore", _LEAD, "codespell:~ignore"),
    CommentRow(
        "cspell-disable", _LEAD, "(c[sS]pell|spell-checker|spellchecker):~(disable|ignore)(-next)?(-line)?"
    ),
    CommentRow("markdownlint-disable", _START, "(markdownlint|rumdl)-disable(-next-line|-line|-file)?"),
    CommentRow("textlint-disable", _START, f"textlint-disable{_LINES}"),
    CommentRow("vale-off", _START, "vale~~(off|[A-Za-z.]+~=~NO)", "html markdown"),
    CommentRow("remark-disable", _START, "(lint|alex)~~(disable|ignore)", "html markdown"),
    CommentRow("htmlhint-disable", _START, "htmlhint(-disable|~~[a-z-]+:false|~~ignore:)", after=""),
    CommentRow("template-lint-disable", _START, "(ember-)?template-lint-disable", "html js"),
    CommentRow(
        "template-lint-disable", _LEAD, "(erblint|erb_lint|haml-lint|slim-lint|djlint):~(disable|off)"
    ),
    # JavaScript, TypeScript, styles
    CommentRow("eslint-disable", _START, f"eslint-disable{_LINES}"),
    CommentRow("eslint-disable", _START, "eslint~~[\"'@a-zA-Z/-]+~:~\\[?~[\"']?(0|off)"),
    CommentRow("tslint-disable", _START, f"tslint:~disable{_LINES}"),
    CommentRow("jshint-ignore", _START, "jshint~~(ignore~:|-W[0-9]+)", after=""),
    CommentRow("jshint-ignore", _START, "jslint[ -](disable|ignore)"),
    CommentRow("ts-ignore", _LINE, "@ts-(ignore|expect-error|nocheck)"),
    CommentRow("flow-ignore", _LINE, r"\$Flow(FixMe|Ignore|ExpectedError|Issue)"),
    CommentRow("flow-ignore", _START, f"flowlint{_LINES}~~[a-z-]+:off"),
    CommentRow("flow-ignore", _LINE, "@noflow"),
    CommentRow("biome-ignore", _START, "(biome|rome)-ignore(-all|-start)?"),
    CommentRow("oxlint-disable", _START, f"oxlint-disable{_LINES}"),
    CommentRow("deno-lint-ignore", _START, "deno-lint-ignore(-file)?"),
    CommentRow("no-cover", _START, "(istanbul|c8|v8)~~ignore"),
    CommentRow("no-cover", _START, "node:coverage~~(ignore|disable)"),
    CommentRow("no-cover", _START, "deno-coverage-ignore(-start|-file)?"),
    CommentRow("no-mutate", _START, "Stryker~~disable"),
    CommentRow("stylelint-disable", _START, f"stylelint-disable{_LINES}"),
    CommentRow("csslint-ignore", _START, "csslint~~(ignore|allow):"),
    CommentRow("sass-lint-disable", _START, "(sass|scss)-lint:~disable(-all|-line|-block)?"),
    CommentRow("coffeelint-disable", _START, f"coffeelint:~disable{_LINES}"),
    CommentRow("jscpd-ignore", _START, "jscpd:ignore-start"),
    # Ruby, Elixir, Crystal
    CommentRow("rubocop-disable", _LEAD, "rubocop~:~(disable|todo)"),
    CommentRow("standard-disable", _LEAD, "standard~:~(disable|todo)", "ruby"),
    CommentRow("standard-disable", _START, "standard-disable"),
    CommentRow("ameba-disable", _LEAD, "ameba:~disable"),
    CommentRow("reek-ignore", _START, ":reek:[A-Za-z]+"),
    CommentRow("no-cover", _LEAD, ":nocov:"),
    CommentRow("credo-disable", _START, "credo:disable-for-(this-file|next-line|previous-line|lines)"),
    CommentRow("sobelow-skip", _LEAD, "sobelow_skip"),
    CommentRow("no-cover", _START, "coveralls-ignore(-start|-next-line)?"),
    # Go, C, C++, Rust
    CommentRow("nolint", _LEAD, "nolint"),
    CommentRow("nolint", _ANY, "NOLINT(NEXTLINE|BEGIN)?"),
    CommentRow("lint-ignore", _LEAD, "lint:~(file-)?ignore"),
    CommentRow("revive-disable", _START, f"revive:disable{_LINES}"),
    CommentRow("exhaustive-ignore", _START, "exhaustive:ignore"),
    CommentRow("no-cover", _START, "coverage-ignore"),
    CommentRow("cppcheck-suppress", _LEAD, "cppcheck-suppress(-begin|-file|-macro)?"),
    CommentRow("codechecker-suppress", _START, "codechecker_(suppress|false_positive|intentional)"),
    CommentRow("coverity-ignore", _START, r"coverity\["),
    CommentRow("pvs-ignore", _START, "-V[0-9][0-9][0-9]+", "c csharp java"),
    CommentRow("clazy-exclude", _START, "clazy:exclude"),
    CommentRow("lizard-forgive", _START, "#?lizard~~forgives?"),
    CommentRow(
        "no-cover",
        _ANY,
        "(LCOV|GCOV|GCOVR)_EXCL_(BR_|EXCEPTION_|EXCEPTION_BR_|THROW_)?(LINE|START|FUNCTION|SOURCE|WITHOUT_HIT)",
    ),
    # Java, Kotlin, Scala, Groovy, Swift, C#, Dart
    CommentRow("noinspection", _LINE, "@?noinspection~~[A-Za-z]", after=""),
    CommentRow("noinspection", _START, "suppress~~[A-Z]", "html", ""),
    CommentRow("checkstyle-off", _ANY, "CHECKSTYLE[:. ]~(OFF|SUPPRESS|IGNORE)"),
    CommentRow("checkstyle-off", _LEAD, "SUPPRESS~~CHECKSTYLE"),
    CommentRow("scalastyle-off", _LEAD, "scalastyle:~off"),
    CommentRow("scalafix-off", _LEAD, "scalafix:~(off|ok)"),
    CommentRow("no-cover", _START, r"\$COVERAGE-OFF\$", after=""),
    CommentRow("ktlint-disable", _LEAD, "ktlint-disable"),
    CommentRow("codenarc-disable", _START, f"codenarc-disable{_LINES}"),
    CommentRow("swiftlint-disable", _LEAD, "swiftlint:~disable(:next|:this|:previous)?"),
    CommentRow("resharper-disable", _START, "ReSharper~~disable"),
    CommentRow("dart-ignore", _START, "ignore(_for_file)?:~[a-z_]", "dart", ""),
    CommentRow("no-cover", _START, "coverage:ignore-(line|start|file)"),
    # PHP
    CommentRow("phpcs-ignore", _START, "@?phpcs:~(ignore(File)?|disable)"),
    CommentRow("phpcs-ignore", _START, "@codingStandardsIgnore(Start|Line|File)"),
    CommentRow("phpstan-ignore", _ANY, f"@phpstan-ignore{_LINES}"),
    CommentRow("psalm-suppress", _LINE, "@psalm-suppress"),
    CommentRow(
        "phan-suppress",
        _LINE,
        f"@phan-(file-)?suppress(-current-line|-previous-line|-next-next-line)?{_LINES}",
    ),
    CommentRow("mago-ignore", _LINE, "@mago-(ignore|expect)"),
    CommentRow("no-cover", _LINE, "@codeCoverageIgnore(Start)?"),
    CommentRow("suppress-warnings", _LINE, "@SuppressWarnings", "php"),
    CommentRow("no-mutate", _LINE, "@infection-ignore-all"),
    # Lua, Perl, Haskell, R, Julia, SQL, TeX, hardware, contracts
    CommentRow("luacheck-ignore", _START, "luacheck:~(push~)?(ignore|no~~)", after=""),
    CommentRow("luals-disable", _START, f"@diagnostic~~disable{_LINES}"),
    CommentRow("selene-allow", _START, "selene:~allow"),
    CommentRow("no-critic", _ANY, "##~no~~critic"),
    CommentRow("hlint-ignore", _START, "[hH][lL][iI][nN][tT]~:?~ignore"),
    CommentRow("hlint-ignore", _START, 'ANN~~[a-zA-Z_ :]*"HLint:~ignore'),
    CommentRow("suppress-warnings", _START, "OPTIONS(_GHC)?~~.*-(Wno-|fno-warn-|w[ \t])", "haskell", ""),
    CommentRow("no-cover", _LEAD, "nocov", after=r"(?![\w-])(?![ \t]*end)"),
    CommentRow("squawk-ignore", _START, "squawk-ignore(-file)?"),
    CommentRow("tsqllint-disable", _START, "tsqllint-disable"),
    CommentRow("chktex-ignore", _START, "chktex~[0-9]", "tex", ""),
    CommentRow("verilator-off", _START, "verilator~~(lint|coverage)_off"),
    CommentRow("verible-waive", _START, "verilog_lint:~waive"),
    CommentRow("vsg-off", _START, "vsg_off"),
    CommentRow("solhint-disable", _START, f"(solhint|slither|wake|aderyn)-disable(-start)?{_LINES}"),
    CommentRow("buf-lint-ignore", _LEAD, "buf:lint:ignore"),
    CommentRow("protolint-disable", _START, "protolint:disable(:next|:this)?"),
    # shells, containers, infrastructure, builds
    CommentRow("shellcheck-disable", _START, "shellcheck~~([a-z-]+=[^ \t]+~~)*disable="),
    CommentRow("hadolint-ignore", _START, "hadolint~~(global~~)?ignore~="),
    CommentRow("docker-check-skip", _START, "check~=~([^ \t]*;)?skip=", "docker"),
    CommentRow("yamllint-disable", _START, "yamllint~~disable(-line|-file)?"),
    CommentRow("ansible-lint-skip", _LEAD, "skip_ansible_lint"),
    CommentRow("tfsec-ignore", _LEAD, "(tfsec|trivy):~ignore"),
    CommentRow("checkov-skip", _LEAD, "(checkov|bridgecrew):~skip~="),
    CommentRow("tflint-ignore", _START, "tflint-ignore(-file)?"),
    CommentRow("terrascan-skip", _LEAD, "ts:skip="),
    CommentRow("kics-ignore", _START, "kics-scan~~(ignore|disable)"),
    CommentRow("zizmor-ignore", _LEAD, "zizmor:~ignore"),
    CommentRow("deadnix-skip", _START, "deadnix:~skip"),
    CommentRow("buildifier-disable", _LEAD, "buildifier:~disable~="),
    CommentRow("cmake-lint-disable", _START, "cmake-lint:~disable~="),
    CommentRow("robocop-off", _START, "robocop:~(off|disable)"),
    CommentRow("gherkin-lint-disable", _START, f"gherkin-lint-disable{_LINES}"),
)

_TEST_PATH = (
    r"(?i:(?:\A|[/_.-])(?:tests?|specs?|__tests__|e2e|testing|testthat|cypress)(?:[/_.-]|\Z))|(?:Tests?|Spec|IT)\.\w+\Z"
    r"|(?:\A|/)test[^/]*\Z"
)
_JS_TESTS = r"(?<![\w$.])(?:it|test|describe|context|suite|before|beforeEach)[\s]{0,9}\("
_JS_BASE = r"(?<![\w$.])(?:it|test|describe|context|suite|bench|specify|fixture|Deno\.test|QUnit\.(?:test|module)|QUnit)"
_JS_STEP = r"(?:\s*\.\s*(?:concurrent|sequential|serial|parallel|shuffle|describe|suite|step|each|for|failing|fails|skip|only)(?:\s*\([^()]{0,300}\))?){0,9}?"
_JS_END = rf"(?![\w$])(?!\s*\(\s*[\d])(?!\s*=[^=>{TEXT}])"
_JUNIT = "java kotlin scala groovy"
_NAMED = r"@(?:[a-z]+:[ \t]*\[?[ \t]*)?(?:[A-Za-z_]\w*\.)*"
_FOREIGN_IGNORE = (
    r"^[ \t]*import[ \t]+(?!org\.junit|kotlin\.test|spock\.|org\.scalatest|org\.testng|junit)[\w.]+\.Ignore\b"
)
_ATTRIBUTES = r"^[ \t]*(?:\[[^\[\]\n]*\][ \t]*)*\[[^\[\]\n]*"
_PHP_TESTS = rf"(?<![\w$>:])(?:it|test|describe|todo|arch)\s*\(\s*{TEXT}"
_WORD_START = "(^|[^a-zA-Z0-9_$.])"

CODE = (
    # JavaScript and TypeScript
    *(
        CodeRow(rule, "js", rf"\.~({words})", rf"{_JS_BASE}{_JS_STEP}\s*\.[ \t]*(?:{words}){_JS_END}")
        for rule, words in (
            ("skip", "skip|skipIf|runIf|fixme|ignore"),
            ("only", "only"),
            ("todo", "todo"),
            ("xfail", "fails|failing"),
        )
    ),
    CodeRow("skip", "js", r"this\.skip", r"(?<![\w$.])this\.skip[ \t]*\([ \t]*\)", _TEST_PATH, _JS_TESTS),
    CodeRow(
        "skip", "js", r"t\.skip", rf"(?<![\w$.])t\.skip[ \t]*\([ \t]*(?:\)|{TEXT})", _TEST_PATH, _JS_TESTS
    ),
    CodeRow(
        "todo", "js", r"t\.todo", rf"(?<![\w$.])t\.todo[ \t]*\([ \t]*(?:\)|{TEXT})", _TEST_PATH, _JS_TESTS
    ),
    CodeRow(
        "skip", "js", "pending~\\(", rf"(?<![\w$.])pending[ \t]*\([ \t]*(?:\)|{TEXT})", _TEST_PATH, _JS_TESTS
    ),
    *(
        CodeRow(
            rule,
            "js",
            f"{_WORD_START}{letter}({words})([^a-zA-Z0-9_]|$)",
            rf"(?<![\w$.]){letter}(?:{words})(?:[ \t]*\(\s*{TEXT}|[ \t]+{TEXT}|[ \t]*\.[ \t]*each\b)",
        )
        for rule, letter, words in (
            ("skip", "x", "it|describe|test|context|specify"),
            ("only", "f", "it|describe|test|context|specify"),
        )
    ),
    *(
        CodeRow(
            rule,
            "js",
            f"{rule}~:",
            rf"(?<![\w$.])(?:it|test|describe|suite)[ \t]*\([ \t]*{TEXT}+[ \t]*,[ \t]*\{{[^{{}}\n]{{0,200}}?"
            rf"(?<![\w$]){rule}[ \t]*:[ \t]*(?:true\b|{TEXT})",
        )
        for rule in ("skip", "only", "todo")
    ),
    # Go
    CodeRow(
        "skip",
        "go",
        r"\.Skip(f|Now)?~\(",
        r"(?<![\w.])(?:[tbf]|tb|\w{1,20}\.T\(\))\.Skip(?:f|Now)?[ \t]*\(",
        r"_test\.go\Z",
        r"\btesting\.(?:T|B|F|TB)\b",
    ),
    CodeRow(
        "skip",
        "go",
        f"{_WORD_START}([PX](It|Describe|Context|When|Specify|Entry|DescribeTable)|Skip)~\\(",
        rf"(?<![\w.])(?:[PX](?:It|Describe|Context|When|Specify|Entry|DescribeTable)|Skip)[ \t]*\(\s*{TEXT}",
    ),
    CodeRow(
        "only",
        "go",
        f"{_WORD_START}F(It|Describe|Context|When|Specify|Entry|DescribeTable)~\\(",
        rf"(?<![\w.])F(?:It|Describe|Context|When|Specify|Entry|DescribeTable)[ \t]*\(\s*{TEXT}",
    ),
    # Rust
    CodeRow(
        "skip",
        "rust",
        "ignore",
        r"#!?\[\s*(?:cfg_attr\s*\([^\]\n]{0,300}?[,(]\s*)?ignore\b",
    ),
    CodeRow(
        "rust-allow",
        "rust",
        r"(allow|expect)~\(",
        r"#!?\[\s*(?:cfg_attr\s*\([^\]\n]{0,300}?[,(]\s*)?(?:allow|expect)[ \t]*\(",
    ),
    CodeRow(
        "no-cover",
        "rust",
        r"coverage~\(~off",
        r"#!?\[\s*(?:cfg_attr\s*\([^\]\n]{0,300}?[,(]\s*)?coverage[ \t]*\([ \t]*off",
    ),
    CodeRow(
        "no-mutate",
        "rust",
        "mutants::skip",
        r"#!?\[\s*(?:cfg_attr\s*\([^\]\n]{0,300}?[,(]\s*)?mutants::skip\b",
    ),
    # C, C++, C#, F#, Visual Basic
    CodeRow(
        "pragma-warning",
        "c csharp",
        "#~pragma~~(warning|GCC|clang)",
        r"^[ \t]*#[ \t]*pragma[ \t]+(?:warning[ \t]*\([^)\n]*?(?:disable|suppress)|(?:GCC|clang)[ \t]+diagnostic[ \t]+ignored"
        r"|warning[ \t]+disable)",
    ),
    CodeRow(
        "pragma-warning",
        "c",
        "__pragma",
        r"\b__pragma[ \t]*\([ \t]*warning[ \t]*\([^)\n]{0,200}?(?:disable|suppress)",
    ),
    CodeRow("nullable-disable", "csharp", "#~nullable~~disable", r"^[ \t]*#[ \t]*nullable[ \t]+disable\b"),
    CodeRow("pragma-warning", "fsharp", "#nowarn", r"^[ \t]*#nowarn\b"),
    CodeRow("pragma-warning", "basic", "#Disable~~Warning", r"^[ \t]*#Disable[ \t]+Warning\b"),
    CodeRow(
        "skip",
        "c",
        "(GTEST_SKIP|QSKIP|TEST_IGNORE)",
        r"(?<![\w#])(?:GTEST_SKIP_?|QSKIP|TEST_IGNORE(?:_MESSAGE)?)[ \t]*\(",
    ),
    CodeRow("skip", "c", "XCTSkip", r"\bXCTSkip(?:If|Unless)?[ \t]*\("),
    CodeRow("skip", "c", "doctest::skip", r"\bdoctest::skip\b"),
    CodeRow("xfail", "c", "doctest::(may|should)_fail", r"\bdoctest::(?:may|should)_fail\b"),
    CodeRow(
        "skip",
        "c",
        "DISABLED_",
        r"\b(?:TYPED_)?TEST(?:_[FP])?[ \t]*\([^()]{0,200}?\bDISABLED_\w",
    ),
    CodeRow(
        "skip",
        "csharp",
        "Ignore",
        _ATTRIBUTES + r"(?<![\w.])(?:[A-Z]\w*\.){0,9}Ignore(?:Attribute)?[ \t]*[\](,]",
        unless=r"^[ \t]*using[ \t]+(?:SQLite|CsvHelper|ServiceStack|LinqToDB|PetaPoco|NPoco)\b",
    ),
    CodeRow(
        "skip", "csharp", "Explicit", _ATTRIBUTES + r"(?<![\w.])(?:NUnit\.Framework\.)?Explicit[ \t]*[\](,]"
    ),
    CodeRow(
        "suppress-warnings",
        "csharp",
        "SuppressMessage",
        _ATTRIBUTES + r"(?<![\w.])(?:[A-Z]\w*\.){0,9}(?:Unconditional)?SuppressMessage(?:Attribute)?[ \t]*\(",
    ),
    CodeRow(
        "no-cover",
        "csharp",
        "ExcludeFromCodeCoverage",
        _ATTRIBUTES + r"(?<![\w.])(?:[A-Z]\w*\.){0,9}ExcludeFromCodeCoverage(?:Attribute)?[ \t]*[\](,]",
    ),
    CodeRow(
        "skip",
        "csharp",
        "Skip~=",
        r"\[[ \t]*(?:\w+\.){0,9}\w{0,40}(?:Fact|Theory|InlineData|MemberData|ClassData)(?:Attribute)?[ \t]*\([^\]]{0,500}?\bSkip[ \t]*=",
    ),
    CodeRow(
        "skip",
        "csharp basic fsharp",
        r"Assert\.(Ignore|Inconclusive)",
        r"(?<![\w.])Assert\.(?:Ignore|Inconclusive)[ \t]*\(",
    ),
    CodeRow("skip", "fsharp basic", "Ignore", r"\[?<[ \t]*(?:[A-Z]\w*\.){0,9}Ignore(?:Attribute)?[ \t]*[(>]"),
    CodeRow(
        "skip",
        "fsharp",
        f"{_WORD_START}p?test(Case|List|Task|Async|Property)",
        rf"(?<![\w.])ptest(?:Case|List|Task|Property)?(?:Async|Task)?[ \t]+{TEXT}",
    ),
    # Java, Kotlin, Scala, Groovy
    CodeRow(
        "suppress-warnings",
        _JUNIT,
        "(Suppress|nowarn)",
        _NAMED
        + r"(?:Suppress(?:Warnings|FBWarnings|Lint|AnimalSniffer|ForbiddenApi\w*)?|SuppressFBWarnings|SuppressWarnings|nowarn)\b",
    ),
    CodeRow(
        "skip",
        _JUNIT,
        "(Disabled|Ignore|PendingFeature)",
        _NAMED + r"(?:Disabled(?:If\w*|On\w+|For\w+|In\w+|Until)?|Ignore(?:If)?|PendingFeature(?:If)?)\b",
        unless=_FOREIGN_IGNORE,
    ),
    CodeRow("only", "groovy", "IgnoreRest", r"@IgnoreRest\b"),
    CodeRow("skip", _JUNIT, "enabled~=~false", r"@Test[ \t]*\([^)]{0,300}?\benabled[ \t]*=[ \t]*false\b"),
    CodeRow(
        "skip", "kotlin", "enabled~=~false", r"\.config[ \t]*\([^)\n]{0,200}?\benabled[ \t]*=[ \t]*false\b"
    ),
    CodeRow("skip", _JUNIT, "SkipException", r"\bnew[ \t]+(?:\w+\.){0,9}SkipException[ \t]*\("),
    CodeRow(
        "skip",
        "kotlin",
        f"{_WORD_START}x(it|describe|test|context|given|should|feature|scenario)([^a-zA-Z0-9_]|$)",
        rf"(?<![\w.])x(?:it|describe|test|context|given|should|feature|scenario)[ \t]*\(\s*{TEXT}",
    ),
    CodeRow(
        "skip",
        "scala",
        "ignore",
        rf"(?<![\w.])ignore[ \t]*\([ \t]*{TEXT}|{TEXT}\.ignore\b|{TEXT}[ \t]+ignore[ \t]*\{{|@@[ \t]*(?:TestAspect\.)?ignore\b",
    ),
    CodeRow("only", "scala", r"\.only", rf"{TEXT}\.only\b"),
    CodeRow("xfail", "scala", r"\.fail", rf"{TEXT}\.fail\b"),
    # Swift, Dart
    CodeRow("skip", "swift", "XCTSkip", r"\bXCTSkip(?:If|Unless)?[ \t]*\("),
    CodeRow(
        "xfail",
        "swift",
        "(XCTExpectFailure|withKnownIssue)",
        r"(?<![\w.])(?:XCTExpectFailure|withKnownIssue)\b[ \t]*[({]",
    ),
    CodeRow("skip", "swift", r"\.disabled", r"@(?:Test|Suite)[ \t]*\([^)\n]{0,300}?\.disabled\b"),
    CodeRow("skip", "dart", "skip~:", rf"(?<![\w$.])skip[ \t]*:[ \t]*(?:true\b|{TEXT})"),
    CodeRow("only", "dart", "solo~:", r"(?<![\w$.])solo[ \t]*:[ \t]*true\b"),
    CodeRow("skip", "dart", "@Skip", r"@Skip[ \t]*\("),
    # PHP
    CodeRow("skip", "php", "markTestSkipped", r"(?:->|::)[ \t]*markTestSkipped[ \t]*\("),
    CodeRow("todo", "php", "markTestIncomplete", r"(?:->|::)[ \t]*markTestIncomplete[ \t]*\("),
    CodeRow("skip", "php", "->~skip", rf"->[ \t]*skip[ \t]*\([ \t]*(?:\)|{TEXT})", beside=_PHP_TESTS),
    CodeRow("only", "php", "->~only", r"->[ \t]*only[ \t]*\([ \t]*\)", beside=_PHP_TESTS),
    CodeRow("todo", "php", "->~todo", r"->[ \t]*todo[ \t]*\(", beside=_PHP_TESTS),
    CodeRow("no-cover", "php", "CodeCoverageIgnore", r"#\[[^\[\]\n]{0,200}?\bCodeCoverageIgnore\b"),
    # Ruby, Crystal
    CodeRow(
        "skip",
        "ruby",
        f"{_WORD_START}x(it|describe|context|specify|example|scenario|feature)([^a-zA-Z0-9_]|$)",
        rf"^[ \t]*(?:RSpec\.)?x(?:it|describe|context|specify|example|scenario|feature)(?:[ \t]*\(\s*|[ \t]+){TEXT}"
        r"|^[ \t]*(?:RSpec\.)?x(?:it|describe|context|specify|example|scenario|feature)[ \t]+(?:do\b|\{|[A-Z])",
    ),
    CodeRow(
        "only",
        "ruby",
        f"{_WORD_START}f(it|describe|context|specify|example|scenario|feature)([^a-zA-Z0-9_]|$)",
        rf"^[ \t]*(?:RSpec\.)?f(?:it|describe|context|specify|example|scenario|feature)(?:[ \t]*\(\s*|[ \t]+){TEXT}"
        r"|^[ \t]*(?:RSpec\.)?f(?:it|describe|context|specify|example|scenario|feature)[ \t]+(?:do\b|\{|[A-Z])",
    ),
    CodeRow("skip", "ruby", "(skip|pending)", rf"^[ \t]*(?:skip|pending)(?:[ \t]*\([ \t]*|[ \t]+){TEXT}"),
    CodeRow(
        "skip",
        "ruby",
        "(skip|pending)",
        r"^[ \t]*(?:skip|pending)[ \t]*(?:$|\([ \t]*\)[ \t]*$|;|(?:if|unless)\b)",
        r"(?i:(?:\A|[/_])(?:tests?|specs?)(?:[/_.]|\Z))",
        rf"^[ \t]*(?:RSpec\.)?(?:describe|context|it|test)[ \t]+(?:{TEXT}|[A-Z])|\bMinitest::Test\b|\bActiveSupport::TestCase\b",
    ),
    *(
        CodeRow(
            rule,
            "ruby",
            words,
            rf"^[ \t]*(?:RSpec\.)?(?:it|describe|context|specify|example|scenario|feature|test)\b[^\n]*?,[ \t]*"
            rf"(?::{words}\b|{words}:(?![ \t]*(?:false|nil)\b)|:{words}[ \t]*=>(?![ \t]*(?:false|nil)\b))",
        )
        for rule, words in (("skip", "(skip|pending)"), ("only", "focus"))
    ),
    # Elixir, Erlang, Clojure, Julia, Haskell, Elm, OCaml, Nim, Zig
    CodeRow(
        "skip",
        "elixir",
        "(:skip|skip:)",
        r"^[ \t]*@(?:module|describe)?tag\b[^\n]*?(?::skip\b|\bskip:(?![ \t]*(?:false|nil)\b))",
    ),
    CodeRow("dialyzer-nowarn", "elixir", "@dialyzer", r"^[ \t]*@dialyzer\b"),
    CodeRow("dialyzer-nowarn", "erlang", "dialyzer", r"^-dialyzer[ \t]*\("),
    CodeRow("dialyzer-nowarn", "erlang", "nowarn", r"^-compile[ \t]*\([^\n]*?\bnowarn_"),
    CodeRow("clj-kondo-ignore", "clojure", "clj-kondo/ignore", r"#_[ \t]*\{?[ \t]*:clj-kondo/ignore\b"),
    CodeRow("skip", "clojure", ":kaocha/(skip|pending)", r":kaocha/(?:skip|pending)\b"),
    CodeRow("skip", "julia", "@test_skip", r"(?<!\w)@test_skip\b"),
    CodeRow("xfail", "julia", "@test_broken", r"(?<!\w)@test_broken\b"),
    CodeRow("skip", "julia", "skip~=", r"(?<!\w)@test\b[^\n]{0,300}?\bskip[ \t]*=(?!=|[ \t]*false\b)"),
    CodeRow("xfail", "julia", "broken~=", r"(?<!\w)@test\b[^\n]{0,300}?\bbroken[ \t]*=(?!=|[ \t]*false\b)"),
    CodeRow(
        "skip",
        "haskell",
        f"{_WORD_START}x(it|describe|context|specify|prop)([^a-zA-Z0-9_]|$)",
        rf"(?<![\w.'])x(?:it|describe|context|specify|prop)[ \t]+{TEXT}",
    ),
    CodeRow(
        "only",
        "haskell",
        f"{_WORD_START}f(it|describe|context|specify|prop)([^a-zA-Z0-9_]|$)",
        rf"(?<![\w.'])f(?:it|describe|context|specify|prop)[ \t]+{TEXT}",
    ),
    CodeRow("skip", "haskell", "pendingWith", r"(?<![\w.'])pendingWith\b(?![ \t]*::)"),
    *(
        CodeRow(word, "elm", rf"Test\.{word}", rf"(?<![\w.])Test\.{word}\b")
        for word in ("skip", "only", "todo")
    ),
    CodeRow("suppress-warnings", "ocaml", "warning", r"\[@{1,3}(?:ocaml\.)?warning\b"),
    CodeRow(
        "suppress-warnings",
        "nim",
        "(warning|hint)s?",
        r"\{\.[^}\n]{0,200}?\b(?:warning|hint)s?(?:\[\w+\])?[ \t]*:[ \t]*off\b",
    ),
    CodeRow("skip", "zig", "SkipZigTest", r"\berror\.SkipZigTest\b"),
    # Perl, Lua, R, shells, Robot Framework, Gherkin
    CodeRow("skip", "perl", "(skip_all|todo_skip)", r"(?<![\w$@%&>:])(?:skip_all|todo_skip)\b"),
    CodeRow("skip", "perl", "skip", rf"(?<![\w$@%&>:])skip(?:[ \t]*\([ \t]*|[ \t]+){TEXT}"),
    CodeRow("skip", "lua", "pending~\\(", rf"(?<![\w.:])pending[ \t]*\([ \t]*{TEXT}"),
    CodeRow("skip", "r", "skip", r"(?<![\w.])(?:testthat::)skip(?:_\w+)?[ \t]*\("),
    CodeRow(
        "skip", "r", "skip", r"(?<![\w.])skip(?:_(?:if|on|unless)_?\w*)?[ \t]*\(", r"(?:\A|/)tests?(?:/|\Z)"
    ),
    CodeRow("skip", "shell", "skip", r"(?:^|&&|\|\||;|\bthen\b)[ \t]*skip\b(?![ \t]*(?:\(|=))", r"\.bats\Z"),
    CodeRow(
        "skip", "powershell", "-Skip", r"^[ \t]*(?:It|Describe|Context)\b[^\n]*?[ \t]-Skip\b(?!:\$false)"
    ),
    CodeRow(
        "skip",
        "powershell",
        "Set-ItResult",
        r"\bSet-ItResult\b[^\n]{0,300}?-(?:Skipped|Pending|Inconclusive)\b",
    ),
    CodeRow(
        "suppress-warnings",
        "powershell",
        "SuppressMessage",
        r"\[[\w.]{0,80}SuppressMessage(?:Attribute)?[ \t]*\(",
    ),
    CodeRow("skip", "robot", "robot:(skip|exclude)", r"(?<!\S)robot:(?:skip|exclude)(?!\S)"),
    CodeRow("skip", "robot", f"{_WORD_START}Skip", r"^(?: {2,}|\t+)Skip(?: If)?(?= {2}|\t|[ \t]*$)"),
    CodeRow("skip", "gherkin", "@(skip|ignore)", r"^[ \t]*(?:@\S+[ \t]+)*@(?:skip|ignore)(?!\S)"),
    # continuous integration
    CodeRow(
        "continue-on-error",
        "yaml",
        "continue-on-error",
        r"(?:^[ \t]*(?:-[ \t]+)*|[{,][ \t]*)[\"']?continue-on-error[\"']?[ \t]*:(?P<value>[^\n,}]*)",
    ),
    CodeRow(
        "continue-on-error",
        "yaml",
        "continueOnError",
        r"(?:^[ \t]*(?:-[ \t]+)*|[{,][ \t]*)[\"']?continueOnError[\"']?[ \t]*:(?P<value>[^\n,}]*)",
    ),
    CodeRow(
        "allow-failure",
        "yaml",
        "allow_failure",
        r"(?:^[ \t]*(?:-[ \t]+)*|[{,][ \t]*)[\"']?allow_failure[\"']?[ \t]*:(?P<value>[^\n,}]*)",
    ),
    CodeRow("allow-failure", "yaml", "allow_failures", r"^[ \t]*allow_failures[ \t]*:[ \t]*(?:$|[\[&*])"),
    CodeRow(
        "allow-failure",
        "yaml",
        "soft_fail",
        r"(?:^[ \t]*(?:-[ \t]+)*|[{,][ \t]*)[\"']?soft_fail[\"']?[ \t]*:(?P<value>[^\n,}]*)",
    ),
    CodeRow(
        "allow-failure",
        "yaml",
        "exit_codes",
        r"^([ \t]*)allow_failure[ \t]*:[ \t]*(?:\{[ \t]*|\n\1[ \t]+)exit_codes\b",
    ),
    CodeRow("allow-failure", "yaml", "failure~:~ignore", r"^[ \t]*failure[ \t]*:[ \t]*ignore[ \t]*$"),
)

# Python: what a dotted name means, by whatever name it was imported, and how it must stand to count.
PYTHON = {
    "pytest.mark.skip": ("skip", "named"),
    "pytest.mark.skipif": ("skip", "named"),
    "pytest.mark.xfail": ("xfail", "named"),
    "pytest.mark.no_cover": ("no-cover", "named"),
    "pytest.skip": ("skip", "called"),
    "pytest.xfail": ("xfail", "called"),
    "pytest.importorskip": ("skip", "called"),
    "unittest.skip": ("skip", "called"),
    "unittest.skipIf": ("skip", "called"),
    "unittest.skipUnless": ("skip", "called"),
    "unittest.expectedFailure": ("xfail", "called"),
    "unittest.SkipTest": ("skip", "called"),
    "django.test.skipIfDBFeature": ("skip", "called"),
    "django.test.skipUnlessDBFeature": ("skip", "called"),
    "django.test.skipUnlessAnyDBFeature": ("skip", "called"),
    "typing.no_type_check": ("no-type-check", "called"),
}
PYTHON_TEXT = "(skip|xfail|importorskip|expectedFailure|SkipTest|skipTest|no_cover|no_type_check)"
# Modules that hold the names of another one.
PYTHON_MODULES = {
    "unittest.case": "unittest",
    "unittest2": "unittest",
    "twisted.trial.unittest": "unittest",
    "testtools": "unittest",
    "absl.testing.absltest": "unittest",
    "nose": "unittest",
    "nose.plugins.skip": "unittest",
    "_pytest.outcomes": "pytest",
    "_pytest.mark": "pytest",
    "py.test": "pytest",
    "typing_extensions": "typing",
    "django.test.testcases": "django.test",
}

RULES = frozenset(
    {row.rule for row in COMMENTS} | {row.rule for row in CODE} | {rule for rule, _ in PYTHON.values()}
)

# Some of these stands in every marker: what files are searched for first. POSIX ERE, and Python alike.
STEMS = (
    r"[nN][oO][qQ][aA]|gnore|isable|kip|uppress|[nN][oO][lL][iI][nN][tT]|only|todo|ending|xfail|Flow|"
    r"flow|EXCL|cover|COVER|llow|arning|off|OFF|xpect|nosec|nosem|NOSONAR|NOPMD|CPD-|fixme|"
    r"pyright|pragma|PRAGMA|mutate|critic|failing|fails|\.fail|should_fail|may_fail|broken|focus|"
    r"solo|enabled|exclude|TEST_IGNORE|DISABLED_|SKIP|ExpectedIssue|KnownIssue|Failure|nowarn|nocov|"
    r"nocheck|CodeCoverage|no_type_check|noinspection|CHECKSTYLE|OPTIONS|eslint|hint|lint[-_:]|vale|"
    r"lgtm|codeql|chktex|codechecker|forgive|luacheck|ruff|whitelist|:reek:|dialyzer|-V[0-9]|Wno-|"
    r"runIf|[fx](it|describe|test|context|specify|example|scenario|feature|prop|given|should)|"
    r"[PXF](It|Describe|Context|When|Specify|Entry)|ptest|Explicit|Inconclusive|Incomplete|"
    r"exit_codes|failure|soft_fail|allow_fail|continue-?[oO]n-?[eE]rror|ItResult|robot:|scalafix|"
    r"SkipZig|test(Case|List|Task|Async|Prop)"
)
