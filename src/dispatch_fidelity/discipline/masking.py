"""Could a recorded command end with 0 although a check in it failed? The words of a command, read and not run.

``masks`` reads an argv as the shell would as far as exit statuses go, and is quiet wherever it does not follow:
a heredoc, a function, an unbalanced quote. The tables come first: one word more in them is one program, option
or target more. Below them stand the options, what stands before a command, the script, and its statuses.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _each(table: Mapping[str, str]) -> dict[str, frozenset[str]]:
    """A table whose keys may name several programs, by program."""
    found: dict[str, frozenset[str]] = {}
    for names, text in table.items():
        for name in names.split(", "):
            found[name] = found.get(name, frozenset()) | _words(text)
    return found


# -- what performs a check ---------------------------------------------------------------------------------

_ACTS = ("test", "build", "lint", "typecheck", "format")
_RUNNERS = {
    "test": "pytest py.test nose2 nosetests trial ward behave robot stestr -munittest -mdoctest jest vitest mocha "
    "ava tap tape jasmine karma cypress playwright qunit wdio nightwatch testcafe web-test-runner rspec minitest "
    "cucumber phpunit pest behat codecept paratest ctest ginkgo gotestsum bats prove busted elm-test shellspec",
    "build": "ninja webpack rollup esbuild parcel tsup gcc g++ clang clang++ cc c++ javac rustc kotlinc xcbuild "
    "msbuild scons -mbuild",
    "lint": "flake8 pylint pycodestyle pydocstyle pyflakes bandit vulture pylama prospector codespell "
    "lint-imports eslint oxlint tslint jshint jslint standard xo stylelint htmlhint commitlint knip depcheck "
    "golangci-lint staticcheck revive govulncheck rubocop standardrb brakeman reek phpcs phpmd phpstan psalm "
    "shellcheck hadolint actionlint yamllint jsonlint ansible-lint tflint checkov markdownlint markdownlint-cli2 "
    "vale proselint luacheck clang-tidy cppcheck cpplint swiftlint ktlint detekt checkstyle djlint kubeconform "
    "luac",
    "typecheck": "mypy dmypy pyright basedpyright pytype tsc vue-tsc svelte-check phpstan psalm",
    "format": "black isort yapf autopep8 prettier gofmt gofumpt goimports rustfmt clang-format shfmt dprint "
    "swiftformat cmake-format",
}
# Programs that do this or that by their first word.
_BY_WORD = {
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
    "mix": {"test": "test", "build": "compile", "lint": "credo", "typecheck": "dialyzer", "format": "format"},
    "rebar3": {"test": "eunit ct", "build": "compile", "typecheck": "dialyzer"},
    "lein": {"test": "test", "build": "compile"},
    "rails": {"test": "test test:all spec"},
    "artisan, manage.py, setup.py": {"test": "test", "build": "build"},
    "ng": {"test": "test e2e", "build": "build", "lint": "lint"},
    "vite, next, nuxt, gatsby, hatch, flit, docker, podman, buildah": {"build": "build"},
    "next, vue-cli-service": {"lint": "lint"},
    "react-scripts, craco, vue-cli-service": {"test": "test test:unit", "build": "build"},
    "deno": {"test": "test", "lint": "lint", "typecheck": "check", "format": "fmt"},
    "uv, poetry, pdm": {"build": "build"},
}
# Programs that are told the names of targets, sessions or scripts; what they do when none is named.
_BY_TARGET = {
    "make": "build",
    "gmake": "build",
    "rake": "test",
    "tox": "test",
    "nox": "test",
    "gradle": "",
    "gradlew": "",
    "mvn": "",
    "mvnw": "",
    "sbt": "",
    "just": "",
    "task": "",
    "invoke": "",
    "inv": "",
    "poe": "",
    "turbo": "",
    "nx": "",
    "lerna": "",
    "grunt": "",
    "gulp": "",
    "mage": "",
    "earthly": "",
    "composer": "",
    "npm": "",
    "yarn": "",
    "pnpm": "",
    "bun": "",
}
_TARGETS = {
    "test": "test tests t tst unittest unittests runtest runtests spec specs e2e pytest jest vitest "
    "surefire integrationtest",
    "build": "build compile assemble package bundle classes all",
    "lint": "lint linter eslint ruff flake8 clippy vet checkstyle detekt ktlint pylint rubocop analyze style",
    "typecheck": "typecheck typecheckers types mypy tsc pyright typing",
    "format": "fmt format formatcheck prettier spotless scalafmt black",
    "check": "check checks verify validate qa",
}
# Words of a target's name that make it something else: data for tests, a server, a watcher.
_NO_TARGETS = _words(
    "data db database deps dependencies clean install setup prepare pre fixture fixtures seed env image images "
    "watch serve server start stop up down teardown report reports docs doc logs log index init generate gen "
    "helper helpers utils tool tools deploy publish release container containers config update fix write script"
)
# Words that a script's name may have beside the act: run_all_unit_tests.sh.
_SCRIPT_WORDS = _words("run runner all unit integration quick fast full smoke e2e and py sh js")
_WHOLE_TARGETS = {
    "type-check": "typecheck",
    "check-types": "typecheck",
    "test-compile": "build",
    "testclasses": "build",
    "buildcheck": "build",
}
# Ways of changing files instead of judging them; what is left over is judged by a later run.
_FIXES = _words("--fix --fix-only --write --autocorrect --auto-correct -a -A --autocorrect-all --in-place -i")
# With one of these a formatter judges instead of changing.
_FORMAT_CHECKS = _words(
    "--check -c --check-only --list-different -l --diff -d --dry-run --verify --verify-no-changes "
    "--check-formatted --set-exit-if-changed --output=none -check check --Werror --lint"
)
_CHANGES_BY_FIX = _words("ruff eslint stylelint rubocop standardrb biome oxlint golangci-lint xo standard")

# -- options that mask -------------------------------------------------------------------------------------

# The program runs no check with one of these.
_IDLE = _each(
    {
        "pytest, py.test": "--collect-only --co --fixtures --funcargs --fixtures-per-test --markers --setup-plan "
        "--cache-show -h -V",
        "ruff": "--show-files --show-settings -h -V",
        "mypy, black, isort, tox, nox, pylint, flake8": "-h",
        "mypy": "-V",
        "pylint": "--list-msgs --list-extensions --generate-rcfile",
        "tox": "--notest -n --listenvs -l --listenvs-all -a --showconfig --devenv",
        "nox": "--list -l --list-sessions --install-only",
        "jest": "--listTests --showConfig --clearCache --init -h",
        "vitest": "-h -v",
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
        "mvn, mvnw": "-h -v",
        "gradle, gradlew": "--dry-run -m -h -v",
        "rspec": "--dry-run -h -v",
        "rubocop": "--list-target-files -L --show-cops -h -v -V",
        "rake": "--tasks -T --prereqs -P --describe -D --dry-run -n -h",
        "phpunit": "--list-tests --list-tests-xml --list-suites --list-groups -h",
        "prove": "--dry -D -h",
        "xcodebuild": "-list -version -showsdks -showdestinations -dry-run -n -help",
        "swift": "--list-tests",
        "meson": "--list",
        "shellcheck": "-V",
        "golangci-lint": "-h",
    }
)
# For every program of the tables above; of one that takes targets only as its first word.
_IDLE_ANYWHERE = _words("--version --help")
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
_ZERO_CODES = _each(
    {
        "rspec": "--failure-exit-code",
        "golangci-lint": "--issues-exit-code",
        "jest": "--testFailureExitCode",
        "mix": "--exit-status",
    }
)
# The program ends with 0 where it finds nothing to run.
_EMPTY = _each(
    {
        "jest, vitest, playwright": "--passWithNoTests --pass-with-no-tests",
        "npm, yarn, pnpm, bun": "--passWithNoTests --if-present",
    }
)
_HAND_ON = _words("npm yarn pnpm bun")  # what stands behind the name, or "--", is for the script
_GRADLE = _words("gradle gradlew")
_MAVEN = _words("mvn mvnw")
_SKIPS_TESTS = _words("-DskipTests -DskipTests=true -Dmaven.test.skip -Dmaven.test.skip=true")
_SHORT_OPTIONS = {
    "make": ("CfIojlWE", "i", "nt"),
    "gmake": ("CfIojlWE", "i", "nt"),
}  # with a value, always, idle

# -- what stands before a command --------------------------------------------------------------------------

_SHELLS = _words("sh bash zsh dash ksh ksh93 mksh ash rbash")
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*|py")
_MODULE = re.compile(r"-[bBdEiIOqsSuvx]{0,20}m(.*)", re.DOTALL)
_INTERPRETERS = _words("python node ruby php perl tsx ts-node") | _SHELLS
# Program, and words it needs: how many words stand before the command, and which options take a value.
_WRAPPERS: dict[str, tuple[int, str]] = {
    "env": (0, "-u --unset -C --chdir"),
    "cross-env": (0, ""),
    "timeout": (1, "-s --signal -k --kill-after"),
    "gtimeout": (1, "-s --signal -k --kill-after"),
    "nice": (0, "-n --adjustment"),
    "ionice": (0, "-c --class -n --classdata"),
    "nohup": (0, ""),
    "setsid": (0, ""),
    "time": (0, "-f --format -o --output"),
    "stdbuf": (0, "-i -o -e --input --output --error"),
    "unbuffer": (0, ""),
    "chronic": (0, ""),
    "caffeinate": (0, "-t -w"),
    "taskset": (1, ""),
    "flock": (1, "-w --timeout -E"),
    "xvfb-run": (0, "-s --server-args -n --server-num -e --error-file -f --auth-file -w --wait"),
    "dbus-run-session": (0, "--config-file"),
    "sudo": (0, "-u --user -g --group -C -p -h -D -R -T"),
    "doas": (0, "-u -C"),
    "exec": (0, "-a"),
    "command": (0, ""),
    "builtin": (0, ""),
    "busybox": (0, ""),
    "xargs": (0, "-n --max-args -P --max-procs -I -L --max-lines -d --delimiter -s -a --arg-file -E"),
    "uv run": (0, "--with --with-requirements --with-editable --extra --group --no-group --only-group --python -p "
               "--project --directory --env-file --package --index --no-extra --index-url --refresh-package"),
    "uv tool run": (0, "--with --from --python -p --index"),
    "uvx": (0, "--with --from --python -p --index"),
    "pipx run": (0, "--spec --python"),
    "poetry run": (0, ""),
    "pdm run": (0, "-p --project"),
    "pipenv run": (0, ""),
    "rye run": (0, ""),
    "hatch run": (0, ""),
    "pixi run": (0, "-e --environment --manifest-path"),
    "conda run": (0, "-n --name -p --prefix --cwd"),
    "mamba run": (0, "-n --name -p --prefix --cwd"),
    "micromamba run": (0, "-n --name -p --prefix --cwd"),
    "coverage run": (0, "--source --rcfile --omit --include --data-file --concurrency --context"),
    "npx": (0, "-p --package"),
    "pnpx": (0, "-p --package"),
    "bunx": (0, "-p --package"),
    "npm exec": (0, "-p --package -w --workspace"),
    "npm x": (0, "-p --package -w --workspace"),
    "pnpm exec": (0, ""),
    "pnpm dlx": (0, "--package"),
    "yarn exec": (0, ""),
    "yarn dlx": (0, "-p --package"),
    "bun x": (0, ""),
    "nyc": (0, "-r --reporter -x --exclude -n --include -e --extension -i --require --cwd --report-dir --temp-dir"),
    "c8": (0, "-r --reporter -x --exclude -n --include -o --reports-dir --temp-directory"),
    "bundle exec": (0, ""),
    "mise exec": (0, ""),
    "asdf exec": (0, ""),
    "direnv exec": (1, ""),
    "dotenv": (0, "-e -f -c"),
    "nix develop": (0, ""),
    "docker exec": (1, "-e --env -w --workdir -u --user --env-file --detach-keys"),
    "docker run": (1, "-e --env -v --volume -w --workdir -u --user -p --publish --name --network --net --mount "
                   "--env-file -l --label --platform -m --memory --memory-swap --cpus --gpus --shm-size --add-host "
                   "--tmpfs --ulimit --cap-add --cap-drop --pull -h --hostname --device --security-opt --dns --link "
                   "--volumes-from --ipc --pid --userns --restart --log-driver --log-opt --cidfile --init-path"),
    "docker compose exec": (1, "-e --env -w --workdir -u --user --index"),
    "docker compose run": (1, "-e --env -w --workdir -u --user -p --publish -v --volume --name -l --label"),
    "docker-compose exec": (1, "-e --env -w --workdir -u --user --index"),
    "docker-compose run": (1, "-e --env -w --workdir -u --user -p --publish -v --volume --name -l --label"),
    "kubectl exec": (1, "-n --namespace -c --container --context"),
}  # fmt: skip
_WRAPPERS.update(
    {
        name.replace("docker", "podman", 1): how
        for name, how in list(_WRAPPERS.items())
        if name.startswith("docker ")
    }
)
_WRAPPING = frozenset(name.split()[0] for name in _WRAPPERS)
_ASSIGNING = _words("env cross-env sudo doas")  # these take NAME=value before the command
_AS_MODULE = _words("python uv coverage")  # these run a module with -m
# Options that another way of starting hangs on: the command is not where it is looked for.
_OTHERWISE = {
    "npx": "-c --call", "command": "-v -V", "docker run": "--entrypoint", "docker compose run": "--entrypoint",
    "docker-compose run": "--entrypoint", "podman run": "--entrypoint", "env": "-S --split-string",
    "hatch run": "+", "flock": "-c",
}  # fmt: skip
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
# What these run is named by an option.
_NAMES_BY_OPTION = _each({"tox": "-e --env", "nox": "-s --session --sessions -e"})
_SUB_RUNS = _words("run run-script run-many exec workspace workspaces foreach r runs")

# -- what the shell does -----------------------------------------------------------------------------------

_CANNOT_FAIL = _words("true : echo printf sleep date")
_PREPARES = _words(
    "cd pushd popd export set unset shopt setopt unsetopt source . mkdir umask ulimit trap local declare readonly "
    "typeset alias shift hash"
)
_MAY_RUN = _words("source .")  # prepares, but what it reads may hold checks
# The left side of a pipe that has text to give, and no status anybody asks for.
_FEEDERS = _words(
    "echo printf cat yes find ls git seq jq curl wget ps env printenv head tail grep egrep fgrep rg sed awk sort "
    "uniq tr cut date gh base64 openssl tar zcat gunzip diff xxd tee df du true : pip xz tac shuf"
)
# The right side of a pipe that ends with 0 whatever it reads; an option that makes it judge.
_FILTERS = {
    "tail": "", "head": "", "tee": "", "less": "", "more": "", "cat": "", "sed": "", "awk": "", "gawk": "",
    "sort": "-c -C --check", "uniq": "", "wc": "", "cut": "", "tr": "", "column": "", "nl": "", "fold": "",
    "ts": "", "tac": "", "xcpretty": "", "xcbeautify": "", "gotestfmt": "--exit-on-failure", "ansi2txt": "",
    "colordiff": "", "jq": "-e --exit-status", "pr": "", "expand": "", "rev": "", "strings": "", "fmt": "",
}  # fmt: skip
_JUDGES_ITSELF = re.compile(r"\bexit\b|\bq\s*[1-9]")  # an awk or sed program that sets its own status
_SEARCHES = _words("grep egrep fgrep rg ag")
# What is shown when a check failed: it ends with 0 in its place.
_SHOWS = _words("cat tail head ls less pwd env")

_KEEPS = _words("tee touch")  # these leave a file that may be asked later

_LONGEST_QUOTE = 80
_LONGEST_SCRIPT = 1 << 18  # twice what Linux hands over as one argument
_MOST_WRAPPERS = 20
_MOST_SCRIPTS = 5
_DEEPEST = 40
_MOST_REASONS = 50


def masks(argv: Sequence[str]) -> tuple[str, ...]:
    """The reasons why the command could end with 0 although a check in it failed; empty where nothing masks.

    1. What loses the status of a check, or makes it always good: each once, in order. 2. Else that nothing in it
    is a check. 3. Quiet in doubt: unknown programs, options and syntax are taken to carry their status.
    """
    command = _read(tuple(argv))
    return tuple(dict.fromkeys(command.reasons or command.idle))[:_MOST_REASONS]


def runner_of(argv: Sequence[str]) -> tuple[str, ...]:
    """The acts among test, build, lint, typecheck and format that the command performs; () where none is known."""
    acts = _read(tuple(argv)).acts
    return tuple(act for act in _ACTS if act in acts)


@lru_cache(maxsize=128)
def _read(argv: tuple[str, ...]) -> _Command:
    """The command, read once for all who ask of it."""
    return _command(list(argv), 0)


# -- names and options -------------------------------------------------------------------------------------

_BY_PROGRAM: dict[str, frozenset[str]] = {}
for _act, _listed in _RUNNERS.items():
    for _program in _listed.split():
        _BY_PROGRAM[_program] = _BY_PROGRAM.get(_program, frozenset()) | {_act}
_ACT_OF_WORD: dict[str, dict[str, str]] = {}
for _programs, _table in _BY_WORD.items():
    for _program in _programs.split(", "):
        for _act, _listed in _table.items():
            _ACT_OF_WORD.setdefault(_program, {}).update(dict.fromkeys(_listed.split(), _act))
_ACT_OF_TARGET = {word: act for act, listed in _TARGETS.items() for word in listed.split()}
_HUMPS = re.compile(r"[A-Z]?[a-z]+\d*|[A-Z]+(?![a-z])|\d+")
_EXTENSIONS = (".exe", ".cmd", ".bat")
_SCRIPTS = (".sh", ".bash", ".py", ".js", ".mjs", ".cjs", ".ts", ".rb", ".php", ".pl", ".ps1", ".zsh")
_SYSTEM = _words("/bin /usr/bin /usr/local/bin /sbin /usr/sbin /opt/homebrew/bin")
_KNOWN = frozenset(_BY_PROGRAM) | frozenset(_BY_TARGET) | frozenset(_ACT_OF_WORD)


def _name(word: str) -> str:
    """The program that a word of a command line names, without its folder."""
    name = re.split(r"[/\\]", word[-300:])[-1]
    for extension in _EXTENSIONS:
        if name.lower().endswith(extension):
            name = name[: -len(extension)]
    name = name[:1] + name[1:].split("@", 1)[0]  # npx eslint@9
    return "python" if _PYTHON.fullmatch(name) else name


def _option(words: Sequence[str], options: frozenset[str], *, past_dashes: bool = False) -> str:
    """The first word that is one of the options, also with a value behind ``=``; empty where none is."""
    for word in words[1:]:
        if word == "--" and not past_dashes:
            return ""
        if word in options or ("=" in word and word.startswith("--") and word.split("=", 1)[0] in options):
            return word
    return ""


def _next_word(words: Sequence[str], at: int, valued: frozenset[str]) -> int:
    """The first place from ``at`` on that holds no option and no value of one."""
    while at < len(words) and words[at].startswith("-") and words[at] not in ("-", "--"):
        at += 2 if words[at] in valued else 1
    return at


def _target_acts(name: str) -> frozenset[str]:
    """The act that the name of a target or script speaks of: test:unit, testDebugUnitTest, :app:lint."""
    name = name[-200:]
    whole = _WHOLE_TARGETS.get(name.lower())
    if whole:
        return frozenset({whole})
    parts = [part.lower() for part in _HUMPS.findall(name)]
    if any(part in _NO_TARGETS for part in parts):
        return frozenset()
    acts = frozenset(_ACT_OF_TARGET[part] for part in parts if part in _ACT_OF_TARGET)
    if "type" in parts and "check" in parts:
        acts |= {"typecheck"}
    return acts - {"check"} or acts


def _script_acts(path: str) -> frozenset[str]:
    """The act that a script's file name speaks of, every word of it: run_tests.sh, bin/lint, test_dates.py."""
    folder, _, name = path[-300:].replace("\\", "/").rpartition("/")
    stem = next((name[: -len(end)] for end in _SCRIPTS if name.endswith(end)), name)
    if folder in _SYSTEM or (stem == name and not folder):
        return frozenset()
    acts = _target_acts(stem)
    parts = [part.lower() for part in _HUMPS.findall(stem)]
    if stem != name and (stem.startswith("test_") or stem.endswith(("_test", "_spec", ".test", ".spec"))):
        return acts & {"test"}
    named = all(part in _ACT_OF_TARGET or part in _SCRIPT_WORDS for part in parts)
    return acts - {"check"} if named else frozenset()


def _acts(program: str, words: list[str]) -> frozenset[str]:
    """The acts that a call of the program performs; "check" where only that it checks something is known."""
    if program in _BY_PROGRAM:
        builds = program == "tsc" and _option(words, _words("-b --build"))
        return _BY_PROGRAM[program] | ({"build"} if builds else set())
    if program in _BY_TARGET:
        return _acts_of_targets(program, words)
    if program in _ACT_OF_WORD:
        return _acts_of_words(program, words)
    if program in _INTERPRETERS:
        return _acts_of_interpreter(program, words)
    return _script_acts(words[0])


def _acts_of_words(program: str, words: list[str]) -> frozenset[str]:
    table = _ACT_OF_WORD[program]
    valued = _BEFORE_WORD.get(program, frozenset())
    if program == "cmake":  # what it does is an option
        return frozenset(table[word] for word in words[1:2] if word in table)
    at = _next_word(words, 1, valued)
    if program == "xcodebuild":  # several words, options between them
        found = set()
        while at < len(words):
            found.add(table.get(words[at], ""))
            at = _next_word(words, at + 1, valued)
        return frozenset(found - {""} or {"build"})
    if at < len(words) and words[at].startswith("+"):  # cargo +nightly test
        at = _next_word(words, at + 1, valued)
    if at >= len(words):
        return frozenset()
    if program == "cargo" and words[at] == "nextest":
        return _acts_of_words("cargo-nextest", words[at:])
    if program == "deno" and words[at] == "task":
        return _target_acts(words[at + 1]) if at + 1 < len(words) else frozenset()
    act = table.get(words[at])
    return frozenset({act} if act else ())


def _acts_of_targets(program: str, words: list[str]) -> frozenset[str]:
    names = _target_names(program, words)
    if program in _HAND_ON and names and names[0] in _BY_PROGRAM:
        return _BY_PROGRAM[names[0]]  # yarn jest
    acts: set[str] = set()
    for name in names:
        own = name.rsplit(":", 1)[-1] if program in _GRADLE else name
        acts |= _target_acts(own)
    if not acts and (program in _NAMES_BY_OPTION or not names):
        acts |= {_BY_TARGET[program]} - {""}
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
    at = _next_word(words, 1, _BEFORE_WORD.get(program, frozenset()))
    if at >= len(words) or any(word in ("-c", "-e", "-m", "-r", "--eval") for word in words[1:at]):
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


def _letters(program: str, words: list[str], which: int) -> str:
    """The short option of a program that takes them run together (``make -ki``), if one of a kind is given."""
    if program not in _SHORT_OPTIONS:
        return ""
    valued, kind = _SHORT_OPTIONS[program][0], _SHORT_OPTIONS[program][which]
    skip = False
    for word in words[1:]:
        if skip or not word.startswith("-") or word.startswith("--"):
            skip = False
            continue
        for place, letter in enumerate(word[1:50], 1):
            if letter in valued:
                skip = place == len(word) - 1 and letter not in "jl"
                break
            if letter in kind:
                return word
    return ""


def _idle_option(program: str, words: list[str], acts: frozenset[str]) -> str:
    """The option that makes a known program run no check; empty where none does."""
    asked = words[1:2] if program in _BY_TARGET else words[1:]
    found = _option(["", *asked], _IDLE_ANYWHERE)
    if not found and (program != "go" or "test" in acts or "-n" in words):
        handed = program in _HAND_ON or program == "cargo"
        found = _option(words, _IDLE.get(program, frozenset()), past_dashes=handed)
    if found:
        return found
    if program == "go" and "test" in acts and not any(word.startswith("-bench") for word in words):
        for word, after in zip(words, [*words[1:], ""], strict=True):
            if word in ("-run=^$", "--run=^$") or (word in ("-run", "--run") and after == "^$"):
                return "-run ^$"
    if program in ("go", "cargo") and words[1:2] in (["version"], ["help"]):
        return words[1]
    if not acts and "test" in words and _skipped(program, words):
        return _skipped(program, words)
    return _letters(program, words, 2)


def _always_option(program: str, words: list[str]) -> str:
    """The option that makes a known program end with 0 whatever it finds; empty where none does."""
    found = _option(words, _ALWAYS.get(program, frozenset())) or _letters(program, words, 1)
    codes = _ZERO_CODES.get(program)
    if not found and codes:
        for word, after in zip(words, [*words[1:], ""], strict=True):
            name, equals, value = word.partition("=")
            if name in codes and (value if equals else after) == "0":
                return f"{name} 0"
    return found


# -- what stands before a command --------------------------------------------------------------------------


def _unwrapped(argv: list[str]) -> tuple[str, list[str]] | None:
    """The program that is started in the end, and its words; None where a wrapper is not understood."""
    words = argv
    for _ in range(_MOST_WRAPPERS):
        program = _name(words[0])
        if program == "python":
            module = _module(words)
            if module is None:
                return program, words
            words = module
            continue
        if program not in _WRAPPING:
            return program, words
        found = _wrapper(program, words)
        if found is None:
            return program, words
        key, at = found
        inner = _inside(key, words, at)
        if not inner:
            return None
        words = inner
    return None


def _wrapper(program: str, words: list[str]) -> tuple[str, int] | None:
    """The wrapper that a command begins with, and the place behind its words."""
    if program in _WRAPPERS:
        return program, 1
    valued = _BEFORE_WORD.get(program, frozenset())
    at = _next_word(words, 1, valued)
    key = " ".join([program, *words[at : at + 1]])
    if key in _WRAPPERS:
        return key, at + 1
    after = _next_word(words, at + 1, valued)
    key = " ".join([key, *words[after : after + 1]])
    return (key, after + 1) if key in _WRAPPERS else None


def _inside(key: str, words: list[str], at: int) -> list[str] | None:
    """The words of the command inside a wrapper; None where they cannot be told."""
    positionals, listed = _WRAPPERS[key]
    valued, otherwise = _words(listed), _words(_OTHERWISE.get(key, ""))
    program = key.split()[0]
    while at < len(words):
        word = words[at]
        if word in otherwise or word.split("=", 1)[0] in otherwise:
            return None
        if word == "--":
            at += 1
            if not positionals:
                break
        elif program in _AS_MODULE and word in ("-m", "--module"):
            return _as_module(words[at + 1 :])
        elif key == "nix develop" and word in ("-c", "--command"):
            return words[at + 1 :]
        elif word.startswith("-") and word != "-":
            at += 2 if word in valued else 1
        elif key == "nix develop" or (program in _ASSIGNING and "=" in word):
            at += 1
        elif positionals:
            positionals -= 1
            at += 1
        else:
            break
    inner = words[at:]
    if inner and program in ("coverage", "uv") and inner[0].endswith(".py"):
        return ["python", *inner]
    return inner


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


# -- the script --------------------------------------------------------------------------------------------


class _NotUnderstood(Exception):  # noqa: N818 - it is caught where the script is given up, and reported nowhere
    """The script holds what is not read here."""


class _Token(NamedTuple):
    """A word, an operator or a redirection; ``plain`` is a word without quotes and escapes."""

    kind: str  # word, op, redirect
    value: str
    start: int
    end: int
    plain: bool = False
    target: str = ""


_BLANK = re.compile(r"(?:[ \t\r]+|\\\r?\n)+")
_OPERATOR = re.compile(r"&&|\|\||;;&|;;|;&|\|&|[;&|()\n]")
_REDIRECTION = re.compile(r"&>>|&>|<<<|<<|<>|>>|>\||>&|<&|[<>]")
_RUN = re.compile(r"[^ \t\r\n;&|<>()'\"\\$`]+")
_IN_DOUBLE = re.compile(r"[^\"\\$`]+")
_NAME = re.compile(r"\$(?:\w+|[?$!#@*\-])")
_SPECIAL = re.compile(r"[\\'\"`(){}]")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(?:\[[^\]]{0,100}\])?\+?=")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_STATUS = re.compile(r"\$\?|\$\{\?|\$status\b")


def _closing(text: str, at: int, closer: str) -> int:
    """The place behind the mark that closes what was opened before ``at``; one pass, nested or not."""
    stack = [closer]
    while stack:
        match = _SPECIAL.search(text, at)
        if match is None:
            raise _NotUnderstood
        mark, at = match.group(), match.end()
        top = stack[-1]
        if mark == "\\":
            at += 1
        elif mark == top:
            stack.pop()
        elif top == "`" or (top == '"' and mark not in "`({"):
            continue
        elif mark == "'":
            at = text.find("'", at) + 1
            if not at:
                raise _NotUnderstood
        elif mark in '"`':
            stack.append(mark)
        elif mark == "(" and (top != '"' or text[at - 2 : at - 1] == "$"):
            stack.append(")")
        elif mark == "{" and text[at - 2 : at - 1] == "$":
            stack.append("}")
    return at


def _tokens(text: str) -> Iterator[_Token]:
    """The tokens of a script, comments and blanks left out."""
    at, size = 0, len(text)
    pending: tuple[str, int] | None = None
    while at < size:
        blank = _BLANK.match(text, at)
        if blank:
            at = blank.end()
            continue
        mark = text[at]
        if mark == "#":
            end = text.find("\n", at)
            at = size if end < 0 else end
            continue
        redirection = _REDIRECTION.match(text, at)
        if redirection and not text.startswith(("<(", ">("), at):
            if pending or redirection.group() == "<<":
                raise _NotUnderstood
            pending, at = (redirection.group(), at), redirection.end()
            continue
        operator = _OPERATOR.match(text, at)
        if operator:
            if pending:
                raise _NotUnderstood
            yield _Token("op", operator.group(), at, operator.end())
            at = operator.end()
            continue
        start = at
        value, at, plain = _word(text, at)
        if pending:
            yield _Token("redirect", pending[0], pending[1], at, target=value)
            pending = None
        elif not (plain and value.isdigit() and text[at : at + 1] in ("<", ">")):
            yield _Token("word", value, start, at, plain)
    if pending:
        raise _NotUnderstood


def _word(text: str, at: int) -> tuple[str, int, bool]:
    """One word from ``at`` on: its value without quotes, its end, and whether it had none."""
    parts: list[str] = []
    start, size, plain = at, len(text), True
    while at < size:
        run = _RUN.match(text, at)
        if run:
            parts.append(run.group())
            at = run.end()
            continue
        mark = text[at]
        if mark == "'":
            end = text.find("'", at + 1)
            if end < 0:
                raise _NotUnderstood
            parts.append(text[at + 1 : end])
            at, plain = end + 1, False
        elif mark == '"':
            value, at = _double(text, at + 1)
            parts.append(value)
            plain = False
        elif mark == "\\":
            if text[at + 1 : at + 2] != "\n":
                parts.append(text[at + 1 : at + 2])
            at, plain = at + 2, False
        elif mark in "$`" or text.startswith(("<(", ">("), at):
            end = _expansion(text, at)
            if text.startswith("$'", at):
                parts.append(text[at + 2 : end - 1])
            else:
                parts.append(text[at:end])
            at, plain = end, False
        elif mark == "(" and parts and parts[-1].endswith("=") and _ASSIGNMENT.fullmatch(text[start:at]):
            end = _closing(text, at + 1, ")")
            parts.append(text[at:end])
            at, plain = end, False
        else:
            break
    return "".join(parts), min(at, size), plain


def _double(text: str, at: int) -> tuple[str, int]:
    """The value of a string in double quotes from ``at`` on, and the place behind it."""
    parts: list[str] = []
    while True:
        run = _IN_DOUBLE.match(text, at)
        if run:
            parts.append(run.group())
            at = run.end()
        mark = text[at : at + 1]
        if not mark:
            raise _NotUnderstood
        if mark == '"':
            return "".join(parts), at + 1
        if mark == "\\":
            escaped = text[at + 1 : at + 2]
            parts.append("" if escaped == "\n" else escaped if escaped in '$`"\\' else mark + escaped)
            at += 2
        elif text.startswith(("$'", '$"'), at):  # a dollar sign and nothing more, here
            parts.append("$")
            at += 1
        else:
            end = _expansion(text, at)
            parts.append(text[at:end])
            at = end


def _expansion(text: str, at: int) -> int:
    """The place behind the expansion, substitution or ANSI string that begins here."""
    if text[at] == "`":
        return _closing(text, at + 1, "`")
    if text.startswith(("$(", "<(", ">("), at):
        return _closing(text, at + 2, ")")
    if text.startswith("${", at):
        return _closing(text, at + 2, "}")
    if text.startswith("$'", at):
        end = at + 2
        while end < len(text) and text[end] != "'":
            end += 2 if text[end] == "\\" else 1
        if end >= len(text):
            raise _NotUnderstood
        return end + 1
    match = _NAME.match(text, at)
    return match.end() if match else at + 1


@dataclass(frozen=True, slots=True)
class _Simple:
    """A command with its words, or assignments alone."""

    start: int
    end: int
    words: tuple[str, ...] = ()  # none of a condition, which is not read
    assigned: tuple[str, ...] = ()  # names, where the command is nothing but assignments
    substitutes: bool = False  # and a value of them is the output of a command
    writes: bool = False

    @property
    def leaves(self) -> bool:
        """Whether it ends the shell that it stands in."""
        return self.words[:1] in (("exit",), ("return",)) or (
            self.words[:1] == ("exec",) and len(self.words) > 1
        )


@dataclass(frozen=True, slots=True)
class _Group:
    """``{ … }``, or ``( … )`` in a shell of its own."""

    start: int
    end: int
    items: tuple[_Item, ...]
    subshell: bool


@dataclass(frozen=True, slots=True)
class _Branch:
    """if, while, until, for, select or case: lists that are asked, lists that may run."""

    start: int
    end: int
    kind: str
    conditions: tuple[tuple[_Item, ...], ...]
    bodies: tuple[tuple[_Item, ...], ...]
    otherwise: bool = False  # the last body is an else
    rounds: bool = False
    head: str = ""


_Part = _Simple | _Group | _Branch


@dataclass(frozen=True, slots=True)
class _Pipeline:
    start: int
    end: int
    parts: tuple[_Part, ...]
    bang: bool


@dataclass(frozen=True, slots=True)
class _Item:
    """One and-or list: a pipeline, and further ones with what joins them."""

    start: int
    end: int
    first: _Pipeline
    rest: tuple[tuple[str, _Pipeline], ...]
    background: bool


_CLOSERS = _words("then else elif fi do done esac }")
_ENDS_LIST = _words(") ;; ;& ;;&")
_NOT_READ = _words("function coproc") | _CLOSERS


class _Parser:
    """Reads a script into its lists; raises _NotUnderstood for what is not read here."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = [*_tokens(text), _Token("end", "", len(text), len(text))]
        self.at = 0
        self.depth = 0
        self.simples: list[_Simple] = []

    def parse(self) -> tuple[_Item, ...]:
        items = self.sequence()
        if not self.is_end():
            raise _NotUnderstood
        return items

    @property
    def token(self) -> _Token:
        return self.tokens[self.at]

    def take(self) -> _Token:
        token = self.tokens[self.at]
        if self.at + 1 < len(self.tokens):
            self.at += 1
        return token

    def is_end(self) -> bool:
        return self.token.kind == "end"

    def is_op(self, *values: str) -> bool:
        return self.token.kind == "op" and self.token.value in values

    def is_word(self, *values: str) -> bool:
        return self.token.kind == "word" and self.token.plain and self.token.value in values

    def expect(self, word: str) -> None:
        if not (self.is_word(word) or self.is_op(word)):
            raise _NotUnderstood
        self.take()

    def lines(self) -> None:
        while self.is_op("\n"):
            self.take()

    def sequence(self) -> tuple[_Item, ...]:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise _NotUnderstood
        items: list[_Item] = []
        while True:
            while self.is_op("\n", ";") and (self.token.value == "\n" or items):
                self.take()
            if self.is_end() or self.is_op(*_ENDS_LIST) or self.is_word(*_CLOSERS):
                break
            items.append(self.item())
            if not (items[-1].background or self.is_end() or self.is_op("\n", ";", *_ENDS_LIST)):
                raise _NotUnderstood
        self.depth -= 1
        return tuple(items)

    def item(self) -> _Item:
        first = self.pipeline()
        rest: list[tuple[str, _Pipeline]] = []
        while self.is_op("&&", "||"):
            joint = self.take().value
            self.lines()
            rest.append((joint, self.pipeline()))
        end = rest[-1][1].end if rest else first.end
        background = self.is_op("&")
        if background:
            self.take()
        return _Item(first.start, end, first, tuple(rest), background)

    def pipeline(self) -> _Pipeline:
        start, bang = self.token.start, False
        while self.is_word("!", "time"):
            bang ^= self.take().value == "!"
            while self.is_word("-p", "--"):
                self.take()
        parts = [self.part()]
        while self.is_op("|", "|&"):
            self.take()
            self.lines()
            parts.append(self.part())
        return _Pipeline(start, parts[-1].end, tuple(parts), bang)

    def part(self) -> _Part:
        token = self.token
        if self.is_op("("):
            if self.text.startswith("((", token.start):
                end = _closing(self.text, token.start + 1, ")")
                if self.text[end - 2 : end] == "))":
                    return self.condition(end)
            self.take()
            items = self.sequence()
            self.expect(")")
            return _Group(token.start, self.redirections(), items, subshell=True)
        if self.is_word("{"):
            self.take()
            items = self.sequence()
            self.expect("}")
            return _Group(token.start, self.redirections(), items, subshell=False)
        if self.is_word("if", "while", "until", "for", "select", "case"):
            return self.branch()
        if self.is_word("[["):
            ahead = self.at
            while self.tokens[ahead].value != "]]":
                if self.tokens[ahead].kind == "end":
                    raise _NotUnderstood
                ahead += 1
            return self.condition(self.tokens[ahead].end)
        return self.simple()

    def condition(self, end: int) -> _Simple:
        """``[[ … ]]`` or ``(( … ))``, which is not read: it may end either way."""
        start = self.token.start
        while self.token.start < end and not self.is_end():
            self.take()
        simple = _Simple(start, self.redirections(end))
        self.simples.append(simple)
        return simple

    def redirections(self, end: int = -1) -> int:
        if end < 0:
            end = self.tokens[self.at - 1].end
        while self.token.kind == "redirect":
            end = self.take().end
        return end

    def branch(self) -> _Branch:
        start, kind = self.token.start, self.take().value
        conditions: list[tuple[_Item, ...]] = []
        bodies: list[tuple[_Item, ...]] = []
        otherwise = rounds = False
        head = ""
        if kind == "if":
            conditions.append(self.sequence())
            self.expect("then")
            bodies.append(self.sequence())
            while self.is_word("elif"):
                self.take()
                conditions.append(self.sequence())
                self.expect("then")
                bodies.append(self.sequence())
            if self.is_word("else"):
                self.take()
                otherwise = True
                bodies.append(self.sequence())
            self.expect("fi")
        elif kind == "case":
            head = self.take().value
            self.lines()
            self.expect("in")
            self.cases(bodies)
        else:
            rounds = True
            if kind in ("while", "until"):
                conditions.append(self.sequence())
            else:
                rounds = self.loop_head()
            self.expect("do")
            bodies.append(self.sequence())
            self.expect("done")
        end = self.redirections()
        return _Branch(start, end, kind, tuple(conditions), tuple(bodies), otherwise, rounds, head)

    def cases(self, bodies: list[tuple[_Item, ...]]) -> None:
        self.lines()
        while not self.is_word("esac"):
            while not self.is_op(")"):
                if self.is_end() or self.is_op("\n", ";", "&"):
                    raise _NotUnderstood
                self.take()
            self.take()
            bodies.append(self.sequence())
            if self.is_op(";;", ";&", ";;&"):
                self.take()
            self.lines()
        self.take()

    def loop_head(self) -> bool:
        """Reads up to ``do``; whether the loop may have several rounds."""
        if self.is_op("("):
            end = _closing(self.text, self.token.start + 1, ")")
            while self.token.start < end and not self.is_end():
                self.take()
            words = 2
        else:
            self.take()
            self.lines()
            words = 0
            if self.is_word("in"):
                self.take()
                while self.token.kind == "word":
                    word = self.take()
                    words += 1 if word.plain and not set("*?[{") & set(word.value) else 2
        while self.is_op(";", "\n"):
            self.take()
        return words != 1

    def simple(self) -> _Simple:
        start = self.token.start
        words: list[_Token] = []
        assigned: list[_Token] = []
        writes, end = False, start
        while self.token.kind in ("word", "redirect"):
            token = self.take()
            end = token.end
            if token.kind == "redirect":
                to_stream = token.value == ">&" or token.target.startswith(("/dev/null", "/dev/std", "&"))
                writes = writes or (">" in token.value and not to_stream)
            elif not words and _ASSIGNMENT.match(self.text[token.start : token.start + 200]):
                assigned.append(token)
            else:
                words.append(token)
        is_function = bool(words) and (self.is_op("(") or (words[0].plain and words[0].value in _NOT_READ))
        if end == start or is_function:
            raise _NotUnderstood
        simple = _Simple(
            start,
            end,
            tuple(word.value for word in words),
            ()
            if words
            else tuple(token.value.split("=", 1)[0].rstrip("+").split("[")[0] for token in assigned),
            not words and any("$(" in token.value or "`" in token.value for token in assigned),
            writes,
        )
        self.simples.append(simple)
        return simple


# -- one command -------------------------------------------------------------------------------------------


class _Command(NamedTuple):
    """What is known of one command: its acts, how it ends, and what masks inside it."""

    status: str = "other"  # or zero, nonzero, carry: that of the command before it
    acts: frozenset[str] = frozenset()
    check: bool = False  # a failure of it matters
    neutral: bool = False  # prepares, or cannot fail
    idle: tuple[str, ...] = ()  # why it runs no check
    reasons: tuple[str, ...] = ()
    program: str = ""
    words: tuple[str, ...] = ()  # without what stands before the program


def _quoted(text: str) -> str:
    """A piece of the command for a sentence: one line, of bounded length."""
    line = " ".join(text[: 4 * _LONGEST_QUOTE].split())
    line = "".join(mark if mark.isprintable() else "?" for mark in line)
    return f"`{line[:_LONGEST_QUOTE]}…`" if len(line) > _LONGEST_QUOTE else f"`{line}`"


def _command(argv: list[str], level: int, *, text: str = "") -> _Command:
    """What is known of an argv; ``text`` is how it stands in its script, ``level`` how deep that script is."""
    inner = _unwrapped(argv) if argv else None
    if inner is None:
        return _Command(program=_name(argv[0]) if argv else "")
    program, words = inner
    found: _Command | None = None
    if program in _SHELLS:
        found = _shell(words, level)
    elif program == "eval" and len(words) > 1:  # in the same shell, whose options are not known here
        found = _script(" ".join(words[1:]), level, errexit=True, pipefail=True)
    elif program == "nix-shell" and "--run" in words[:-1]:
        found = _script(words[words.index("--run") + 1], level)
    elif program == "find":
        found = _finding(words, level)
    if found is None:
        found = _plain(program, words, text or shlex.join(argv[:50]))
    return found._replace(program=program, words=tuple(words))


def _plain(program: str, words: list[str], text: str) -> _Command:
    """A program that runs no other."""
    if program in _CANNOT_FAIL:
        return _Command("zero", neutral=True, idle=(f"{_quoted(text)} runs no check",))
    if program == "false":
        return _Command("nonzero", neutral=True)
    acts = _acts(program, words)
    idle = _idle_option(program, words, acts) if program in _KNOWN else ""
    if idle:
        return _Command(neutral=True, idle=(f"{_quoted(text)} runs no check ({idle})",))
    if not acts:
        return _Command()
    reasons = []
    always = _always_option(program, words)
    if always:
        reasons.append(f"{_quoted(text)} ends with 0 whatever it finds ({always})")
    empty = _option(words, _EMPTY.get(program, frozenset()), past_dashes=program in _HAND_ON)
    if empty:
        reasons.append(f"{_quoted(text)} ends with 0 where it finds nothing to run ({empty})")
    changes = program in _CHANGES_BY_FIX and _option(words, _FIXES)
    formats = acts == {"format"} and not _option(words, _FORMAT_CHECKS)
    judges = not (changes or formats or reasons)
    return _Command(acts=acts - {"check"}, check=judges, reasons=tuple(reasons))


def _finding(words: list[str], level: int) -> _Command:
    """``find``: with ``-exec … ;`` it ends with 0 whatever the commands say, with ``+`` it does not."""
    acts: frozenset[str] = frozenset()
    reasons: list[str] = []
    check = False
    at = 1
    while at < len(words):
        start = at + 1
        at = start
        if words[start - 1] not in ("-exec", "-execdir"):
            continue
        while at < len(words) and words[at] not in (";", "+"):
            at += 1
        inner = _command(words[start:at], level + 1) if level < _MOST_SCRIPTS else _Command()
        acts |= inner.acts
        reasons += inner.reasons
        if inner.check and words[at : at + 1] == [";"]:
            text = _quoted(shlex.join(words[start : min(at, start + 50)]))
            reasons.append(f"find drops the exit status of {text} (-exec … ;)")
        check = check or (inner.check and words[at : at + 1] == ["+"])
    return _Command(acts=acts, check=check, reasons=tuple(reasons))


def _shell(words: list[str], level: int) -> _Command | None:
    """A shell that is given a script with ``-c``; None where it is given none that is understood."""
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
    if not has_script or at >= len(words):
        return None
    return _script(words[at], level, errexit=errexit, pipefail=pipefail)


def _script(text: str, level: int, *, errexit: bool = False, pipefail: bool = False) -> _Command | None:
    """What is known of a script as one command; None where it is not understood."""
    if level >= _MOST_SCRIPTS or len(text) > _LONGEST_SCRIPT:
        return None
    try:
        parser = _Parser(text)
        items = parser.parse()
    except _NotUnderstood:
        return None
    return _Reading(parser, level + 1, errexit=errexit, pipefail=pipefail).read(items)


def _in_script(simple: _Simple, text: str, level: int) -> _Command:
    """A simple command of a script: what the shell does by itself, or a program."""
    if not simple.words:
        certain = simple.assigned and not simple.substitutes
        return _Command("zero", neutral=True) if certain else _Command()
    name, *args = simple.words
    if name in ("exit", "return"):
        found = _Command(_exit_status(args), neutral=True)
    elif name == "wait" and not args:
        found = _Command("zero", neutral=True)
    elif name in _PREPARES:
        found = _Command(neutral=True, reasons=_trap(args, text) if name == "trap" else ())
    else:
        return _command(list(simple.words), level, text=text)
    return found._replace(program=name, words=simple.words)


def _exit_status(args: Sequence[str]) -> str:
    if not args or args[0] in ("$?", "${?}"):
        return "carry"
    return ("nonzero" if args[0].strip("0") else "zero") if args[0].isdigit() else "other"


def _trap(args: list[str], text: str) -> tuple[str, ...]:
    """The reason that a trap gives: one that ends the script with 0, at its end or at an error."""
    if len(args) < 2 or {"EXIT", "0", "ERR"}.isdisjoint(args[1:]):
        return ()
    try:
        last = _ending(_Parser(args[0]).parse())
    except _NotUnderstood:
        return ()
    ends_well = last is not None and last.words[0] == "exit" and _exit_status(last.words[1:]) == "zero"
    return (f"{_quoted(text)} ends the script with 0",) if ends_well else ()


# -- the statuses of a script ------------------------------------------------------------------------------


class _Piece(NamedTuple):
    """A command whose status a node carries."""

    text: str
    check: bool
    feeds: bool = False


@dataclass(slots=True)
class _Carried:
    """What a node carries: by its status, or by ending the shell at once."""

    soft: list[_Piece] = field(default_factory=list)
    hard: list[_Piece] = field(default_factory=list)


def _ending(items: Sequence[_Item]) -> _Simple | None:
    """The ``exit`` or ``exec`` that a list comes to for certain, and that stands for its status."""
    return next((simple for item in items if (simple := _sole(item)) and simple.leaves), None)


def _sole(item: _Item) -> _Simple | None:
    """The simple command that an item begins with, where it runs for certain and in this shell."""
    part = item.first.parts[0]
    alone = not item.background and len(item.first.parts) == 1
    return part if alone and isinstance(part, _Simple) else None


def _simples(node: _Part | _Pipeline | _Item | Sequence[_Item]) -> Iterator[_Simple]:
    """All simple commands of a node, in order."""
    if isinstance(node, _Simple):
        yield node
    elif isinstance(node, _Group):
        yield from _simples(node.items)
    elif isinstance(node, _Branch):
        for items in (*node.conditions, *node.bodies):
            yield from _simples(items)
    elif isinstance(node, _Pipeline):
        for part in node.parts:
            yield from _simples(part)
    elif isinstance(node, _Item):
        yield from _simples(node.first)
        for _, pipeline in node.rest:
            yield from _simples(pipeline)
    else:
        for item in node:
            yield from _simples(item)


def _jumps(node: _Part | _Pipeline, *names: str) -> bool:
    """Whether one of these commands, which leave a loop or a round of it, stands in the node."""
    return any(simple.words[:1] and simple.words[0] in names for simple in _simples(node))


class _Reading:
    """Follows the statuses of the checks of one script to its end."""

    def __init__(self, parser: _Parser, level: int, *, errexit: bool, pipefail: bool) -> None:
        self.text = parser.text
        self.simples = parser.simples
        self.commands = {
            simple.start: _in_script(simple, self.text[simple.start : simple.end], level)
            for simple in parser.simples
        }
        self.errexit = errexit
        self.pipefail = pipefail
        self.reasons: list[str] = []
        self.used: set[str] = set()  # names that a command which may fail reads
        self.last_other = -1
        self.guards = self.waits = False
        for simple in self.simples:
            command = self.commands[simple.start]
            self.waits = self.waits or (command.program == "wait" and len(command.words) > 1)
            if command.status in ("nonzero", "carry") or (simple.leaves and command.status == "other"):
                self.guards = True
            if command.status == "zero" and not simple.writes and not simple.assigned:
                continue
            names = _IDENTIFIER.findall(self.text[simple.start : simple.end])
            self.used.update(names[len(simple.assigned) :] if simple.assigned else names)
            if command.status != "zero":
                self.last_other = max(self.last_other, simple.start)

    def read(self, items: tuple[_Item, ...]) -> _Command:
        if not items:
            return _Command("zero", idle=("the script runs no command",))
        acts: frozenset[str] = frozenset()
        for simple in self.simples:
            acts |= self.commands[simple.start].acts
            self.reasons += self.commands[simple.start].reasons
        carried = self.sequence(items, counts=True, ignored=False)
        if self.status_of(items) == "nonzero" and not any(
            simple.leaves and self.commands[simple.start].status != "nonzero" for simple in self.simples
        ):
            self.reasons.clear()  # it never ends with 0
        check = any(piece.check for piece in (*carried.soft, *carried.hard))
        idle = () if self.reasons else self.idle(items)
        return _Command(self.status_of(items), acts, check, bool(idle), idle, tuple(self.reasons))

    def idle(self, items: tuple[_Item, ...]) -> tuple[str, ...]:
        """Why the script runs no check: every command of it is idle, cannot fail, or prepares."""
        found: list[str] = []
        filters = {
            id(part)
            for item in items
            for pipeline in (item.first, *(pipeline for _, pipeline in item.rest))
            for part in pipeline.parts[1:]
            if self.filters(part) == 2
        }
        for simple in self.simples:
            command = self.commands[simple.start]
            if id(simple) in filters or simple.assigned:
                continue
            if command.program in _MAY_RUN or command.status in ("nonzero", "carry"):
                return ()
            if not command.neutral and not command.idle:
                return ()
            found += command.idle
        real = [
            reason
            for simple in self.simples
            for reason in self.commands[simple.start].idle
            if self.commands[simple.start].status != "zero"
        ]
        ends = self.status_of(items) == "zero"
        if not real and not ends:
            return ()
        return tuple(real or found[-1:] or ["the script runs no check"])

    # How a node ends, if that is certain: zero, nonzero, carry (that of the command before), or other.

    def status_of(self, node: _Part | _Pipeline | _Item | tuple[_Item, ...]) -> str:
        if isinstance(node, _Simple):
            return self.commands[node.start].status
        if isinstance(node, _Group):
            return self.status_of(node.items)
        if isinstance(node, _Branch):
            return "other"
        if isinstance(node, _Pipeline):
            return self.status_of_pipeline(node)
        if isinstance(node, _Item):
            if node.background:
                return "zero"
            status = self.status_of(node.first)
            simple = _sole(node)
            for joint, pipeline in () if simple and simple.leaves else node.rest:
                after = self.status_of(pipeline)
                if joint == "&&":
                    certain = status == "zero" or after == "nonzero"
                    status = after if certain else "nonzero" if status == "nonzero" else "other"
                elif status == "nonzero":
                    status = after
                elif status != "zero":
                    status = "zero" if after == "zero" else "other"
            return status
        status = "carry"
        for item in node:
            after = self.status_of(item)
            status = status if after == "carry" else after
            simple = _sole(item)
            if simple is not None and simple.leaves:
                break
        return status

    def status_of_pipeline(self, pipeline: _Pipeline) -> str:
        status = self.status_of(pipeline.parts[-1])
        if len(pipeline.parts) > 1:
            if self.filters(pipeline.parts[-1]) == 2:
                status = "zero"
            if self.pipefail and any(self.status_of(part) != "zero" for part in pipeline.parts[:-1]):
                status = "other"
        if pipeline.bang:
            return {"zero": "nonzero", "nonzero": "zero"}.get(status, "other")
        return status

    def filters(self, part: _Part) -> int:
        """2 where the right side of a pipe ends with 0 whatever it reads, 1 where it searches, 0 else."""
        if not isinstance(part, _Simple):
            return 0
        command = self.commands[part.start]
        if command.program in _SEARCHES:
            return 1
        if command.status == "zero":
            return 2
        judging = _FILTERS.get(command.program)
        if judging is None or any(word in judging.split() for word in command.words[1:]):
            return 0
        if command.program in ("awk", "gawk", "sed"):
            return 0 if any(_JUDGES_ITSELF.search(word) for word in command.words[1:]) else 2
        return 2

    # What is lost on the way, and what a node carries.

    def quoted(self, node: _Part | _Pipeline | _Item) -> str:
        return _quoted(self.text[node.start : min(node.end, node.start + 4 * _LONGEST_QUOTE)])

    def lose(self, pieces: Sequence[_Piece], how: str, *, all_of_them: bool = False) -> None:
        """Notes that the statuses of checks are lost; of unknown commands only where that is certain to matter."""
        checks = [piece for piece in pieces if piece.check]
        for piece in checks or (pieces if all_of_them else ()):
            if len(self.reasons) < _MOST_REASONS:
                self.reasons.append(f"the exit status of {_quoted(piece.text)} is lost{how}")

    def sequence(self, items: Sequence[_Item], *, counts: bool, ignored: bool) -> _Carried:
        carried = _Carried()
        end = next(
            (place + 1 for place, item in enumerate(items) if (simple := _sole(item)) and simple.leaves),
            len(items),
        )
        status = self.status_of(tuple(items[:end]))
        for place, item in enumerate(items[:end]):
            is_last = place == end - 1
            inside = self.item(item, counts=counts and is_last and not item.background, ignored=ignored)
            carried.hard += inside.hard
            if item.background:
                if not self.waits:
                    self.lose(inside.soft + inside.hard, " in the background", all_of_them=counts and is_last)
            elif is_last:
                carried.soft = inside.soft
            elif not inside.soft:
                continue
            elif self.looks_back(items[place + 1]):
                carried.hard += inside.soft
            elif status != "nonzero":
                after = items[end - 1]
                how = f": {self.quoted(after)} comes after it"
                certain = counts and status == "zero" and not self.guards and not self.errexit
                self.lose(inside.soft, how, all_of_them=certain)
        return carried

    def looks_back(self, item: _Item) -> bool:
        """Whether an item begins with a look at the status of what ran before it."""
        part: _Part = item.first.parts[0]
        while not isinstance(part, _Simple):
            lists = [part.items] if isinstance(part, _Group) else [*part.conditions]
            if isinstance(part, _Branch) and _STATUS.search(part.head):
                return True
            if not lists or not lists[0]:
                return False
            part = lists[0][0].first.parts[0]
        text = self.text[part.start : part.end]
        if self.commands[part.start].status == "carry":
            return True
        if not _STATUS.search(text):
            return False
        if part.assigned:
            return not self.used.isdisjoint(part.assigned)
        return self.commands[part.start].status != "zero" or part.writes

    def item(self, item: _Item, *, counts: bool, ignored: bool) -> _Carried:
        simple = _sole(item)
        rest = () if simple and simple.leaves else item.rest
        carried = self.pipeline(item.first, counts=counts and not rest, ignored=ignored or bool(rest))
        if not rest and item.first.bang and counts:
            for piece in carried.soft:
                if piece.check:
                    self.reasons.append(f"`!` turns the exit status of {_quoted(piece.text)} around")
        soft = fatal = [] if item.first.bang else carried.soft
        for place, (joint, pipeline) in enumerate(rest):
            is_last = place == len(rest) - 1
            inside = self.pipeline(pipeline, counts=counts and is_last, ignored=ignored or not is_last)
            carried.hard += inside.hard
            if joint == "&&" and (_jumps(pipeline, "break", "continue") or self.notes(pipeline)):
                soft = fatal = []  # the success is acted upon, or written down
            elif joint == "&&":
                soft.extend(inside.soft)
                fatal = inside.soft
            else:
                soft = self.instead(soft, pipeline, inside, carried, certain=counts and is_last)
                fatal = soft
        if self.errexit and not ignored:
            carried.hard += fatal
            soft = [] if fatal is soft else soft[: len(soft) - len(fatal)]
        return _Carried(soft, carried.hard)

    def instead(
        self, soft: list[_Piece], pipeline: _Pipeline, inside: _Carried, carried: _Carried, *, certain: bool
    ) -> list[_Piece]:
        """What ``… || pipeline`` carries of what stands before it."""
        status = self.status_of(pipeline)
        shows = not pipeline.bang and all(
            self.commands[simple.start].program in _SHOWS | _CANNOT_FAIL for simple in _simples(pipeline)
        )
        if status == "zero" or shows:
            if not self.notes(pipeline):
                how = f" to `|| {self.quoted(pipeline)[1:]}"
                self.lose(soft, how, all_of_them=certain and status == "zero")
            return []
        if status in ("nonzero", "carry"):
            if self.leaves_shell(pipeline):
                carried.hard += soft
                return []
            return soft
        return inside.soft

    def leaves_shell(self, pipeline: _Pipeline) -> bool:
        """Whether the pipeline ends the shell that it stands in."""
        part = pipeline.parts[-1]
        while isinstance(part, _Group) and not part.subshell and part.items:
            last = _ending(part.items)
            if last is not None:
                return True
            part = part.items[-1].first.parts[-1]
        return isinstance(part, _Simple) and part.leaves and len(pipeline.parts) == 1

    def notes(self, pipeline: _Pipeline) -> bool:
        """Whether the outcome is written down for later: in a variable that is read, in a file."""
        for simple in _simples(pipeline):
            if not self.used.isdisjoint(simple.assigned):
                return True
            command = self.commands[simple.start]
            keeps = command.program in _KEEPS and len(command.words) > 1
            if (simple.writes or keeps) and self.last_other > pipeline.end:
                return True
        return False

    def pipeline(self, pipeline: _Pipeline, *, counts: bool, ignored: bool) -> _Carried:
        parts = pipeline.parts
        ignored = ignored or pipeline.bang
        if len(parts) == 1:
            return self.part(parts[0], counts=counts and not pipeline.bang, ignored=ignored)
        inside = []
        for place, part in enumerate(parts):
            state = self.errexit, self.pipefail
            own = self.part(
                part, counts=counts and place == len(parts) - 1 and not pipeline.bang, ignored=ignored
            )
            inside.append(own.soft + own.hard)
            self.errexit, self.pipefail = state
        left = [piece for pieces in inside[:-1] for piece in pieces]
        right = inside[-1]
        if self.pipefail or not self.used.isdisjoint(("PIPESTATUS", "pipestatus")):
            return _Carried(left + right) if self.pipefail else _Carried(right, left)
        last = parts[-1]
        filters = self.filters(last)
        if filters and not (pipeline.bang and filters == 1):
            how = f" in the pipe to {self.quoted(last)} (no pipefail)"
            certain = counts and filters == 2 and not any(piece.feeds for piece in left)
            self.lose(left, how, all_of_them=certain)
        if filters == 2:
            right = [] if any(piece.check for piece in left) or not left else [
                _Piece(self.text[pipeline.start : pipeline.end], check=False, feeds=True)
            ]  # fmt: skip
        return _Carried(right)

    def part(self, part: _Part, *, counts: bool, ignored: bool) -> _Carried:
        if isinstance(part, _Simple):
            return self.simple(part)
        if isinstance(part, _Group):
            state = self.errexit, self.pipefail
            carried = self.sequence(part.items, counts=counts, ignored=ignored)
            if part.subshell:
                self.errexit, self.pipefail = state
                return _Carried(carried.soft + carried.hard)
            return carried
        return self.branch(part, counts=counts, ignored=ignored)

    def simple(self, simple: _Simple) -> _Carried:
        command = self.commands[simple.start]
        if command.program in ("set", "shopt", "setopt", "unsetopt"):
            self.set(command.words)
        if command.neutral or command.idle or command.status in ("zero", "nonzero"):
            return _Carried()
        text = self.text[simple.start : simple.end]
        return _Carried([_Piece(text, command.check, command.program in _FEEDERS and not command.check)])

    def set(self, words: Sequence[str]) -> None:
        """``set -eo pipefail``, ``set +e``, ``shopt -so pipefail``, ``setopt pipefail``."""
        on = words[0] == "setopt"
        if words[0] == "shopt":
            on = any(word.startswith("-") and "s" in word for word in words[1:])
        for word in words[1:]:
            if word[:1] in ("-", "+") and words[0] == "set":
                on = word[0] == "-"
                self.errexit = on if "e" in word[1:] else self.errexit
            elif word.lower().replace("_", "") == "pipefail":
                self.pipefail = on
            elif word.lower().replace("_", "") == "errexit":
                self.errexit = on

    def branch(self, branch: _Branch, *, counts: bool, ignored: bool) -> _Carried:
        carried = _Carried()
        before = self.errexit, self.pipefail
        asked = [self.sequence(items, counts=False, ignored=True) for items in branch.conditions]
        for items in branch.bodies:
            inside = self.sequence(items, counts=counts, ignored=ignored)
            carried.soft += inside.soft
            carried.hard += inside.hard
        self.errexit, self.pipefail = self.errexit or before[0], self.pipefail or before[1]
        if branch.kind == "if" and counts:
            self.decided(branch, asked[0])
        if (
            branch.rounds
            and not (self.errexit and not ignored)
            and not _jumps(branch, "break", "continue", "exit", "return")
        ):
            self.lose(carried.soft, " but for the last round of the loop")
        return carried

    def decided(self, branch: _Branch, asked: _Carried) -> None:
        """``if check; then …``, where the way that a failure takes ends with 0."""
        condition = branch.conditions[0]
        if len(branch.conditions) != 1 or len(condition) != 1 or condition[0].rest:
            return
        pipeline = condition[0].first
        pieces = asked.soft
        if pipeline.bang:
            pieces = [
                piece
                for part in pipeline.parts[-1:]
                for piece in self.part(part, counts=False, ignored=True).soft
            ]
            way: tuple[_Item, ...] = branch.bodies[0]
        else:
            way = branch.bodies[1] if branch.otherwise else ()
        if not any(self.notes(each.first) for each in way) and (not way or self.status_of(way) == "zero"):
            self.lose(pieces, " in an `if` whose way for a failure ends with 0")
