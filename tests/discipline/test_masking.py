from __future__ import annotations

import os
import random
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from dispatch_fidelity.discipline.masking import masks, runner_of


def in_shell(script: str, *options: str) -> tuple[str, ...]:
    return masks(["bash", *options, "-c", script])


# -- scripts in which every check fails: what is masked ends with 0, what is not does not --------------------

MASKED = [
    # instead of the check
    "pytest || true",
    "pytest || :",
    "./check || true",
    "./check || echo failed",
    "./check || exit 0",
    "./check || /bin/true",
    "./check || (echo x)",
    "./check || { echo x; }",
    "./check || { echo x; exit 0; }",
    "./check || { echo failed; exit; }",
    "pytest || cat log",
    "pytest && echo ok || echo failed",
    "pytest || FAILED=1",
    "pytest || echo failed > log",
    'pytest || echo "failed with $?"',
    "cd . && ./check || true",
    "x=1 pytest || true",
    '"pytest" || true',
    "py\\\ntest || true",
    # in a pipe
    "pytest -q | tail -5",
    "pytest | tee log",
    "pytest | grep passed",
    "pytest |& tail",
    "pytest 2>&1 | sed 's/x/y/'",
    "pytest -x 2>&1 | tee log | tail -20",
    "pytest | tee log; echo ${PIPESTATUS[0]}",
    "./run_tests.sh | grep passed",
    "./foo | tail -3",
    "(cd . && pytest) | tail",
    "{ ruff check; mypy .; } 2>&1 | tee log",
    "(pytest; exit $?) | tail",
    "(pytest || exit 1) | tail",
    "time pytest | tail",
    "echo a.py | xargs ruff check | tail",
    "set -e; pytest | tail",
    "! true || pytest | tail",
    # followed by something
    "pytest; echo done",
    "./check; echo done",
    "./check; exit 0",
    "./check; true",
    "./check; :",
    "./check; printf 'x\\n'",
    "./check; echo $?",
    "pytest; rc=$?",
    "pytest; rc=$?; echo $rc",
    'out=$(./check); echo "$out"',
    "(pytest; echo done) || exit 1",
    "set -e; (pytest; echo done) || exit 1",
    "set -e; set +e; pytest; echo done",
    "set -e; pytest && echo ok; echo done",
    "(pytest; rc=$?; exit $rc) || true",
    # in the background, turned around, caught
    "pytest & true",
    "pytest & wait",
    "! pytest",
    "trap 'exit 0' EXIT; pytest",
    "trap 'echo x; exit 0' EXIT\npytest",
    "trap 'exit 0' ERR; pytest",
    # in a branch or a loop
    "if pytest; then echo ok; fi",
    "if pytest; then echo ok; else echo failed; fi",
    "if ! pytest; then echo failed; fi",
    "if true; then pytest | tail; fi",
    "case a in a) pytest | tail;; esac",
    # in another shell
    "bash -c 'pytest | tail'",
    "set -o pipefail; sh -c 'pytest | tail'",
    'eval "pytest || true"',
    "find . -name check -exec mypy {} \\;",
]
NOT_MASKED = [
    "pytest -q",
    "./check",
    "cd . && pytest",
    "./check || exit 1",
    "./check || { echo failed; exit 1; }",
    "./check || false",
    "./check || ./foo",
    "./check || (echo x; exit 1)",
    "./check || exit $?",
    "./check || exit",
    "pytest || pytest --lf",
    "pytest || { ./foo; exit 2; }",
    "pytest > log || { cat log; exit 1; }",
    "pytest || rc=1; ruff check || rc=1; exit $rc",
    'pytest || failed=1; [ -z "$failed" ]',
    "pytest || failed=1\n(( failed == 0 ))",
    "pytest || { echo failed; failed=1; }\nruff check || failed=1\nexit $failed",
    'FAILED=(); pytest || FAILED+=(pytest); [ "${#FAILED[@]}" -eq 0 ]',
    "pytest || echo failed >> failures; test ! -s failures",
    'rc=0; pytest || rc=$?; exit "$rc"',
    "echo a.py | xargs ruff check",
    "echo y | ./check",
    "printf 'a\\n' | ./check",
    "cat log | grep -q nothing_like_it",
    "set -o pipefail; pytest | tee log",
    "set -euo pipefail\npytest | tee log",
    "pytest | tee log; exit ${PIPESTATUS[0]}",
    "pytest | tee log\nrc=${PIPESTATUS[0]}\nexit $rc",
    "pytest | awk '/passed/{bad=1} END{exit bad}'",
    "cd .; export A=1; set -x; mkdir -p out; A=1; trap 'rm -rf out' EXIT; umask 022; pytest",
    "pytest; rc=$?; echo done; exit $rc",
    "pytest; exit $?",
    "pytest; exit",
    "pytest; test $? -eq 0",
    "pytest; if [ $? -ne 0 ]; then exit 1; fi; echo ok",
    "pytest; [ $? -eq 0 ] || exit 1; echo ok",
    "set -e; pytest; echo done",
    "set -e\npytest\nruff check\necho done",
    "set -e; cd .; pytest; cd .; ruff check",
    "pytest || exit 1; echo ok",
    "pytest && echo ok",
    "pytest && exit 0; exit 1",
    "pytest && exit 0 || exit 1",
    "pytest && touch ok; test -f ok",
    "if pytest; then echo ok; else exit 1; fi",
    "if ! pytest; then echo failed; exit 1; fi",
    "if pytest; then exit 0; fi; exit 1",
    "if [ -f log ]; then pytest; fi",
    "[ -d . ] || ./foo; pytest",
    "command -v pytest || ./foo; pytest",
    "rm -f nothing || true; pytest",
    "sleep 0 & pytest",
    "pytest & wait $!",
    "pytest & pid=$!; wait $pid",
    "pytest --version; pytest -q",
    "trap 'rc=$?; rm -f x; exit $rc' EXIT; pytest",
    "trap 'exit 0' INT TERM; pytest",
    "for f in a b; do pytest $f || exit 1; done",
    "for i in 1 2 3; do pytest && exit 0; done; exit 1",
    "for i in 1 2 3; do pytest && break; done",
    "for f in a b; do mypy $f; rc=$((rc|$?)); done; exit $rc",
    "rc=0; for f in a b; do mypy $f || rc=1; done; exit $rc",
    "find . -name check -exec mypy {} +",
    'pytest "a | tail" \'b || true\'',
    "pytest -k 'a or b' # || true",
    "pytest \\| tail",
    '[[ $x =~ ^(a|b)$ ]] || exit 1; pytest',
    "[[ a || b ]] && pytest",
    '[[ "" == "$x" ]] || exit 1; pytest',
    "((1 || 0)); pytest",
    "ruff check --fix . ; pytest",
    "exec pytest; echo x",
    "echo start; pytest",
    "case a in a) pytest;; *) exit 1;; esac",
    "{ pytest; }",
    "(cd . && pytest)",
    "sh -ec 'pytest; echo done'",
    "bash -euo pipefail -c 'pytest | tail'",
]  # fmt: skip


@pytest.mark.parametrize("script", MASKED)
def test_a_script_that_loses_a_status_is_masked(script: str) -> None:
    assert in_shell(script)


@pytest.mark.parametrize("script", NOT_MASKED)
def test_a_script_that_keeps_every_status_is_quiet(script: str) -> None:
    assert in_shell(script) == ()


@pytest.mark.skipif(shutil.which("bash") is None, reason="the shell itself is asked")
def test_the_shell_ends_as_it_was_read(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "log").write_text("a\n")
    for name in ("bin/pytest", "bin/ruff", "bin/mypy", "check", "foo", "run_tests.sh"):
        (tmp_path / name).write_text("#!/bin/sh\necho 3 passed\nexit 1\n")
        (tmp_path / name).chmod(0o755)
    each = 'for script; do bash -c "$script" > all 2>&1; echo $?; rm -rf ok failures out; done'
    done = subprocess.run(
        ["bash", "-c", each, "bash", *MASKED, *NOT_MASKED],
        cwd=tmp_path,
        env={"PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        check=True,
    )
    codes = [int(line) for line in done.stdout.split()]
    assert [script for script, code in zip(MASKED, codes, strict=False) if code != 0] == []
    assert [script for script, code in zip(NOT_MASKED, codes[len(MASKED) :], strict=True) if code == 0] == []


# -- where only one of several checks would be lost, or the programs are not at hand -------------------------


@pytest.mark.parametrize(
    "script",
    [
        "pytest; ruff check .",
        "pytest\nruff check .",
        "pytest & ruff check",
        "cd app; npm run build; npm test",
        "docker compose up -d; pytest; docker compose down",
        "for f in a.sh b.sh; do shellcheck $f; done",
        'for f in *.sh; do shellcheck "$f"; done',
        "while read f; do shellcheck $f; done < list",
        "./run_tests.sh | less",
        "xcodebuild test | xcpretty",
        "go test ./... 2>&1 | gotestfmt",
        "cargo test 2>&1 | grep 'test result'",
        "nohup pytest > log 2>&1 &",
        "pytest --collect-only -q | tail -1",
        "gradle test; exit 0",
    ],
)
def test_a_known_check_that_is_not_the_last_is_lost(script: str) -> None:
    assert in_shell(script)


@pytest.mark.parametrize(
    "script",
    [
        "make clean; make test",
        "npm ci; npm test",
        "npm start & pytest",
        "./run_server.sh & pytest",
        "npx prisma generate; npm test",
        "npm run db:seed; npm test",
        "pip install -e .; pytest",
        "source v/bin/activate; pytest",
        ". ./env; pytest",
        "black .; pytest",
        "prettier --write . || true; npm test",
        "python build_index.py; pytest",
        "docker compose up -d; pytest",
        "until curl -s x; do sleep 1; done; pytest",
        "while true; do pytest && break; sleep 1; done",
        "eslint -f json . | reviewdog -fail-on-error",
        "mypy . | mypy-baseline filter",
        "node test.js | tap-spec",
        "kubectl get pods | grep Running",
        "./prog < in | diff - out",
        "git ls-files | xargs mypy | reviewdog",
        "curl -s x | jq -e .ok",
        "cat x | grep -q y",
        "yes | ./check",
        "find . -name '*.py' | xargs mypy",
        "diff <(sort a) <(sort b)",
        "pytest > >(tee log)",
        'test -z "$(ruff check . | head -1)"',
        "pytest || fail 'x'",
        "pytest || return 1",
        "! ./check",
        "! grep -rn TODO src",
        "! pytest && exit 1; echo ok",
        "ls dist",
        "grep -q x y",
        "source ./checks.sh",
        "bash ./x.sh; bash ./y.sh",
    ],
)
def test_what_prepares_feeds_or_judges_is_quiet(script: str) -> None:
    assert in_shell(script) == ()


@pytest.mark.parametrize(
    "script",
    [
        "pytest <<EOF || true\nEOF",
        "pytest 'unbalanced || true",
        "pytest $(unbalanced || true",
        "pytest || true )",
        "f() { pytest | tail; }; f",
        "function f { pytest | tail; }; f",
        "pytest || true; fi",
        "if pytest; then true",
        "pytest | | tail",
        "case x in a) pytest || true",
        "(" * 100 + "pytest || true" + ")" * 100,
        "pytest || true; " * 20_000,
    ],
)
def test_what_is_not_understood_is_quiet(script: str) -> None:
    assert in_shell(script) == ()


# -- commands that run no check, or always end well -----------------------------------------------------------


@pytest.mark.parametrize(
    "command",
    [
        "true",
        ":",
        "echo all tests pass",
        "printf x",
        "timeout 5 echo ok",
        "sh -c ''",
        "sh -c '# pytest'",
        "sh -c 'set -e; echo ok'",
        "sh -c 'echo tests pass; exit 0'",
        "sh -c 'pytest --version && echo ok'",
        "pytest --collect-only",
        "pytest --co -q",
        "pytest -h",
        "pytest --fixtures",
        "pytest --markers",
        "python -m pytest --version",
        "uv run pytest --help",
        "make -n test",
        "make -sn",
        "make --dry-run test",
        "cargo test --no-run",
        "cargo test -- --list",
        "cargo --version",
        "jest --listTests",
        "npm test -- --listTests",
        "mypy --version",
        "tox --notest",
        "go test -list . ./...",
        "go test -run '^$' ./...",
        "mvn test -DskipTests",
        "mvn -Dmaven.test.skip=true test",
        "gradle test -x test",
        "ctest -N",
        "ctest --show-only=json-v1",
        "rspec --dry-run",
        "dotnet test --list-tests",
    ],
)
def test_a_command_that_runs_no_check_is_masked(command: str) -> None:
    assert masks(shlex.split(command))


@pytest.mark.parametrize(
    "command",
    [
        "ruff check --exit-zero .",
        "flake8 --exit-zero",
        "pylint --exit-zero src",
        "make -i test",
        "make -ki test",
        "make --ignore-errors test",
        "mvn -fn verify",
        "rspec --failure-exit-code 0",
        "golangci-lint run --issues-exit-code=0",
        "npx jest --passWithNoTests",
        "vitest run --passWithNoTests",
        "npm run test --if-present",
        "sh -c 'ruff check --exit-zero . && pytest'",
    ],
)
def test_a_check_that_always_ends_well_is_masked(command: str) -> None:
    assert masks(shlex.split(command))


@pytest.mark.parametrize(
    "command",
    [
        "pytest -q --tb=short -p no:cacheprovider",
        "pytest -- -h",
        "tox -- --help",
        "make -k",
        "make -q",
        "make -C i test",
        "make -f n test",
        "make -j 4 test",
        "make test ARGS=-n",
        "cargo test -- --nocapture",
        "go test -run TestX ./...",
        "go test -bench . -run '^$' ./...",
        "go vet -c 3 ./...",
        "mvn -fae verify",
        "mvn install -DskipTests",
        "gradle build -x test",
        "gradle check --continue",
        "eslint --no-error-on-unmatched-pattern .",
        "npm run build -- --version 3",
        "just test --version 3",
        "foo --exit-zero --version",
        "python --version",
        "ls dist",
        "test -f x",
        "git diff --exit-code",
        "bash -n run_tests.sh",
        "bash run_tests.sh",
        "sh",
        "bash -c",
    ],
)
def test_an_option_that_does_not_surely_mask_is_quiet(command: str) -> None:
    assert masks(shlex.split(command)) == ()


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["pytest", "|", "tail"],
        ["pytest", "||", "true"],
        ["pytest || true"],
        ["pytest | tail"],
        ["pytest", "-k", "a | b || true"],
        ["sh", "run.sh", "pytest || true"],
        ["docker", "run", "--entrypoint", "sh", "img", "-c", "pytest || true"],
    ],
)
def test_without_a_shell_the_signs_of_a_shell_are_plain_words(argv: list[str]) -> None:
    assert masks(argv) == ()


WRAPPERS = [
    "sh -c",
    "/bin/sh -c",
    "bash -lc",
    "bash --norc -c",
    "zsh -c",
    "dash -c",
    "ksh -c",
    "busybox sh -c",
    "env A=1 bash -c",
    "env -i PATH=x -u B sh -c",
    "timeout -k 5 60 sh -c",
    "nice -n 10 sh -c",
    "nohup sh -c",
    "time -p sh -c",
    "stdbuf -oL sh -c",
    "xvfb-run -a sh -c",
    "sudo -u bob A=1 sh -c",
    "uv run --with x bash -c",
    "poetry run sh -c",
    "npx --yes sh -c",
    "docker run --rm -v a:b -e X=1 img sh -c",
    "docker exec -it box sh -c",
    "docker compose -f x.yml run --rm app sh -c",
    "kubectl exec pod -- sh -c",
    "xargs -n 1 sh -c",
    "nix-shell --run",
]


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_a_script_is_read_behind_what_stands_before_its_shell(wrapper: str) -> None:
    assert masks([*wrapper.split(), "pytest | tail"])
    assert masks([*wrapper.split(), "pytest"]) == ()
    assert runner_of([*wrapper.split(), "ruff check . && mypy ."]) == ("lint", "typecheck")


@pytest.mark.parametrize("options", [("-o", "pipefail"), ("-eo", "pipefail"), ("-e", "-o", "pipefail")])
def test_pipefail_may_be_given_to_the_shell(options: tuple[str, ...]) -> None:
    assert in_shell("pytest | tail", *options) == ()
    assert in_shell("set +o pipefail; pytest | tail", *options)


def test_errexit_may_be_given_to_the_shell() -> None:
    assert in_shell("pytest; echo done", "-e") == ()
    assert in_shell("pytest; echo done")


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (
            "pytest -q | tail -5",
            "the exit status of `pytest -q` is lost in the pipe to `tail -5` (no pipefail)",
        ),
        ("pytest || true", "the exit status of `pytest` is lost to `|| true`"),
        ("pytest; echo done", "the exit status of `pytest` is lost: `echo done` comes after it"),
        ("pytest &", "the exit status of `pytest` is lost in the background"),
        ("! pytest", "`!` turns the exit status of `pytest` around"),
        ("trap 'exit 0' EXIT; pytest", "`trap 'exit 0' EXIT` ends the script with 0"),
        ("make -i", "`make -i` ends with 0 whatever it finds (-i)"),
        ("pytest --co", "`pytest --co` runs no check (--co)"),
        ("echo ok", "`echo ok` runs no check"),
        ("", "the script runs no command"),
    ],
)
def test_a_reason_quotes_the_piece(script: str, reason: str) -> None:
    assert in_shell(script) == (reason,)


def test_each_reason_is_told_once_and_in_order() -> None:
    reasons = in_shell("pytest | tail; mypy . | tail; pytest | tail")
    assert [("pytest" in reason, "mypy" in reason) for reason in reasons] == [(True, False), (False, True)]


def test_a_reason_is_one_short_printable_line() -> None:
    (reason,) = in_shell("pytest \x1b[31m '" + "a\n" * 500 + "' || true")
    assert reason.isprintable()
    assert len(reason) < 200


# -- the acts of a command -----------------------------------------------------------------------------------

ACTS = {
    "test": """
        pytest -q / python -m pytest -q / python3.11 -m unittest discover / /v/bin/python -W error -m pytest
        python -Bm pytest / coverage run --source src -m pytest / uv run -m pytest / tox / tox -e py311
        nox / jest / npx vitest run / npx jest@29 / npm test / npm t / npm run test:unit
        npm --prefix web test / yarn test / yarn jest / yarn workspace foo test / pnpm -r test
        pnpm exec vitest run / bun test / cargo test / cargo +nightly test / cargo nextest run
        go test ./... / mvn test / ./mvnw -q test / ./gradlew :app:testDebugUnitTest / make test
        make -C sub test / ctest --test-dir b / dotnet test / bazel test //... / rspec / bundle exec rspec
        rake / vendor/bin/phpunit / php artisan test / swift test / flutter test / mix test / sbt test
        bash run_tests.sh / ./run_tests.sh / python tests/test_x.py / python manage.py test / node --test
        node node_modules/.bin/jest / deno test / just test / timeout 9 pytest
        """,
    "build": """
        npm run build / cargo build --release / go build ./... / mvn compile / mvn test-compile
        mvn install -DskipTests / ./gradlew build -x test / ./gradlew assembleDebug / make / make -j4
        ninja -C out / cmake --build b / xcodebuild -scheme test build / docker build . / python -m build
        dotnet build
        """,
    "lint": """
        ruff check . / flake8 / python -m flake8 / npx eslint . / npm run lint / yarn lint
        cargo clippy -- -D warnings / go vet ./... / golangci-lint run / shellcheck a.sh / pre-commit run -a
        rubocop / tox -e lint / ./gradlew ktlintCheck / flutter analyze / ./scripts/lint.sh
        find . -name x -exec shellcheck {} + / xargs ruff check
        """,
    "typecheck": """
        mypy . / python -m mypy src / pyright / npx tsc --noEmit / npm run type-check / cargo check
        tox run -e mypy
        """,
    "format": """
        ruff format --check . / black . / prettier --check . / cargo fmt --check / npm run format:check
        """,
    "test build": """
        mvn -B verify / ./gradlew build / sh -c 'cd x && npm ci && npm run build && npm test'
        """,
    "test lint": """
        nox -s lint tests / make lint test
        """,
    "lint typecheck": """
        sh -c 'ruff check && mypy .' / ./vendor/bin/phpstan analyse
        """,
    "": """
        pytest --version / pytest --collect-only / echo pytest / pip install pytest / command -v pytest
        which pytest / bash -n run_tests.sh / npm ci / npm run dev / npm run db:migrate / cargo nextest list
        make clean / make check / cmake -S . -B b / python manage.py migrate / python build_index.py
        node server.js / coverage report / test -f x / /usr/bin/test -f x / git commit -m pytest
        cat test.txt / python -c 'import pytest' / docker run img / gradle test -x test
        """,
}  # fmt: skip


@pytest.mark.parametrize("acts", ACTS)
def test_a_command_performs_the_acts_of_its_runners(acts: str) -> None:
    commands = [
        command.strip()
        for line in ACTS[acts].splitlines()
        for command in line.split(" / ")
        if command.strip()
    ]
    found = {command: set(runner_of(shlex.split(command))) for command in commands}
    assert found == {command: set(acts.split()) for command in commands}


def test_acts_have_a_fixed_order() -> None:
    assert runner_of(["sh", "-c", "mypy . && ruff check . && pytest"]) == ("test", "lint", "typecheck")


# -- hostile words -------------------------------------------------------------------------------------------


def test_no_words_raise() -> None:
    chance = random.Random(7)
    words = (
        "pytest || && echo if then fi do done for in case esac << $( ${ (( )) [[ ]] exit 0 wait 2> a= set -e"
    )
    pieces = [*" \n;&|()<>{}'\"\\$`#!=*\0\v\f\r\u2028\ud800", *words.split()]
    for _ in range(2000):
        script = "".join(chance.choice(pieces) for _ in range(chance.randrange(30)))
        masks(["sh", "-c", script])
        runner_of(script.split())


@pytest.mark.parametrize("nested", ["env ", "bash -c ", "find . -exec ", "xargs ", "eval "])
def test_wrappers_are_opened_only_so_far(nested: str) -> None:
    assert masks([*(nested * 5000).split(), "pytest"]) == ()


def test_scripts_inside_scripts_are_opened_only_so_far() -> None:
    script = "pytest || true"
    for _ in range(3):
        script = f"bash -c {shlex.quote(script)}"
    assert masks(shlex.split(script))
    for _ in range(3):
        script = f"bash -c {shlex.quote(script)}"
    assert masks(shlex.split(script)) == ()
