"""Anchors: lines are read, commands run, tokens found whole, and changes since the base told."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from discipline_tools import WAIT, Repo, read_all, use_plain_git
from hypothesis import given, settings
from hypothesis import strategies as st

from dispatch_fidelity.discipline.anchors import (
    FILE,
    Anchor,
    Base,
    Ran,
    _Search,
    anchors_at,
    check_against_base,
    compare,
    find_base,
    judge,
    load_anchors,
    needs_shell,
    read_anchors,
    run_anchor,
    whole_token,
)
from dispatch_fidelity.discipline.findings import Finding
from dispatch_fidelity.discipline.repository import GitError, Repository, find_repository
from dispatch_fidelity.jsonio import LIMITS


@pytest.fixture(autouse=True)
def _plain_git(monkeypatch: pytest.MonkeyPatch) -> None:
    use_plain_git(monkeypatch)


def anchor(command: str, expected: str = "ok") -> Anchor:
    return Anchor("name", command, expected, 1)


def ran(command: str, expected: str, root: Path, timeout: float = WAIT) -> Ran:
    return run_anchor(anchor(command, expected), root, timeout)


def problems(text: str) -> list[tuple[str, str]]:
    return [(finding.kind, finding.subject) for finding in read_anchors(text)[1]]


# -- lines -----------------------------------------------------------------------------------------------------


def test_a_line_is_a_name_a_command_and_what_it_prints() -> None:
    anchors, findings = read_anchors("# why\n\n  tests | pytest -q   |  12 passed \nsum|expr 1 + 1|2\n")
    assert findings == ()
    assert anchors == (Anchor("tests", "pytest -q", "12 passed", 3), Anchor("sum", "expr 1 + 1", "2", 4))
    assert anchors[0].argv == ("pytest", "-q")


def test_bars_between_the_first_and_the_last_are_of_the_command() -> None:
    anchors, findings = read_anchors("count | cat a | grep -c 'x|y' || true | 3\n")
    assert findings == ()
    assert anchors == (Anchor("count", "cat a | grep -c 'x|y' || true", "3", 1),)
    assert anchors[0].argv == ("sh", "-c", "cat a | grep -c 'x|y' || true")


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_and_a_byte_order_mark_change_nothing(tmp_path: Path, end: str, mark: str) -> None:
    text = f"{mark}a | true | ok{end}# note{end}b | false | no"
    (tmp_path / FILE).write_bytes(text.encode())
    anchors, findings = load_anchors(tmp_path)
    assert findings == ()
    assert anchors == (Anchor("a", "true", "ok", 1), Anchor("b", "false", "no", 3))


BAD_LINES = {
    "no bar": "pytest",
    "one bar": "tests | pytest",
    "no name": " | pytest | ok",
    "no command": "tests | | ok",
    "nothing expected": "tests | pytest | ",
    "bars alone": "||",
    "an open quote": "tests | echo 'x | x",
    "an escape of nothing": "tests | echo x\\ | x",
    "a NUL": "tests | echo \0 | x",
    "a NUL in the text": "tests | echo | x\0",
}


@pytest.mark.parametrize("line", BAD_LINES.values(), ids=BAD_LINES.keys())
def test_a_line_that_is_no_anchor_is_a_finding_and_the_others_stand(line: str) -> None:
    anchors, findings = read_anchors(f"first | true | ok\n{line}\nlast | true | ok\n")
    assert [found.name for found in anchors] == ["first", "last"]
    assert [(finding.area, finding.kind, finding.subject) for finding in findings] == [
        ("ANCHOR", "MALFORMED", f"{FILE}:2")
    ]


def test_a_name_in_use_is_a_finding_and_the_first_one_stands() -> None:
    anchors, findings = read_anchors("a | true | ok\na | echo ok | ok\n")
    assert anchors == (Anchor("a", "true", "ok", 1),)
    assert [finding.kind for finding in findings] == ["MALFORMED"]
    assert "line 1" in findings[0].text


@given(st.text())
def test_any_text_is_read_without_an_error(text: str) -> None:
    anchors, findings = read_anchors(text)
    assert all(found.argv for found in anchors)
    lines = [line.strip() for line in text.removeprefix("\ufeff").split("\n")]
    told = [line for line in lines if line and not line.startswith("#")]
    assert len(anchors) + len(findings) == len(told)


def test_a_missing_file_holds_no_anchors(tmp_path: Path) -> None:
    assert load_anchors(tmp_path) == ((), ())


def make_latin(path: Path) -> None:
    path.write_bytes(b"caf\xe9 | true | ok\n")


def make_folder(path: Path) -> None:
    path.mkdir()


def make_pipe(path: Path) -> None:
    os.mkfifo(path)


def make_link(path: Path) -> None:
    """What lies behind a link is not what the history of the file holds."""
    path.with_name("elsewhere").write_text("a | true | ok\n")
    path.symlink_to("elsewhere")


def make_huge(path: Path) -> None:
    with open(path, "wb") as handle:
        handle.truncate(LIMITS.report + 1)


@pytest.mark.parametrize("make", [make_latin, make_folder, make_pipe, make_link, make_huge])
def test_a_file_that_is_no_text_file_is_a_finding(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / FILE)
    anchors, findings = load_anchors(tmp_path)
    assert anchors == ()
    assert [(finding.kind, finding.subject) for finding in findings] == [("UNREADABLE", FILE)]
    assert "None" not in findings[0].text


# -- shells ----------------------------------------------------------------------------------------------------

PLAIN = [
    "pytest -q",
    "grep -c 'a|b' file",
    'grep -c "a|b; c > d" file',
    r"echo a\|b \$HOME \; \\",
    "echo '$HOME `x`'",
    "make CC=gcc",
    r'echo "a\"b" "c\\d"',
    "expr 1 + 1",
    "./run --at=12:30 %x @y ^z",
    'echo "it\'s" \'say "x"\'',
    "echo ü",
]
SHELL = [
    "a && b",
    "a || b",
    "a | b",
    "a; b",
    "a &",
    "a > b",
    "a < b",
    "(a)",
    "echo $HOME",
    'echo "$HOME"',
    'echo "`date`"',
    "echo `date`",
    "ls *.py",
    "ls ?.py",
    "ls [ab]",
    "echo {a,b}",
    "ls ~/x",
    "LANG=C sort",
    "! false",
    "a # comment",
    r'echo "\$HOME"',
    r'echo "\`"',
    "echo 'a' | b",
    r"echo '\' $x",
]


@pytest.mark.parametrize("command", PLAIN)
def test_words_alone_need_no_shell(command: str) -> None:
    assert not needs_shell(command)
    assert anchor(command).argv == tuple(shlex.split(command))


@pytest.mark.parametrize("command", SHELL)
def test_syntax_of_a_shell_runs_in_one(command: str) -> None:
    assert needs_shell(command)
    assert anchor(command).argv == ("sh", "-c", command)


QUOTABLE = st.text(alphabet="ab \\'\"$`|#é", min_size=1, max_size=8)


@settings(max_examples=60, deadline=None)
@given(QUOTABLE)
def test_a_command_means_the_same_with_and_without_a_shell(text: str) -> None:
    command = f"printf %s {text}"
    if needs_shell(command):
        return
    try:
        direct = anchor(command).argv
    except ValueError:
        return
    shown = subprocess.run(
        ["sh", "-c", f"for word in {text}; do printf '%s\\0' \"$word\"; done"], capture_output=True
    )
    assert shown.stdout.decode().split("\0")[:-1] == list(direct[2:])


# -- tokens ----------------------------------------------------------------------------------------------------

FOUND = [
    ("2 passed", "2 passed"),
    ("2 passed", "== 2 passed in 0.1s =="),
    ("2 passed", "2 passed."),
    ("2 passed", "(2 passed)"),
    ("2 passed", "2 passed, 1 skipped"),
    ("2 passed", "12 passed\n2 passed\n"),
    ("2 passed", "2   passed"),
    ("2 passed", "2\npassed"),
    ("2", "2"),
    ("2", "is 2."),
    ("2", "1, 2, 3"),
    ("2.0", "v 2.0."),
    ("100%", "coverage 100%"),
    ("OK", "OK!"),
    ("ok", "not-ok"),
    ("[x]", "a[x]b"),
    ("-2", "x-2"),
    ("ü", "ü"),
    ("2 passed", "\x1b[32m2 passed\x1b[0m"),
    ("2 passed", "\x1b[1m2\x1b[0m \x1b[32mpassed\x1b[0m in 1s"),
    ("2 passed", "\x1b(B\x1b[m2 passed\x1b(B\x1b[m"),
    ("2 passed", "\x1b]0;title\x072 passed"),
    ("2 passed", "\x1b]8;;http://x\x1b\\2 passed\x1b]8;;\x1b\\"),
    ("2 passed", "\x1b72 passed\x1b8"),
    ("2 passed", "\x1bP+q\x1b\\2 passed"),
    ("a.c", "a.c"),
]
NOT_FOUND = [
    ("2 passed", "12 passed"),
    ("2 passed", "2 passed_over"),
    ("2 passed", "2 passedx"),
    ("2 passed", "1.2 passed"),
    ("2 passed", "1,2 passed"),
    ("2 passed", "-2 passed"),
    ("2 passed", "\u22122 passed"),
    ("2 passed", "2 failed"),
    ("2 passed", "1\x1b[0m2 passed"),
    ("2 passed", "2 passed\x1b[0m_over"),
    ("2 passed", "2passed"),
    ("2", "20"),
    ("2", "2.5"),
    ("2", "2,5"),
    ("2", "v2"),
    ("2.0", "2.0.1"),
    ("2.0", "12.0"),
    ("2.0", "2.01"),
    ("100%", "1100%"),
    ("OK", "NOK"),
    ("OK", "OKAY"),
    ("a.c", "abc"),
    ("ok", "OK"),
    ("ü", "über"),
    ("2 passed", ""),
]


def search(expected: str, *pieces: bytes) -> bool:
    looking = _Search(expected)
    for piece in pieces:
        looking.feed(piece)
    looking.end()
    return looking.seen


@pytest.mark.parametrize(("expected", "text"), FOUND)
def test_a_whole_token_is_found_however_the_output_is_cut(expected: str, text: str) -> None:
    data = text.encode()
    assert search(expected, data)
    for cut in range(len(data) + 1):
        assert search(expected, data[:cut], data[cut:]), data[cut:]
    assert search(expected, *(data[at : at + 1] for at in range(len(data))))
    assert search(expected, b"before\n", data, b"\nafter")


@pytest.mark.parametrize(("expected", "text"), NOT_FOUND)
def test_a_part_of_a_longer_token_is_not_found_however_the_output_is_cut(expected: str, text: str) -> None:
    data = text.encode()
    assert not search(expected, data)
    for cut in range(len(data) + 1):
        assert not search(expected, data[:cut], data[cut:]), data[cut:]
    assert not search(expected, *(data[at : at + 1] for at in range(len(data))))


def test_what_was_cut_off_in_front_still_counts() -> None:
    """The piece that is kept for the next one may begin in the middle of a longer token."""
    for filler in range(4_090, 4_115):
        assert not search("2 passed", b"12 passed" + b" " * filler, b"\n" * 5)
        assert not search("2 passed", b"1.2 passed" + b" " * filler, b"\n", b"\n" * 5)
        assert search("2 passed", b" 2 passed" + b" " * filler, b"\n" * 5)


PIECES = st.lists(
    st.sampled_from(
        [
            b"2",
            b" passed",
            b"1",
            b".",
            b"_",
            b"\n",
            b"\x1b[",
            b"0m",
            b"\x1b",
            b"]0;",
            b"\x07",
            b"\xc3",
            b"\xbc",
            b"x",
        ]
    ),
    max_size=12,
)


@settings(max_examples=300, deadline=None)
@given(PIECES)
def test_how_an_output_is_cut_decides_nothing(pieces: list[bytes]) -> None:
    assert search("2 passed", *pieces) == search("2 passed", b"".join(pieces))


def test_a_token_is_found_at_the_very_end_and_beyond_any_length() -> None:
    noise = b"noise \xff\x00 " * 10_000
    assert search("2 passed", noise, noise, b"2 pas", b"sed")
    assert not search("2 passed", noise, noise, b"2 pas", b"se")


def test_no_escape_that_never_ends_hides_what_follows() -> None:
    assert search("2 passed", b"\x1b]0;never ended", b" " * 10_000, b"2 passed\n")
    assert search("2 passed", b"\x1b[" + b"0" * 10_000, b"\n2 passed\n")


def test_the_words_of_the_expected_text_are_no_pattern() -> None:
    assert whole_token("a+b (c)").search("a+b   (c)")
    assert not whole_token("a+b (c)").search("aab (c)")


def test_what_was_printed_last_is_told() -> None:
    looking = _Search("x")
    for piece in (b"first\n", b"second  line\n", b"\x1b[31mthird\x1b[0m\n", b"\n\n"):
        looking.feed(piece)
    looking.end()
    assert looking.last == "first second line third"
    assert len(looking.last) <= 160


# -- commands --------------------------------------------------------------------------------------------------


def test_a_command_that_prints_the_text_and_exits_0_holds(tmp_path: Path) -> None:
    done = ran("echo it is ok", "ok", tmp_path)
    assert done == Ran(0, True, "it is ok")
    assert judge(anchor("echo it is ok"), done) is None


def kind(command: str, expected: str, root: Path, timeout: float = WAIT) -> str:
    finding = judge(anchor(command, expected), ran(command, expected, root, timeout))
    assert finding is not None
    assert (finding.area, finding.subject) == ("ANCHOR", "name")
    return f"{finding.kind}: {finding.text}"


def test_a_command_that_prints_the_text_and_fails_is_failed(tmp_path: Path) -> None:
    told = kind("echo ok; exit 3", "ok", tmp_path)
    assert told.startswith("FAILED: ")
    assert "exited 3, although it printed the expected text" in told


def test_a_command_that_fails_without_the_text_is_failed(tmp_path: Path) -> None:
    assert "exited 1, without the expected text; it printed last: no" in kind(
        "echo no; false", "ok", tmp_path
    )
    assert kind("kill -9 $$", "ok", tmp_path).startswith("FAILED: 'kill -9 $$' exited -9")


def test_a_command_that_does_not_print_the_text_is_broken(tmp_path: Path) -> None:
    assert kind("echo 12 passed", "2 passed", tmp_path).startswith("BROKEN: ")


def test_a_command_that_cannot_be_started_is_failed(tmp_path: Path) -> None:
    assert "cannot be started: No such file" in kind("no-such-command-here", "ok", tmp_path)
    (tmp_path / "plain").write_text("x")
    assert "cannot be started: Permission denied" in kind("./plain", "ok", tmp_path)


def test_errors_are_searched_too(tmp_path: Path) -> None:
    assert ran("echo ok >&2", "ok", tmp_path).seen


def test_a_command_runs_at_the_root_with_an_empty_input(tmp_path: Path) -> None:
    assert ran("pwd", str(tmp_path), tmp_path).seen
    assert ran("wc -c", "0", tmp_path) == Ran(0, True, "0")


@pytest.fixture
def held(tmp_path: Path) -> Iterator[int]:
    """Reads from the pipe ``held``, which ends when the last process is gone that holds it open."""
    os.mkfifo(tmp_path / "held")
    fd = os.open(tmp_path / "held", os.O_RDONLY | os.O_NONBLOCK)
    yield fd
    os.close(fd)


def test_a_command_out_of_time_is_ended_with_all_it_started(tmp_path: Path, held: int) -> None:
    script = "exec 3>held; echo started >&3; sleep 600 & echo late; sleep 600"
    done = ran(script, "late", tmp_path, timeout=0.3)
    assert done.exit_code is None
    assert done.problem == "the command took longer than 0.3 seconds and was ended"
    assert read_all(held) == b"started\n"


def test_time_runs_for_a_command_that_prints_without_end_too(tmp_path: Path) -> None:
    assert ran("yes", "no", tmp_path, timeout=0.2).problem


def test_time_without_end_is_time(tmp_path: Path) -> None:
    assert ran("echo ok", "ok", tmp_path, timeout=float("inf")) == Ran(0, True, "ok")


def test_what_a_command_leaves_running_is_ended_and_not_waited_for(tmp_path: Path, held: int) -> None:
    script = "exec 3>held; echo started >&3; sleep 600 & echo ok"
    assert ran(script, "ok", tmp_path) == Ran(0, True, "ok")
    assert read_all(held) == b"started\n"


DAEMON = """
import os, sys
reading, writing = os.pipe()
if os.fork():
    os.close(writing)
    os.read(reading, 1)
    os._exit(0)
os.setsid()
print("ok", os.getpid(), flush=True)
os.write(writing, b"x")
while True:
    os.write(1, b"noise " * 999) if sys.argv[1] == "noisy" else open("wait").read()
"""


@pytest.mark.parametrize("manner", ["silent", "noisy"])
def test_a_process_that_left_the_session_is_not_waited_for(tmp_path: Path, manner: str) -> None:
    """It holds the output open, and the noisy one never falls silent: its next word is its last."""
    os.mkfifo(tmp_path / "wait")
    (tmp_path / "daemon.py").write_text(DAEMON)
    done = ran(f"{sys.executable} daemon.py {manner}", "ok", tmp_path)
    assert (done.exit_code, done.seen, done.problem) == (0, True, "")
    if manner == "silent":
        os.kill(int(done.last.split()[1]), signal.SIGKILL)


def test_a_command_that_closes_its_output_is_waited_for(tmp_path: Path) -> None:
    assert ran("echo ok; exec >&- 2>&-; sleep 0.05; exit 4", "ok", tmp_path) == Ran(4, True, "ok")


PEAK = """
import resource, sys
from pathlib import Path
from dispatch_fidelity.discipline.anchors import Anchor, run_anchor
ran = run_anchor(Anchor("name", sys.argv[1], "2 passed", 1), Path.cwd())
assert ran.seen and ran.exit_code == 0
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def test_a_long_output_is_searched_in_flat_memory(tmp_path: Path) -> None:
    """Behind a shell that forks: a process begins with the peak of the one that it was."""

    def peak(size: int) -> int:
        command = f"head -c {size} /dev/zero; echo; echo 2 passed"
        words = ["sh", "-c", '"$@"; exit $?', "sh", sys.executable, "-c", PEAK, command]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, timeout=WAIT)
        assert done.returncode == 0, done.stderr
        return int(done.stdout)

    unit = 1024 if sys.platform.startswith("linux") else 1
    assert (peak(20_000_000) - peak(10)) * unit < 5_000_000


def test_no_file_of_ours_stays_open(tmp_path: Path) -> None:
    ran("echo ok", "ok", tmp_path)
    first = os.open(os.devnull, os.O_RDONLY)
    os.close(first)
    for _ in range(3):
        ran("echo ok", "ok", tmp_path)
        ran("no-such-command-here", "ok", tmp_path)
    again = os.open(os.devnull, os.O_RDONLY)
    os.close(again)
    assert again == first


def test_an_interrupted_search_ends_the_command(
    tmp_path: Path, held: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(self: _Search, data: bytes) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(_Search, "feed", interrupted)
    with pytest.raises(KeyboardInterrupt):
        ran("exec 3>held; echo started >&3; echo ready; sleep 600", "ok", tmp_path)
    assert read_all(held) == b"started\n"


# -- the base --------------------------------------------------------------------------------------------------

LINES = "tests | pytest -q | 12 passed\nlint | ruff check | All checks passed\n"


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with two commits on ``main``."""
    with pytest.MonkeyPatch.context() as patch:
        use_plain_git(patch)
        repo = Repo.create(tmp_path_factory.mktemp("template") / "repo")
        repo.write(FILE, LINES)
        repo.commit("first")
        repo.write("a.txt", "alpha\n")
        repo.commit("second")
        return repo.root


@pytest.fixture
def repo(template: Path, tmp_path: Path) -> Repo:
    return Repo.copy(template, tmp_path / "repo")


@pytest.fixture(scope="module")
def cloned(template: Path) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        use_plain_git(patch)
        Repo(template.parent).git("clone", "-q", "--template=", f"file://{template}", "clone")
    return template.parent / "clone"


@pytest.fixture
def clone(cloned: Path, tmp_path: Path) -> Repo:
    """A clone of it, so that there is a remote with a default branch."""
    return Repo.copy(cloned, tmp_path / "clone")


def of(repo: Repo) -> Repository:
    found = find_repository(repo.root)
    assert found is not None
    return found


def base(repo: Repo, given: str = "") -> Base:
    return find_base(of(repo), given)


def feature(repo: Repo) -> str:
    """A branch with a commit of its own; the commit it left."""
    left = repo.head()
    repo.git("checkout", "-q", "-b", "feature")
    repo.write("b.txt", "beta\n")
    repo.commit("on the branch")
    return left


def test_without_a_remote_the_base_is_the_head_on_every_branch(repo: Repo) -> None:
    assert base(repo) == Base(repo.head())
    feature(repo)
    assert base(repo) == Base(repo.head())
    repo.git("checkout", "-q", "--detach")
    assert base(repo) == Base(repo.head())


def test_on_the_default_branch_the_base_is_the_head(clone: Repo) -> None:
    assert base(clone) == Base(clone.head())
    clone.write("b.txt", "beta\n")
    clone.commit()
    assert base(clone) == Base(clone.head())


def test_on_another_branch_the_base_is_where_it_left_the_default_one(clone: Repo) -> None:
    left = feature(clone)
    assert base(clone) == Base(left)
    clone.git("checkout", "-q", "--detach")
    assert base(clone) == Base(left)


def test_the_default_branch_is_the_one_the_remote_names(clone: Repo) -> None:
    clone.git("checkout", "-q", "-b", "trunk")
    clone.git("update-ref", "refs/remotes/origin/trunk", "HEAD~1")
    clone.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/trunk")
    assert base(clone) == Base(clone.head())
    clone.git("checkout", "-q", "main")
    assert base(clone) == Base(clone.git("rev-parse", "HEAD~1").decode().strip())


@pytest.mark.parametrize("name", ["main", "master"])
def test_without_a_named_default_it_is_main_or_master(clone: Repo, name: str) -> None:
    clone.git("remote", "set-head", "origin", "--delete")
    clone.git("update-ref", f"refs/remotes/origin/{name}", "HEAD")
    if name == "master":
        clone.git("update-ref", "-d", "refs/remotes/origin/main")
    left = feature(clone)
    assert base(clone) == Base(left)


def test_a_default_branch_that_is_not_known_is_a_problem(clone: Repo) -> None:
    clone.git("remote", "set-head", "origin", "--delete")
    clone.git("update-ref", "-d", "refs/remotes/origin/main")
    assert base(clone).commit == ""
    assert "default branch of 'origin' is not known" in base(clone).problem


def test_names_of_remotes_and_branches_may_hold_slashes(clone: Repo) -> None:
    clone.git("remote", "rename", "origin", "team/upstream")
    clone.git("remote", "set-head", "team/upstream", "main")
    clone.write("b.txt", "beta\n")
    clone.commit()
    assert base(clone) == Base(clone.head())
    clone.git("checkout", "-q", "-b", "upstream/main")
    assert base(clone) == Base(clone.git("rev-parse", "HEAD~1").decode().strip())


def test_a_tag_of_the_same_name_misleads_nobody(clone: Repo) -> None:
    left = feature(clone)
    for name in ("origin/main", "main", "HEAD", "feature"):
        clone.git("update-ref", f"refs/tags/{name}", "HEAD")
    assert base(clone) == Base(left)


def test_a_shallow_clone_without_a_common_commit_is_a_problem(clone: Repo, tmp_path: Path) -> None:
    feature(clone)
    options = ["--depth=1", "--no-single-branch", "-b", "feature"]
    Repo(tmp_path).git("clone", "-q", *options, f"file://{clone.root}", "shallow")
    shallow = Repo(tmp_path / "shallow")
    shallow.git("fetch", "-q", "--depth=1", "origin", "main:refs/remotes/origin/main")
    shallow.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
    assert "a shallow clone?" in base(shallow).problem
    assert base(shallow, "origin/main").problem == ""


def test_an_unrelated_history_is_a_problem(clone: Repo) -> None:
    clone.git("checkout", "-q", "--orphan", "fresh")
    clone.commit("unrelated")
    assert "no merge base with origin/main" in base(clone).problem


def test_a_repository_without_a_commit_has_an_empty_base(tmp_path: Path) -> None:
    empty = Repo.create(tmp_path / "empty")
    assert base(empty) == Base()
    empty.write(FILE, LINES)
    against, new, findings = check_against_base(load_anchors(empty.root)[0], of(empty))
    assert (against, new, findings) == (Base(), ("tests", "lint"), ())


def test_a_head_without_a_commit_beside_others_is_a_problem(repo: Repo) -> None:
    """Otherwise an orphan branch would make every edited anchor a new one."""
    repo.git("checkout", "-q", "--orphan", "fresh")
    assert base(repo).commit == ""
    assert "give --base" in base(repo).problem
    assert base(repo, "main").problem == ""


def test_a_given_base_is_taken(clone: Repo) -> None:
    first = clone.git("rev-parse", "HEAD~1").decode().strip()
    for name in ("HEAD~1", first, first[:10], "main~1", "origin/main~1"):
        assert base(clone, name) == Base(first)
    clone.git("tag", "-a", "-m", "x", "v1", "HEAD~1")
    assert base(clone, "v1") == Base(first)


@pytest.mark.parametrize(
    "name", ["nowhere", "--help", "--output=x", "HEAD:ANCHOR.txt", "0" * 40, "", " ", "-"]
)
def test_a_given_base_that_is_no_commit_is_a_problem(clone: Repo, name: str) -> None:
    if name == "":
        assert base(clone, name) == Base(clone.head())
        return
    assert base(clone, name) == Base(problem=f"--base {name!r} is no commit of this repository")


def test_without_git_there_is_no_base(tmp_path: Path) -> None:
    assert "no git history" in find_base(None).problem
    anchors = read_anchors(LINES)[0]
    assert [finding.kind for finding in check_against_base(anchors, None)[2]] == ["NO-BASE"]
    assert check_against_base((), None)[2] == ()
    assert [finding.kind for finding in check_against_base((), None, "HEAD")[2]] == ["NO-BASE"]


# -- changes since the base ------------------------------------------------------------------------------------


def changes(repo: Repo, given: str = "") -> tuple[tuple[str, ...], list[tuple[str, str]]]:
    """The new anchors, and the findings as kind and subject."""
    anchors, damage = load_anchors(repo.root)
    _, new, findings = check_against_base(anchors, of(repo), given)
    return new, [(finding.kind, finding.subject) for finding in (*damage, *findings)]


Edit = tuple[str, tuple[str, ...], list[tuple[str, str]]]
EDITS: dict[str, Edit] = {
    "nothing": (LINES, (), []),
    "spaces, comments and order": (
        "# note\r\nlint|ruff check|  All checks passed\r\n\r\ntests |pytest -q| 12 passed",
        (),
        [],
    ),
    "another text": (LINES.replace("12", "2"), (), [("EDITED", "tests")]),
    "another command": (LINES.replace("pytest -q", "echo"), (), [("EDITED", "tests")]),
    "a removal": (LINES.split("\n")[1] + "\n", (), [("REMOVED", "tests")]),
    "a comment in its place": ("#" + LINES, (), [("REMOVED", "tests")]),
    "a rename": (LINES.replace("tests |", "checks |"), ("checks",), [("REMOVED", "tests")]),
    "an addition": (LINES + "more | true | ok\n", ("more",), []),
    "all": ("", (), [("REMOVED", "tests"), ("REMOVED", "lint")]),
    "one spoiled": (
        LINES.replace("tests | pytest -q |", "tests | pytest -q"),
        (),
        [("MALFORMED", f"{FILE}:1"), ("REMOVED", "tests")],
    ),
    "a second one before it": (
        "tests | echo 12 passed | 12 passed\n" + LINES,
        (),
        [("MALFORMED", f"{FILE}:2"), ("EDITED", "tests")],
    ),
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS.keys())
def test_what_was_done_to_anchors_on_a_branch_is_told(clone: Repo, edit: Edit) -> None:
    text, new, findings = edit
    feature(clone)
    clone.write(FILE, text)
    assert changes(clone) == (new, findings)
    clone.commit()
    assert changes(clone) == (new, findings)


def test_a_removed_file_removes_every_anchor(clone: Repo) -> None:
    clone.path(FILE).unlink()
    assert changes(clone) == ((), [("REMOVED", "tests"), ("REMOVED", "lint")])


def test_an_edit_is_told_with_what_stood_there_before(clone: Repo) -> None:
    clone.write(FILE, LINES.replace("12", "2"))
    (finding,) = check_against_base(load_anchors(clone.root)[0], of(clone))[2]
    assert isinstance(finding, Finding)
    assert "it was: pytest -q | 12 passed" in finding.text


def test_an_older_base_tells_older_edits(clone: Repo) -> None:
    clone.write(FILE, LINES.replace("12", "13"))
    clone.commit()
    assert changes(clone) == ((), [])
    assert changes(clone, "HEAD~1") == ((), [("EDITED", "tests")])
    assert changes(clone, "nowhere") == ((), [("NO-BASE", FILE)])


def test_anchors_of_a_commit_before_there_were_any_are_none(repo: Repo) -> None:
    repo.git("rm", "-q", FILE)
    assert anchors_at(of(repo), repo.commit()) == ()
    assert anchors_at(of(repo), "") == ()


def test_the_base_is_read_from_every_folder_and_with_every_line_end(repo: Repo) -> None:
    repo.write(FILE, "\ufeff" + LINES.replace("\n", "\r\n"))
    repo.commit()
    inside = repo.root / "folder"
    inside.mkdir()
    found = find_repository(inside)
    assert found is not None
    assert anchors_at(found, repo.head()) == read_anchors(LINES)[0]


def test_a_base_that_cannot_be_read_is_a_finding_and_not_an_empty_one(repo: Repo) -> None:
    tree = repo.git("rev-parse", "HEAD^{tree}").decode().strip()
    repo.path(f".git/objects/{tree[:2]}/{tree[2:]}").unlink()
    with pytest.raises(GitError):
        anchors_at(of(repo), repo.head())
    assert changes(repo) == ((), [("NO-BASE", FILE)])


def test_a_link_or_a_folder_in_the_base_is_a_finding_and_not_an_empty_one(repo: Repo) -> None:
    repo.path(FILE).unlink()
    repo.path(FILE).symlink_to("elsewhere")
    repo.commit()
    repo.path(FILE).unlink()
    repo.write(FILE, LINES)
    assert changes(repo) == ((), [("NO-BASE", FILE)])
    repo.path(FILE).unlink()
    repo.write(f"{FILE}/inner", "x")
    repo.commit()
    assert [kind for kind, _ in changes(repo)[1]] == ["UNREADABLE", "NO-BASE"]


def test_comparing_is_by_name_and_needs_no_order() -> None:
    anchors = read_anchors(LINES)[0]
    assert compare(anchors, anchors[::-1]) == ((), ())
    assert compare(anchors, ()) == (("tests", "lint"), ())
    assert [finding.kind for finding in compare((), anchors)[1]] == ["REMOVED", "REMOVED"]
