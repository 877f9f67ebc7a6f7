"""What the words of one command start in the end, which acts it performs, and which options make that no check.

One word more in a table is one program, option or target more. A program, option or way of starting that is not
listed is taken to do what it says: what is unknown masks nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

_MOST_WRAPPERS = 20


def wordset(text: str) -> frozenset[str]:
    """The words of a text: how the tables are written."""
    return frozenset(text.split())


def _each(table: Mapping[str, str]) -> dict[str, frozenset[str]]:
    """A table whose keys may name several programs, by program."""
    found: dict[str, frozenset[str]] = {}
    for names, text in table.items():
        for name in names.split(", "):
            found[name] = found.get(name, frozenset()) | wordset(text)
    return found


def _turned(table: Mapping[str, str]) -> dict[str, frozenset[str]]:
    """A table the other way round: the keys that a word stands behind, by word."""
    found: dict[str, frozenset[str]] = {}
    for key, text in table.items():
        for word in text.split():
            found[word] = found.get(word, frozenset()) | {key}
    return found


# -- what performs a check ---------------------------------------------------------------------------------

ACTS = ("test", "build", "lint", "typecheck", "format")
_BY_PROGRAM = _turned(
    {
        "test": "pytest py.test nose2 nosetests trial ward behave robot stestr -munittest -mdoctest jest vitest "
        "mocha ava tap tape jasmine karma cypress playwright qunit wdio nightwatch testcafe web-test-runner rspec "
        "minitest cucumber phpunit pest behat codecept paratest ctest ginkgo gotestsum bats prove busted elm-test "
        "shellspec",
        "build": "ninja webpack rollup esbuild parcel tsup gcc g++ clang clang++ cc c++ javac rustc kotlinc xcbuild "
        "msbuild scons -mbuild",
        "lint": "flake8 pylint pycodestyle pydocstyle pyflakes bandit vulture pylama prospector codespell "
        "lint-imports eslint oxlint tslint jshint jslint standard xo stylelint htmlhint commitlint knip depcheck "
        "golangci-lint staticcheck revive govulncheck rubocop standardrb brakeman reek phpcs phpmd phpstan psalm "
        "shellcheck hadolint actionlint yamllint jsonlint ansible-lint tflint checkov markdownlint "
        "markdownlint-cli2 vale proselint luacheck clang-tidy cppcheck cpplint swiftlint ktlint detekt checkstyle "
        "djlint kubeconform luac",
        "typecheck": "mypy dmypy pyright basedpyright pytype tsc vue-tsc svelte-check phpstan psalm",
        "format": "black isort yapf autopep8 prettier gofmt gofumpt goimports rustfmt clang-format shfmt dprint "
        "swiftformat cmake-format",
    }
)
# Programs that do this or that by their first word.
_BY_WORD = {
    program: _turned(table)
    for programs, table in {
        "cargo": {
            "test": "test t",
            "build": "build b",
            "typecheck": "check c",
            "lint": "clippy",
            "format": "fmt",
        },
        "cargo-nextest": {"test": "run"},
        "cross": {"test": "test", "build": "build", "typecheck": "check", "lint": "clippy"},
        "go": {"test": "test", "build": "build", "lint": "vet", "format": "fmt"},
        "ruff": {"lint": "check", "format": "format"},
        "ty, pyrefly, pyre, steep, flow, astro": {"typecheck": "check"},
        "srb": {"typecheck": "tc"},
        "biome": {"lint": "lint check ci", "format": "format"},
        "pre-commit": {"lint": "run"},
        "trunk": {"lint": "check"},
        "helm, buf, sqlfluff": {"lint": "lint"},
        "terraform, tofu": {"lint": "validate"},
        "dotnet": {"test": "test", "build": "build publish", "format": "format"},
        "bazel, bazelisk, buck, buck2, pants, please": {"test": "test", "build": "build", "lint": "lint"},
        "swift, zig, stack, cabal, forge": {"test": "test", "build": "build"},
        "dune": {"test": "test runtest", "build": "build"},
        "meson": {"test": "test", "build": "compile"},
        "cmake": {"build": "--build"},
        "xcodebuild": {"test": "test test-without-building", "build": "build build-for-testing archive"},
        "flutter, dart": {"test": "test", "build": "build compile", "lint": "analyze", "format": "format"},
        "mix": {
            "test": "test",
            "build": "compile",
            "lint": "credo",
            "typecheck": "dialyzer",
            "format": "format",
        },
        "rebar3": {"test": "eunit ct", "build": "compile", "typecheck": "dialyzer"},
        "lein": {"test": "test", "build": "compile"},
        "rails": {"test": "test test:all spec"},
        "artisan, manage.py, setup.py": {"test": "test", "build": "build"},
        "ng": {"test": "test e2e", "build": "build", "lint": "lint"},
        "next": {"build": "build", "lint": "lint"},
        "vite, nuxt, gatsby, hatch, flit, docker, podman, buildah, uv, poetry, pdm": {"build": "build"},
        "react-scripts, craco": {"test": "test test:unit", "build": "build"},
        "vue-cli-service": {"test": "test test:unit", "build": "build", "lint": "lint"},
        "deno": {"test": "test", "lint": "lint", "typecheck": "check", "format": "fmt"},
    }.items()
    for program in programs.split(", ")
}
# Programs that are told the names of targets, sessions or scripts.
_BY_TARGET = wordset(
    "make gmake rake tox nox gradle gradlew mvn mvnw sbt just task invoke inv poe turbo nx lerna grunt gulp mage "
    "earthly composer npm yarn pnpm bun"
)
_WITHOUT_TARGET = {"make": "build", "gmake": "build", "rake": "test", "tox": "test", "nox": "test"}
_KNOWN = _BY_PROGRAM.keys() | _BY_WORD.keys() | _BY_TARGET
_BY_PART = _turned(  # of the name of a target or script
    {
        "test": "test tests t tst unittest unittests runtest runtests spec specs e2e pytest jest vitest surefire "
        "integrationtest",
        "build": "build compile assemble package bundle classes all",
        "lint": "lint linter eslint ruff flake8 clippy vet checkstyle detekt ktlint pylint rubocop analyze style",
        "typecheck": "typecheck typecheckers types mypy tsc pyright typing",
        "format": "fmt format formatcheck prettier spotless scalafmt black",
        "check": "check checks verify validate qa",
    }
)
_BUILDS = wordset("test-compile testclasses buildcheck")  # whole names
# Words of a target's name that make it something else: data for tests, a server, a watcher.
_NO_TARGETS = wordset(
    "data db database deps dependencies clean install setup prepare pre fixture fixtures seed env image images "
    "watch serve server start stop up down teardown report reports docs doc logs log index init generate gen "
    "helper helpers utils tool tools deploy publish release container containers config update fix write script"
)
# Words that a script's name may have beside the act: run_all_unit_tests.sh.
_SCRIPT_WORDS = (
    wordset("run runner all unit integration quick fast full smoke e2e and py sh js") | _BY_PART.keys()
)
_HUMPS = re.compile(r"[A-Z]?[a-z]+\d*|[A-Z]+(?![a-z])|\d+")
_SCRIPTS = (".sh", ".bash", ".py", ".js", ".mjs", ".cjs", ".ts", ".rb", ".php", ".pl", ".ps1", ".zsh")
_SYSTEM = wordset("/bin /usr/bin /usr/local/bin /sbin /usr/sbin /opt/homebrew/bin")
_SHELLS = wordset("sh bash zsh dash ksh ksh93 mksh ash rbash")
_INTERPRETERS = wordset("python node ruby php perl tsx ts-node") | _SHELLS
_HAND_ON = wordset("npm yarn pnpm bun")  # what stands behind the name, or "--", is for the script
_GRADLE = wordset("gradle gradlew")
_MAVEN = wordset("mvn mvnw")
_SKIPS_TESTS = wordset("-DskipTests -DskipTests=true -Dmaven.test.skip -Dmaven.test.skip=true")
# Words behind which the name of a script stands.
_SUB_RUNS = wordset("run run-script run-many exec workspace workspaces foreach r runs")
# What these run is named by an option.
_NAMES_BY_OPTION = _each({"tox": "-e --env", "nox": "-s --session --sessions -e"})
# Options with a value that stand before the word which says what a program does.
_BEFORE_WORD = _each(
    {
        "npm, pnpm, yarn, bun": "--prefix -w --workspace -C --cwd --filter -F --dir --userconfig",
        "uv, poetry, pdm": "--project --directory -C -p",
        "docker, podman, docker-compose": "-f --file -p --project-name --profile --context -H --host --env-file "
        "--project-directory",
        "kubectl": "-n --namespace --context --kubeconfig",
        "cargo": "--config -C -Z --color --manifest-path",
        "go": "-C",
        "make, gmake": "-C --directory -f --file --makefile -I -o -W -E",
        "gradle, gradlew": "-p --project-dir -b --build-file -x --exclude-task --tests -I --init-script -c "
        "--console --max-workers",
        "mvn, mvnw": "-f --file -pl --projects -P -s --settings -T --threads -rf",
        "xcodebuild": "-scheme -project -workspace -destination -configuration -sdk -derivedDataPath -testPlan "
        "-resultBundlePath -target -only-testing -skip-testing",
        "rake": "-f --rakefile -R -I -r --require -C --directory",
        "just, task": "-f --justfile -d --working-directory --taskfile --dir --set",
        "tox": "-c --conf --workdir --root --result-json",
        "nox": "-f --noxfile -k --keywords -t --tags -p --python --envdir",
        "deno": "-c --config",
        "turbo, nx, lerna": "--filter --scope --concurrency",
        "ruff": "--config --color",
        "terraform, tofu": "-chdir",
        "python": "-W -X",
        "node": "-r --require --import --loader",
        "ruby": "-I -r",
        "php": "-d -c",
        "perl": "-I",
    }
)


def _next_word(words: Sequence[str], at: int, program: str) -> int:
    """The first place from ``at`` on that holds no option and no value of one."""
    valued = _BEFORE_WORD.get(program, frozenset())
    while at < len(words) and words[at].startswith("-") and words[at] not in ("-", "--"):
        at += 2 if words[at] in valued else 1
    return at


def _target_acts(name: str) -> frozenset[str]:
    """The act that the name of a target or script speaks of: test:unit, testDebugUnitTest, :app:lint."""
    name = name[-200:]
    if name.lower() in _BUILDS:
        return frozenset({"build"})
    parts = {part.lower() for part in _HUMPS.findall(name)}
    if parts & _NO_TARGETS:
        return frozenset()
    acts = frozenset(act for part in parts for act in _BY_PART.get(part, ()))
    if parts >= {"type", "check"}:
        acts |= {"typecheck"}
    return acts - {"check"} or acts


def _script_acts(path: str) -> frozenset[str]:
    """The act that a script's file name speaks of, every word of it: run_tests.sh, bin/lint, test_dates.py."""
    folder, _, name = path[-300:].replace("\\", "/").rpartition("/")
    stem = next((name[: -len(end)] for end in _SCRIPTS if name.endswith(end)), name)
    if folder in _SYSTEM or (stem == name and not folder):
        return frozenset()
    acts = _target_acts(stem)
    if stem != name and (stem.startswith("test_") or stem.endswith(("_test", "_spec", ".test", ".spec"))):
        return acts & {"test"}
    named = all(part.lower() in _SCRIPT_WORDS for part in _HUMPS.findall(stem))
    return acts - {"check"} if named else frozenset()


def _acts(program: str, words: list[str]) -> frozenset[str]:
    """The acts that a call of the program performs; "check" where only that it checks something is known."""
    if program in _BY_PROGRAM:
        builds = program == "tsc" and _option(words, wordset("-b --build"))
        return _BY_PROGRAM[program] | ({"build"} if builds else set())
    if program in _BY_TARGET:
        return _acts_of_targets(program, words)
    if program in _BY_WORD:
        return _acts_of_words(program, words)
    if program in _INTERPRETERS:
        return _acts_of_interpreter(program, words)
    return _script_acts(words[0])


def _acts_of_words(program: str, words: list[str]) -> frozenset[str]:
    table = _BY_WORD[program]
    at = 1 if program == "cmake" else _next_word(words, 1, program)  # what cmake does is an option
    if program == "xcodebuild":  # several words, options between them
        found: set[str] = set()
        while at < len(words):
            found |= table.get(words[at], frozenset())
            at = _next_word(words, at + 1, program)
        return frozenset(found or {"build"})
    if words[at : at + 1] and words[at].startswith("+"):  # cargo +nightly test
        at = _next_word(words, at + 1, program)
    word, *rest = words[at:] or [""]
    if program == "cargo" and word == "nextest":
        return _acts_of_words("cargo-nextest", [word, *rest])
    if program == "deno" and word == "task":
        return _target_acts(rest[0]) if rest else frozenset()
    return table.get(word, frozenset())


def _acts_of_targets(program: str, words: list[str]) -> frozenset[str]:
    names = _target_names(program, words)
    if program in _HAND_ON and names and names[0] in _BY_PROGRAM:
        return _BY_PROGRAM[names[0]]  # yarn jest
    acts: set[str] = set()
    for name in names:
        acts |= _target_acts(name.rsplit(":", 1)[-1] if program in _GRADLE else name)
    if not acts and program in _WITHOUT_TARGET and (program in _NAMES_BY_OPTION or not names):
        acts = {_WITHOUT_TARGET[program]}
    if program in _GRADLE and {"build", "check"} & set(names):
        acts |= {"test"}
    if program in _MAVEN and {"verify", "package", "install", "deploy"} & set(names):
        acts |= {"build", "test"}
    if _skipped(program, words):
        acts -= {"test"}
    return frozenset(acts)


def _target_names(program: str, words: list[str]) -> list[str]:
    """The targets, sessions or scripts that are named; of a manager of scripts the first one."""
    valued = _BEFORE_WORD.get(program, frozenset())
    chosen = _NAMES_BY_OPTION.get(program)
    names: list[str] = []
    at = 1
    while at < len(words) and words[at] != "--":
        word = words[at]
        at += 1
        if chosen is not None:
            while word in chosen and at < len(words) and not words[at].startswith("-"):
                names += words[at].split(",")
                at += 1
        elif word.startswith("-"):
            at += word in valued
        elif word in _SUB_RUNS:
            at += word == "workspace"
        elif "=" not in word:
            names.append(word)
            if program in _HAND_ON:
                break  # what follows is for the script
    return names


def _acts_of_interpreter(program: str, words: list[str]) -> frozenset[str]:
    """``python manage.py test``, ``node run_tests.js``, ``bash run_tests.sh``: what the script is called."""
    if program in _SHELLS and words[1:2] and words[1].startswith("-") and "n" in words[1]:
        return frozenset()  # reads the script, and runs nothing of it
    if program == "node" and words[1:2] == ["--test"]:
        return frozenset({"test"})
    at = _next_word(words, 1, program)
    if at >= len(words) or not {"-c", "-e", "-m", "-r", "--eval"}.isdisjoint(words[1:at]):
        return frozenset()
    script, name = words[at], _name(words[at])
    if name in ("manage.py", "setup.py", "artisan"):
        return _acts_of_words(name, words[at:])
    if name in _BY_PROGRAM and "/" in script:  # node node_modules/.bin/jest
        return _BY_PROGRAM[name]
    return _script_acts(script)


def _skipped(program: str, words: list[str]) -> str:
    """The option by which a build leaves its tests out."""
    if program in _MAVEN:
        return next((word for word in words if word in _SKIPS_TESTS), "")
    left_out = any(word in ("-x", "--exclude-task") and after == "test" for word, after in pairwise(words))
    return "-x test" if program in _GRADLE and left_out else ""


# -- options that mask -------------------------------------------------------------------------------------

# The program runs no check with one of these.
_IDLE = _each(
    {
        "pytest, py.test": "--collect-only --co --fixtures --funcargs --fixtures-per-test --markers --setup-plan "
        "--cache-show -h -V",
        "ruff": "--show-files --show-settings -h -V",
        "mypy, black, isort, tox, nox, pylint, flake8, golangci-lint": "-h",
        "mypy, shellcheck": "-V",
        "pylint": "--list-msgs --list-extensions --generate-rcfile",
        "tox": "--notest -n --listenvs -l --listenvs-all -a --showconfig --devenv",
        "nox": "--list -l --list-sessions --install-only",
        "jest": "--listTests --showConfig --clearCache --init -h",
        "vitest, mvn, mvnw": "-h -v",
        "npm, yarn, pnpm, bun": "--listTests",
        "mocha": "--dry-run --list-interfaces --list-reporters -h -V",
        "playwright": "--list",
        "cargo": "--no-run --list -h -V",
        "cargo-nextest": "--no-run -h -V",
        "go": "-list --list -n -c",
        "eslint": "--print-config --init --env-info -h -v",
        "stylelint": "--print-config -h -v",
        "tsc": "--showConfig --listFilesOnly --init --all -h -v",
        "make, gmake": "--dry-run --just-print --recon --touch -h -v",
        "ninja": "-n -h",
        "ctest": "-N --show-only --print-labels --list-presets -h",
        "dotnet": "--list-tests -t -h",
        "bazel, bazelisk": "--nobuild",
        "gradle, gradlew": "--dry-run -m -h -v",
        "rspec": "--dry-run -h -v",
        "rubocop": "--list-target-files -L --show-cops -h -v -V",
        "rake": "--tasks -T --prereqs -P --describe -D --dry-run -n -h",
        "phpunit": "--list-tests --list-tests-xml --list-suites --list-groups -h",
        "prove": "--dry -D -h",
        "xcodebuild": "-list -version -showsdks -showdestinations -dry-run -n -help",
        "swift": "--list-tests",
        "meson": "--list",
    }
)
# For every program of the tables above; of one that takes targets only as its first word.
_IDLE_ANYWHERE = wordset("--version --help")
# The program ends with 0 whatever the check says.
_ALWAYS = _each(
    {
        "ruff": "--exit-zero -e",
        "flake8, pylint, bandit": "--exit-zero",
        "make, gmake": "--ignore-errors",
        "mvn, mvnw": "-fn --fail-never -Dmaven.test.failure.ignore -Dmaven.test.failure.ignore=true "
        "-DtestFailureIgnore=true",
        "vale": "--no-exit",
        "hadolint": "--no-fail",
        "tflint": "--force",
        "mocha": "--pass-on-failing-test-suite",
    }
)
# The exit code of a failure is set by one of these, and set to 0.
_ZERO_CODES = {
    "rspec": "--failure-exit-code",
    "golangci-lint": "--issues-exit-code",
    "jest": "--testFailureExitCode",
    "mix": "--exit-status",
}
# The program ends with 0 where it finds nothing to run.
_EMPTY = _each(
    {
        "jest, vitest, playwright": "--passWithNoTests --pass-with-no-tests",
        "npm, yarn, pnpm, bun": "--passWithNoTests --if-present",
    }
)
_MAKE_VALUED = "CfIojlWE"  # its short options with a value
# Ways of changing files instead of judging them; what is left over is judged by a later run.
_FIXES = wordset(
    "--fix --fix-only --write --autocorrect --auto-correct -a -A --autocorrect-all --in-place -i"
)
_CHANGES_BY_FIX = wordset("ruff eslint stylelint rubocop standardrb biome oxlint golangci-lint xo standard")
# With one of these a formatter judges instead of changing.
_FORMAT_CHECKS = wordset(
    "--check -c --check-only --list-different -l --diff -d --dry-run --verify --verify-no-changes "
    "--check-formatted --set-exit-if-changed --output=none -check check --Werror --lint"
)


class Call(NamedTuple):
    """What one call of a program comes to; options are empty where none is given."""

    acts: frozenset[str] = frozenset()
    idle: str = ""  # the option by which it runs no check; it performs no act then
    always: str = ""  # the option by which it ends with 0 whatever it finds
    empty: str = ""  # the option by which it ends with 0 where it finds nothing to run
    judges: bool = False  # a failure of it matters, also where it performs no act by name


def read_call(program: str, words: list[str]) -> Call:
    """What the call comes to, of a program that runs no other."""
    acts = _acts(program, words)
    idle = _idle_option(program, words, acts) if program in _KNOWN else ""
    if idle or not acts:
        return Call(idle=idle)
    always = _always_option(program, words)
    empty = _option(words, _EMPTY.get(program, frozenset()), past_dashes=program in _HAND_ON)
    changes = program in _CHANGES_BY_FIX and _option(words, _FIXES)
    formats = acts == {"format"} and not _option(words, _FORMAT_CHECKS)
    return Call(acts - {"check"}, "", always, empty, judges=not (changes or formats or always or empty))


def _option(words: Sequence[str], options: frozenset[str], *, past_dashes: bool = False) -> str:
    """The first word that is one of the options, also with a value behind ``=``; empty where none is."""
    for word in words[1:]:
        if word == "--" and not past_dashes:
            return ""
        if word in options or (word.startswith("--") and "=" in word and word.split("=", 1)[0] in options):
            return word
    return ""


def _make_letters(program: str, words: list[str], letters: str) -> str:
    """The short options of make, which may be run together (``-ki``), that hold one of the letters."""
    rest = iter(words[1:] if program in ("make", "gmake") else ())
    for word in rest:
        if re.match(rf"-(?!-)[^{_MAKE_VALUED}]*[{letters}]", word):
            return word
        if re.fullmatch(rf"-(?!-)[^{_MAKE_VALUED}]*[{_MAKE_VALUED}]", word) and word[-1] not in "jl":
            next(rest, "")  # its value
    return ""


def _idle_option(program: str, words: list[str], acts: frozenset[str]) -> str:
    """The option that makes a known program run no check; empty where none does."""
    found = _option(words[:2] if program in _BY_TARGET else words, _IDLE_ANYWHERE)
    if not found and (program != "go" or "test" in acts or "-n" in words):
        handed = program in _HAND_ON or program == "cargo"
        found = _option(words, _IDLE.get(program, frozenset()), past_dashes=handed)
    if found:
        return found
    if program == "go" and "test" in acts and not any(word.startswith("-bench") for word in words):
        for option in ("-run", "--run"):
            if f"{option}=^$" in words or (option, "^$") in pairwise(words):
                return "-run ^$"
    if program in ("go", "cargo") and words[1:2] in (["version"], ["help"]):
        return words[1]
    if not acts and "test" in words and _skipped(program, words):
        return _skipped(program, words)
    return _make_letters(program, words, "nt")


def _always_option(program: str, words: list[str]) -> str:
    """The option that makes a known program end with 0 whatever it finds; empty where none does."""
    found = _option(words, _ALWAYS.get(program, frozenset())) or _make_letters(program, words, "i")
    code = _ZERO_CODES.get(program)
    if found or not code:
        return found
    zero = f"{code}=0" in words or (code, "0") in pairwise(words)
    return f"{code} 0" if zero else ""


# -- what stands before a command --------------------------------------------------------------------------

_DOCKER_EXEC = "docker exec, podman exec"
_COMPOSE_EXEC = "docker compose exec, podman compose exec, docker-compose exec"
_DOCKER_RUN = "docker run, podman run"
_COMPOSE_RUN = "docker compose run, podman compose run, docker-compose run"
# Program, and words it needs, with its options that take a value.
_WRAPPERS = _each(
    {
        "cross-env, nohup, setsid, unbuffer, chronic, taskset, command, builtin, busybox": "",
        "poetry run, pipenv run, rye run, hatch run, pnpm exec, bun x, bundle exec, mise exec, asdf exec": "",
        "yarn exec, direnv exec, nix develop": "",
        "env": "-u --unset -C --chdir",
        "timeout, gtimeout": "-s --signal -k --kill-after",
        "nice": "-n --adjustment",
        "ionice": "-c --class -n --classdata",
        "time": "-f --format -o --output",
        "stdbuf": "-i -o -e --input --output --error",
        "caffeinate": "-t -w",
        "flock": "-w --timeout -E",
        "xvfb-run": "-s --server-args -n --server-num -e --error-file -f --auth-file -w --wait",
        "dbus-run-session": "--config-file",
        "sudo": "-u --user -g --group -C -p -h -D -R -T",
        "doas": "-u -C",
        "exec": "-a",
        "xargs": "-n --max-args -P --max-procs -I -L --max-lines -d --delimiter -s -a --arg-file -E",
        "uv run": "--with-requirements --with-editable --extra --group --no-group --only-group --project "
        "--directory --env-file --package --no-extra --index-url --refresh-package",
        "uv tool run, uvx": "--from",
        "uv run, uv tool run, uvx": "--with --python -p --index",
        "pipx run": "--spec --python",
        "pdm run": "-p --project",
        "pixi run": "-e --environment --manifest-path",
        "conda run, mamba run, micromamba run": "-n --name -p --prefix --cwd",
        "coverage run": "--source --rcfile --omit --include --data-file --concurrency --context",
        "npx, pnpx, bunx, yarn dlx": "-p --package",
        "npm exec, npm x": "-p --package -w --workspace",
        "pnpm dlx": "--package",
        "nyc, c8": "-r --reporter -x --exclude -n --include",
        "nyc": "-e --extension -i --require --cwd --report-dir --temp-dir",
        "c8": "-o --reports-dir --temp-directory",
        "dotenv": "-e -f -c",
        ", ".join(
            (_DOCKER_EXEC, _DOCKER_RUN, _COMPOSE_EXEC, _COMPOSE_RUN)
        ): "-e --env -w --workdir -u --user",
        _DOCKER_EXEC: "--env-file --detach-keys",
        _COMPOSE_EXEC: "--index",
        ", ".join((_DOCKER_RUN, _COMPOSE_RUN)): "-v --volume -p --publish --name -l --label",
        _DOCKER_RUN: "--network --net --mount --env-file --platform -m --memory --memory-swap --cpus --gpus "
        "--shm-size --add-host --tmpfs --ulimit --cap-add --cap-drop --pull -h --hostname --device --security-opt "
        "--dns --link --volumes-from --ipc --pid --userns --restart --log-driver --log-opt --cidfile --init-path",
        "kubectl exec": "-n --namespace -c --container --context",
    }
)
# Options that another way of starting hangs on: the command is not where it is looked for.
_OTHERWISE = _each(
    {
        "npx": "-c --call",
        "command": "-v -V",
        f"{_DOCKER_RUN}, docker compose run, docker-compose run": "--entrypoint",
        "env": "-S --split-string",
        "hatch run": "+",
        "flock": "-c",
    }
)
_WRAPPING = frozenset(name.split()[0] for name in _WRAPPERS)
# A word of their own stands before the command: a time, a box.
_TAKES_WORD = wordset("timeout gtimeout taskset flock direnv docker docker-compose podman kubectl")
_ASSIGNING = wordset("env cross-env sudo doas")  # these take NAME=value before the command
_AS_MODULE = wordset("python uv coverage")  # these run a module with -m
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*|py")
_MODULE = re.compile(r"-[bBdEiIOqsSuvx]{0,20}m(.*)", re.DOTALL)


def unwrapped(argv: list[str]) -> tuple[str, list[str]]:
    """The program that is started in the end, and its words; the outermost, and none, where that is not known."""
    words: list[str] | None = argv
    for _ in range(_MOST_WRAPPERS):
        if not words:
            break
        program = _name(words[0])
        wrapper = _wrapper(program, words) if program in _WRAPPING else None
        module = _module(words) if program == "python" else None
        if not (wrapper or module):
            return program, words
        words = _inside(*wrapper, words) if wrapper else module
    return _name(argv[0]) if argv else "", []


def _name(word: str) -> str:
    """The program that a word of a command line names, without its folder."""
    name = re.split(r"[/\\]", word[-300:])[-1]
    for extension in (".exe", ".cmd", ".bat"):
        if name.lower().endswith(extension):
            name = name[: -len(extension)]
    name = name[:1] + name[1:].split("@", 1)[0]  # npx eslint@9
    return "python" if _PYTHON.fullmatch(name) else name


def _wrapper(program: str, words: list[str]) -> tuple[str, int] | None:
    """The wrapper that a command begins with, and the place behind its words."""
    key, at = program, 1
    for _ in range(3):  # docker compose run
        if key in _WRAPPERS:
            return key, at
        at = _next_word(words, at, program)
        key = " ".join([key, *words[at : at + 1]])
        at += 1
    return None


def _inside(key: str, at: int, words: list[str]) -> list[str] | None:
    """The words of the command inside a wrapper; None where they cannot be told."""
    valued, otherwise = _WRAPPERS[key], _OTHERWISE.get(key, frozenset())
    program = key.split()[0]
    takes_word = program in _TAKES_WORD
    while at < len(words):
        word = words[at]
        if word in otherwise or word.split("=", 1)[0] in otherwise:
            return None
        if word == "--":
            at += 1
            if not takes_word:
                break
        elif program in _AS_MODULE and word in ("-m", "--module"):
            return _as_module(words[at + 1 :])
        elif key == "nix develop" and word in ("-c", "--command"):
            return words[at + 1 :]
        elif word.startswith("-") and word != "-":
            at += 2 if word in valued else 1
        elif key == "nix develop" or (program in _ASSIGNING and "=" in word):
            at += 1
        elif takes_word:
            takes_word = False
            at += 1
        else:
            break
    inner = words[at:]
    is_file = program in ("coverage", "uv") and inner and inner[0].endswith(".py")
    return ["python", *inner] if is_file else inner


def _module(words: list[str]) -> list[str] | None:
    """The module that python runs with ``-m`` as a command of its own; None where it runs none."""
    at = 1
    while at < len(words) and words[at].startswith("-"):
        match = _MODULE.match(words[at])
        if match:
            attached = [match[1]] if match[1] else []
            return _as_module(attached + words[at + 1 :])
        if words[at][1:2] in ("c", "-", ""):
            return None
        at += 2 if words[at] in _BEFORE_WORD["python"] else 1
    return None


def _as_module(words: list[str]) -> list[str] | None:
    """The words behind ``-m`` as a command: ``-munittest`` where the module has no command of its name."""
    if not words:
        return None
    name = words[0].replace("pre_commit", "pre-commit")
    return [f"-m{name}" if f"-m{name}" in _BY_PROGRAM else name, *words[1:]]


# -- programs that run others ------------------------------------------------------------------------------


class Given(NamedTuple):
    """A script that a command hands to a shell, and how that shell is set."""

    text: str
    errexit: bool = False
    pipefail: bool = False


def script_in(program: str, words: list[str]) -> Given | None:
    """The script that the words hold; None where they hold none."""
    if program in _SHELLS:
        return _script_of_shell(words)
    if program == "eval" and len(words) > 1:  # in the same shell, whose options are not known here
        return Given(" ".join(words[1:]), errexit=True, pipefail=True)
    if program == "nix-shell" and "--run" in words[:-1]:
        return Given(words[words.index("--run") + 1])
    return None


def _script_of_shell(words: list[str]) -> Given | None:
    errexit = pipefail = has_script = False
    at = 1
    while at < len(words) and words[at][:1] in ("-", "+") and len(words[at]) > 1:
        word = words[at]
        at += 1
        if word == "--":
            break
        if word.startswith("--"):
            at += word in ("--rcfile", "--init-file")
            continue
        on = word[0] == "-"
        for letter in word[1:20]:
            has_script = has_script or letter == "c"
            if letter == "e":
                errexit = on
            elif letter == "o" and at < len(words):
                errexit = on if words[at] == "errexit" else errexit
                pipefail = on if words[at] == "pipefail" else pipefail
                at += 1
            elif letter == "O":
                at += 1
    return Given(words[at], errexit, pipefail) if has_script and at < len(words) else None


def found_by_find(words: list[str]) -> Iterator[tuple[list[str], str]]:
    """The commands that ``find`` runs, each with the ``;`` or ``+`` behind it, if there is one."""
    at = 1
    while at < len(words):
        at += 1
        if words[at - 1] in ("-exec", "-execdir"):
            start = at
            while at < len(words) and words[at] not in (";", "+"):
                at += 1
            yield words[start:at], "".join(words[at : at + 1])
