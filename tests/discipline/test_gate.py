"""``gate`` stands between a caller and a command, and neither of them notices; what it records is what happened."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shlex
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from discipline_tools import (
    AUDIT,
    WAIT,
    Repo,
    Terminal,
    gate,
    newest,
    output,
    python,
    read_all,
    read_until,
    snapshot,
    started,
    stored,
    use_plain_git,
    words,
)

LINUX = sys.platform.startswith("linux")
SHELL = ("sh", "-c")
# Says which signals come until its input ends; no signal is lost between two looks at the input.
TELL = """
import os, select, signal, sys
reading, writing = os.pipe()
os.set_blocking(writing, False)
signal.set_wakeup_fd(writing)
for name in sys.argv[1:]:
    signal.signal(getattr(signal, name), lambda *_: None)
print("ready")
while True:
    for fd in select.select([0, reading], [], [])[0]:
        if fd == reading:
            for number in os.read(reading, 99):
                size = os.get_terminal_size(1) if number == signal.SIGWINCH else ()
                print("got", signal.Signals(number).name, *size)
        elif not os.read(0, 99):
            print("end")
            sys.exit(7)
"""


@pytest.fixture(autouse=True)
def _plain_git(monkeypatch: pytest.MonkeyPatch) -> None:
    use_plain_git(monkeypatch)


@pytest.fixture(autouse=True)
def _plain_signals() -> Iterator[None]:
    """Where the tests run in the background of a script, or under nohup, all would be ignored that is sent here."""
    ignored = [
        number
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM)
        if signal.getsignal(number) is signal.SIG_IGN
    ]
    for number in ignored:
        signal.signal(number, signal.SIG_DFL)
    yield
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        use_plain_git(patch)
        repo = Repo.create(tmp_path_factory.mktemp("template") / "repo")
        repo.write("a.txt", "alpha\n")
        repo.write("sub/b.txt", "beta\n")
        repo.commit()
        return repo.root


@pytest.fixture
def repo(template: Path, tmp_path: Path) -> Repo:
    return Repo.copy(template, tmp_path / "repo")


# -- exit codes ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [0, 1, 64, 127, 255])
def test_the_exit_code_is_the_commands_own(repo: Repo, code: int) -> None:
    assert gate(repo.root, *SHELL, f"exit {code}").code == code
    record = newest(repo.root)
    assert (record.exit_code, record.signal, record.interrupted, record.problem) == (code, "", "", "")
    assert record.ended


def test_a_command_that_is_not_there_is_127_and_recorded(repo: Repo) -> None:
    done = gate(repo.root, "no-such-command-here", "-v")
    assert done.code == 127
    assert b"no-such-command-here: No such file or directory" in done.err
    record = newest(repo.root)
    assert (record.exit_code, record.problem) == (127, "no-such-command-here: No such file or directory")
    assert record.ended
    assert output(repo.root) == b""


@pytest.mark.parametrize("kind", ["a folder", "a plain file", "no program"])
def test_a_command_that_cannot_be_started_is_126_and_recorded(repo: Repo, tmp_path: Path, kind: str) -> None:
    program = tmp_path / "program"
    if kind == "a folder":
        program.mkdir()
    else:
        program.write_bytes(b"\x7fELF garbage" if kind == "no program" else b"text")
        program.chmod(0o755 if kind == "no program" else 0o644)
    done = gate(repo.root, str(program))
    assert done.code == 126
    assert str(program).encode() in done.err
    record = newest(repo.root)
    assert record.exit_code == 126
    assert record.problem.startswith(f"{program}: ")


@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM"])
def test_a_command_ended_by_a_signal_of_its_own_is_128_and_the_number(repo: Repo, name: str) -> None:
    number = getattr(signal, name)
    assert gate(repo.root, *SHELL, f"ulimit -c 0; kill -{int(number)} $$").code == 128 + number
    record = newest(repo.root)
    assert (record.exit_code, record.signal, record.interrupted) == (128 + number, name, "")


def test_without_a_command_the_usage_is_wrong_and_nothing_is_recorded(repo: Repo) -> None:
    for rest in ([], ["--"], ["--label", "x", "--"]):
        done = subprocess.run([*AUDIT, "gate", *rest], cwd=repo.root, capture_output=True, timeout=WAIT)
        assert done.returncode == 64
        assert b"no command" in done.stderr
    assert not repo.path(".verify").exists()


BAD_LABELS = ["", "../up", "x" * 65, "a\x1b[31m"]


@pytest.mark.parametrize("label", BAD_LABELS, ids=map(repr, BAD_LABELS))
def test_a_label_that_is_no_name_of_a_folder_is_refused_before_anything_runs(repo: Repo, label: str) -> None:
    done = subprocess.run(
        [*AUDIT, "gate", f"--label={label}", "--", "touch", "ran"],
        cwd=repo.root,
        capture_output=True,
        timeout=WAIT,
    )
    assert done.returncode == 64
    assert b"label" in done.stderr
    assert b"\x1b" not in done.stderr
    assert not repo.path("ran").exists()
    assert not repo.path(".verify").exists()


@pytest.mark.parametrize("label", ["Unit.tests_3-11", "x" * 64])
def test_a_label_names_the_folder_of_its_records(repo: Repo, label: str) -> None:
    assert gate(repo.root, "true", label=label).code == 0
    assert newest(repo.root, label).label == label
    assert repo.path(f".verify/{label}/0001.json").is_file()


def test_words_behind_the_dashes_are_the_commands_alone(repo: Repo) -> None:
    assert gate(repo.root, "printf", "%s|", "--label", "x", "--", "-h", "").out == b"--label|x|--|-h||"
    assert newest(repo.root).command == ("printf", "%s|", "--label", "x", "--", "-h", "")


# -- the record ------------------------------------------------------------------------------------------------


def test_the_record_holds_command_place_times_environment_and_both_trees(repo: Repo) -> None:
    before = repo.state()
    done = gate(
        repo.root / "sub",
        *python("print('out'); open('new.txt', 'w').write('x')"),
        label="tests",
        env={"PYTEST_ADDOPTS": "-q", "CI": "1"},
    )
    assert done.code == 0
    record = newest(repo.root, "tests")
    assert record.command == python("print('out'); open('new.txt', 'w').write('x')")
    assert (record.label, record.number, record.folder) == ("tests", 1, "sub")
    assert record.started < record.ended
    assert record.started.endswith("+00:00")
    assert record.environment["python"].split()[1] == sys.version.split()[0]
    assert record.environment["program"] == sys.executable
    assert {"platform", "machine"} <= record.environment.keys()
    assert record.environment["PYTEST_ADDOPTS"] == "-q"
    assert record.tree_before == before
    assert record.tree_after == repo.state()
    assert record.output is not None
    assert record.output.bytes == 4
    assert record.output.sha256 == hashlib.sha256(b"out\n").hexdigest()
    assert b"changed during the run" in done.err


def test_no_secret_of_the_environment_is_recorded(repo: Repo) -> None:
    secrets = {
        "MY_TOKEN": "sesame-1",
        "AWS_SECRET_ACCESS_KEY": "sesame-2",
        "PGPASSWORD": "sesame-3",
        "PIP_INDEX_URL": "https://user:sesame-4@example.org",
        "CI": "true",
    }
    assert gate(repo.root, "true", env=secrets).code == 0
    written = b"".join(path.read_bytes() for path in repo.path(".verify").rglob("*") if path.is_file())
    assert b"sesame" not in written
    assert b"MY_TOKEN" not in written
    assert newest(repo.root).environment["CI"] == "true"


def test_records_are_private_and_git_is_told_not_to_list_them(repo: Repo) -> None:
    assert gate(repo.root, "true").code == 0
    assert repo.git("status", "--porcelain") == b""
    for path in repo.path(".verify/check").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert {path.name for path in repo.path(".verify/check").iterdir()} == {"0001.json", "0001.output"}


def test_runs_are_numbered_and_kept(repo: Repo) -> None:
    for number in (1, 2, 3):
        gate(repo.root, *SHELL, f"echo {number}; exit {number}")
    runs = stored(repo.root)
    assert [run.number for run in runs] == [1, 2, 3]
    assert [run.record.exit_code for run in runs if run.record] == [1, 2, 3]
    assert all(run.defects == () for run in runs)
    assert repo.path(".verify/check/0002.output").read_bytes() == b"2\n"


def test_arguments_that_are_no_text_reach_the_command_and_are_recorded_escaped(repo: Repo) -> None:
    name = b"caf\xe9\xff"
    assert gate(repo.root, "printf", "%s", name, "ü").out == b"caf\xe9\xff\xc3\xbc"
    assert newest(repo.root).command == ("printf", "%s", "caf\\xe9\\xff", "ü")


def test_a_folder_whose_name_is_no_text_is_recorded_escaped(repo: Repo) -> None:
    folder = repo.path(b"d\xff")
    folder.mkdir()
    assert gate(folder, "pwd").out == os.fsencode(folder) + b"\n"
    assert newest(repo.root).folder == "d\\xff"


def test_without_git_the_folder_itself_is_the_tree(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    assert gate(tmp_path, "true").code == 0
    record = newest(tmp_path)
    assert record.tree_after == record.tree_before
    assert (record.tree_before.method, record.folder) == ("walk", ".")


def test_a_run_is_on_record_before_its_command_starts(repo: Repo) -> None:
    """The command reads the record of its own run."""
    assert gate(repo.root, "cat", ".verify/check/0001.json").code == 0
    document = json.loads(output(repo.root))
    assert document["command"] == ["cat", ".verify/check/0001.json"]
    assert (document["ended"], document["exit_code"]) == ("", None)


def test_where_nothing_can_be_told_of_the_tree_nothing_is_run(tmp_path: Path) -> None:
    bare = Repo.create(tmp_path / "bare", "--bare")
    done = gate(bare.root, "touch", str(tmp_path / "ran"))
    assert done.code == 65
    assert b"bare repository" in done.err
    assert not (tmp_path / "ran").exists()


def test_a_tree_that_cannot_be_told_after_the_run_is_a_problem_on_record(repo: Repo) -> None:
    done = gate(repo.root, *SHELL, "printf garbage-that-is-no-index > .git/index; exit 3")
    assert done.code == 3
    record = newest(repo.root)
    assert record.exit_code == 3
    assert record.tree_after is None
    assert record.problem.startswith("the tree afterwards: git ")


# -- output ----------------------------------------------------------------------------------------------------

BINARY = random.Random(3).randbytes(5_000_000)


@pytest.mark.parametrize(
    "data",
    [b"", b"no newline", b"\0\0", bytes(range(256)), b"\r\n\r\n\x1b[31mred\x1b[0m\xff", BINARY],
    ids=["nothing", "no newline", "NULs", "every byte", "controls", "5 MB"],
)
def test_the_output_is_passed_on_and_recorded_bit_by_bit(repo: Repo, tmp_path: Path, data: bytes) -> None:
    (tmp_path / "data").write_bytes(data)
    done = gate(repo.root, "cat", str(tmp_path / "data"))
    assert done.code == 0
    assert done.out == data
    assert output(repo.root) == data
    told = newest(repo.root).output
    assert told is not None
    assert (told.bytes, told.sha256) == (len(data), hashlib.sha256(data).hexdigest())


def test_standard_input_reaches_the_command(repo: Repo) -> None:
    assert gate(repo.root, "cat", stdin=BINARY[:300_000]).out == BINARY[:300_000]


def test_both_outputs_stay_apart_and_are_recorded_together(repo: Repo) -> None:
    script = "import os\nfor n in range(100): os.write(1, b'o'); os.write(2, b'e')"
    done = gate(repo.root, *python(script))
    assert done.out == b"o" * 100
    assert done.err.startswith(b"e" * 100 + b"gate: check: exit 0, 200 bytes")
    assert sorted(output(repo.root)) == sorted(b"oe" * 100)


def test_outputs_that_are_one_thing_keep_their_order(repo: Repo) -> None:
    script = "import os\nfor n in range(500): os.write(1, b'o%d\\n' % n); os.write(2, b'e%d\\n' % n)"
    done = gate(repo.root, *python(script), merged=True)
    expected = b"".join(b"o%d\ne%d\n" % (number, number) for number in range(500))
    assert output(repo.root) == expected
    assert done.out.startswith(expected + b"gate: ")


def test_output_appears_while_the_command_runs(repo: Repo) -> None:
    script = "import sys; print('out'); print('err', file=sys.stderr); sys.stdin.read(); print('end')"
    with started(repo.root, *python(script)) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        read_until(process.stdout.fileno(), b"out\n")
        read_until(process.stderr.fileno(), b"err\n")
        process.stdin.close()
        assert read_all(process.stdout.fileno()) == b"end\n"
        assert process.wait(timeout=WAIT) == 0


def test_a_reader_that_goes_away_ends_neither_the_command_nor_the_record(repo: Repo) -> None:
    script = "import sys; print('ready'); sys.stdin.read(); print('x' * 300_000); sys.exit(5)"
    with started(repo.root, *python(script)) as process:
        assert process.stdin
        assert process.stdout
        read_until(process.stdout.fileno(), b"ready")
        process.stdout.close()
        process.stdin.close()
        assert process.wait(timeout=WAIT) == 5
    assert output(repo.root) == b"ready\n" + b"x" * 300_000 + b"\n"


CLOSED = {"input": "<&-", "output": ">&-", "errors": "2>&-", "all": "<&- >&- 2>&-"}


@pytest.mark.parametrize("how", CLOSED.values(), ids=CLOSED.keys())
def test_a_closed_stream_of_the_caller_does_not_end_up_in_the_record(repo: Repo, how: str) -> None:
    """The first file that is opened would take the place of the closed one."""
    script = "import os\nfor n in range(50): os.write(1, b'o'); os.write(2, b'e')"
    gate(repo.root, *python(script), before=[*SHELL, f'exec "$@" {how}', "sh"])
    record = newest(repo.root)
    assert record.exit_code == 0
    assert sorted(output(repo.root)) == sorted(b"oe" * 50)


def test_a_process_left_behind_with_the_output_does_not_hold_up_the_gate(repo: Repo, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "wait")
    script = f"cat {shlex.quote(str(tmp_path / 'wait'))} & echo started; exit 3"
    assert gate(repo.root, *SHELL, script).code == 3
    assert output(repo.root) == b"started\n"
    (tmp_path / "wait").write_bytes(b"")  # lets it end


def test_a_process_left_behind_that_never_stops_printing_does_not_hold_up_the_gate(repo: Repo) -> None:
    done = gate(repo.root, *SHELL, "yes & exit 0")
    assert done.code == 0
    assert output(repo.root) == done.out
    assert set(done.out) <= set(b"y\n")


MEASURE = (
    "import os, sys; pid = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ); _, status, usage = "
    "os.wait4(pid, 0); print('peak', usage.ru_maxrss); sys.exit(os.waitstatus_to_exitcode(status))"
)


def test_an_output_of_200_megabytes_is_recorded_in_flat_memory(repo: Repo) -> None:
    size = 200_000_000
    command = words(*SHELL, f"head -c {size} /dev/zero")
    quiet = [*SHELL, 'exec "$@" >/dev/null', "sh"]
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, *quiet, *command],
        cwd=repo.root,
        capture_output=True,
        timeout=WAIT * 5,
    )
    assert done.returncode == 0, done.stderr
    peak = int(done.stdout.split()[1]) * (1 if LINUX else 1 / 1024)
    assert peak < 80 * 1024
    told = newest(repo.root).output
    assert told is not None
    assert told.bytes == size
    repo.path(".verify/check/0001.output").unlink()


# -- terminals -------------------------------------------------------------------------------------------------

LOOK = (
    "import os; print([os.isatty(fd) for fd in range(3)]); "
    "print(tuple(os.get_terminal_size(1)) if os.isatty(1) else None)"
)


def test_the_command_has_a_terminal_where_the_caller_has_one(repo: Repo) -> None:
    terminal = Terminal(repo.root, *python(LOOK))
    code, shown = terminal.end()
    assert code == 0
    assert shown.startswith(b"[True, True, True]\r\n(97, 33)\r\n")
    assert output(repo.root) == b"[True, True, True]\n(97, 33)\n"


def test_the_command_has_no_terminal_where_the_caller_has_none(repo: Repo) -> None:
    assert gate(repo.root, *python(LOOK)).out == b"[False, False, False]\nNone\n"


def test_a_terminal_on_one_output_alone_is_one_for_the_command(repo: Repo, tmp_path: Path) -> None:
    to_a_file = [*SHELL, f'exec "$@" 2>{shlex.quote(str(tmp_path / "errors"))}', "sh"]
    terminal = Terminal(repo.root, *python(LOOK + "; os.write(2, b'err')"), before=to_a_file)
    code, shown = terminal.end()
    assert code == 0
    assert shown == b"[True, True, False]\r\n(97, 33)\r\n"
    assert (tmp_path / "errors").read_bytes().startswith(b"err")
    assert sorted(output(repo.root)) == sorted(b"[True, True, False]\n(97, 33)\nerr")


def test_what_is_typed_reaches_the_command(repo: Repo) -> None:
    terminal = Terminal(repo.root, *python("print('ready'); print(input().upper())"))
    terminal.until(b"ready\r\n")
    terminal.type(b"hello\n")
    code, shown = terminal.end()
    assert code == 0
    assert b"HELLO\r\n" in shown
    assert output(repo.root) == b"ready\nHELLO\n"


def test_a_terminal_that_changes_its_size_does_so_for_the_command(repo: Repo) -> None:
    terminal = Terminal(repo.root, *python(TELL), "SIGWINCH")
    terminal.until(b"ready\r\n")
    terminal.resize(41, 123)
    terminal.until(b"got SIGWINCH 123 41\r\n")
    terminal.type(b"\x04")
    assert terminal.end()[0] == 7
    assert newest(repo.root).interrupted == ""


def test_a_long_output_on_a_terminal_is_whole(repo: Repo) -> None:
    text = b"".join(b"line %d\n" % number for number in range(20_000))
    script = "import os\nfor n in range(20_000): os.write(1, b'line %d\\n' % n)"
    terminal = Terminal(repo.root, *python(script))
    code, shown = terminal.end()
    assert code == 0
    assert output(repo.root) == text
    assert shown.startswith(text.replace(b"\n", b"\r\n"))


# -- signals ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT"])
def test_a_signal_to_the_gate_reaches_the_command_once_and_the_record(repo: Repo, name: str) -> None:
    with started(repo.root, *python(TELL), name) as process:
        assert process.stdin
        assert process.stdout
        read_until(process.stdout.fileno(), b"ready\n")
        process.send_signal(getattr(signal, name))
        read_until(process.stdout.fileno(), f"got {name}\n".encode())
        process.stdin.close()
        assert read_all(process.stdout.fileno()) == b"end\n"
        assert process.wait(timeout=WAIT) == 7
    record = newest(repo.root)
    assert (record.exit_code, record.signal, record.interrupted) == (7, "", name)
    assert output(repo.root) == f"ready\ngot {name}\nend\n".encode()


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP"])
def test_a_signal_to_the_gate_that_ends_the_command_is_the_end_on_record(repo: Repo, name: str) -> None:
    with started(repo.root, *SHELL, "echo ready; exec cat") as process:
        assert process.stdout
        read_until(process.stdout.fileno(), b"ready\n")
        process.send_signal(getattr(signal, name))
        assert process.wait(timeout=WAIT) == 128 + getattr(signal, name)
    record = newest(repo.root)
    assert (record.exit_code, record.signal, record.interrupted) == (128 + getattr(signal, name), name, name)
    assert record.ended
    assert record.tree_after == record.tree_before


def test_signals_that_the_caller_ignores_are_ignored_by_all(repo: Repo) -> None:
    ignoring = [*SHELL, 'trap "" HUP INT; exec "$@"', "sh"]
    with started(repo.root, *SHELL, "echo ready; exec cat", before=ignoring) as process:
        assert process.stdin
        assert process.stdout
        read_until(process.stdout.fileno(), b"ready\n")
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGINT)
        process.stdin.write(b"still here\n")
        read_until(process.stdout.fileno(), b"still here\n")
        process.stdin.close()
        assert process.wait(timeout=WAIT) == 0
    record = newest(repo.root)
    assert (record.exit_code, record.interrupted) == (0, "")


def test_ctrl_c_reaches_the_command_once(repo: Repo) -> None:
    terminal = Terminal(repo.root, *python(TELL), "SIGINT")
    terminal.until(b"ready\r\n")
    terminal.type(b"\x03")
    terminal.until(b"got SIGINT\r\n")
    terminal.type(b"\x04")
    assert terminal.end()[0] == 7
    record = newest(repo.root)
    assert (record.exit_code, record.interrupted) == (7, "SIGINT")
    assert output(repo.root) == b"ready\ngot SIGINT\nend\n"


def test_ctrl_c_that_ends_the_command_is_the_end_on_record(repo: Repo) -> None:
    terminal = Terminal(repo.root, *SHELL, "echo ready; exec cat")
    terminal.until(b"ready\r\n")
    terminal.type(b"\x03")
    assert terminal.end()[0] == 130
    record = newest(repo.root)
    assert (record.exit_code, record.signal, record.interrupted) == (130, "SIGINT", "SIGINT")


def test_a_terminal_that_goes_away_ends_the_command(repo: Repo) -> None:
    """The system tells the first process of the session alone, which is the gate here."""
    terminal = Terminal(repo.root, *SHELL, "echo ready; exec sleep 600")
    terminal.until(b"ready\r\n")
    os.close(terminal.fd)
    terminal.process.wait(timeout=WAIT)
    record = newest(repo.root)
    assert (record.exit_code, record.signal, record.interrupted) == (129, "SIGHUP", "SIGHUP")


def test_a_killed_gate_leaves_a_record_without_an_end(repo: Repo) -> None:
    with started(repo.root, *python(TELL)) as process:
        assert process.stdin
        assert process.stdout
        read_until(process.stdout.fileno(), b"ready\n")
        process.kill()
        assert process.wait(timeout=WAIT) == -signal.SIGKILL
        process.stdin.close()
    record = newest(repo.root)
    assert (record.ended, record.exit_code, record.output, record.tree_after) == ("", None, None, None)
    assert output(repo.root) == b"ready\n"
    assert gate(repo.root, "true").code == 0
    assert [run.number for run in stored(repo.root)] == [1, 2]


@pytest.mark.skipif(not LINUX, reason="reads /proc")
def test_the_command_has_the_signal_mask_and_dispositions_of_the_caller(repo: Repo) -> None:
    def masks(text: bytes) -> dict[str, int]:
        fields = dict(line.split(":\t") for line in text.decode().splitlines() if line.startswith("Sig"))
        return {name: int(fields[name], 16) for name in ("SigBlk", "SigIgn")}

    command = ("cat", "/proc/self/status")
    direct = subprocess.run(command, capture_output=True, timeout=WAIT).stdout
    assert masks(gate(repo.root, *command).out) == masks(direct)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1, signal.SIGINT})
    try:
        direct = subprocess.run(command, capture_output=True, timeout=WAIT).stdout
        through = gate(repo.root, *command).out
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    assert masks(through) == masks(direct)
    assert masks(through)["SigBlk"] & 1 << signal.SIGUSR1 - 1


# -- what else a command has of its caller ---------------------------------------------------------------------


def test_the_command_runs_in_the_folder_of_the_caller(repo: Repo) -> None:
    assert gate(repo.root / "sub", "pwd").out == os.fsencode(repo.root / "sub") + b"\n"
    assert newest(repo.root).folder == "sub"
    assert not repo.path("sub/.verify").exists()


def test_the_command_has_the_environment_of_the_caller(repo: Repo) -> None:
    script = "import os, json; print(json.dumps(dict(os.environ)))"
    env = dict(os.environ)
    direct = json.loads(subprocess.run(python(script), cwd=repo.root, capture_output=True, env=env).stdout)
    assert json.loads(gate(repo.root, *python(script), env=env).out) == direct


def test_files_that_the_caller_holds_open_for_the_command_are_open(repo: Repo) -> None:
    """As a shell does for ``gate -- diff <(one) <(other)``, and make for its jobs."""
    reading, writing = os.pipe()
    os.write(writing, b"through the pipe")
    os.close(writing)
    with started(repo.root, "cat", f"/dev/fd/{reading}", pass_fds=(reading,)) as process:
        assert process.stdout
        assert read_all(process.stdout.fileno()) == b"through the pipe"
        assert process.wait(timeout=WAIT) == 0
    os.close(reading)


@pytest.mark.skipif(not LINUX, reason="reads /proc")
def test_the_command_holds_no_file_of_the_gate(repo: Repo) -> None:
    listing = gate(repo.root, "ls", "-l", "/proc/self/fd").out.decode()
    targets = [line.split(" -> ")[1] for line in listing.splitlines() if " -> " in line]
    assert not [target for target in targets if ".verify" in target]
    assert len(targets) == 4, listing


# -- where nothing can be recorded -----------------------------------------------------------------------------


def limited(blocks: int) -> list[str]:
    """Words that forbid files of more than so many blocks, as a full disk does."""
    return [*SHELL, f'ulimit -f {blocks}; exec "$@"', "sh"]


def test_where_no_record_can_be_written_nothing_is_run(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(
        "COVERAGE_PROCESS_CONFIG", raising=False
    )  # it writes at the end, which is refused here
    for blocks in (0, 1):
        done = gate(repo.root, "touch", "ran", before=limited(blocks), env={"PYTHONDONTWRITEBYTECODE": "1"})
        assert done.code == 70
        assert b"File too large" in done.err
        assert b"the command was not run" in done.err
        assert b"Traceback" not in done.err
    assert not repo.path("ran").exists()
    assert gate(repo.root, "true").code == 0
    assert [run.defects for run in stored(repo.root)] == [()]


@pytest.mark.parametrize("name", [".verify", ".verify/check"])
def test_where_a_file_is_in_the_place_of_the_records_nothing_is_run(repo: Repo, name: str) -> None:
    repo.write(name, "in the way")
    done = gate(repo.root, "touch", "ran")
    assert done.code == 70
    assert b"the command was not run" in done.err
    assert not repo.path("ran").exists()
    assert repo.path(name).read_text() == "in the way"


def test_where_the_records_are_not_ours_to_write_nothing_is_run(repo: Repo) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    repo.path(".verify").mkdir(mode=0o500)
    done = gate(repo.root, "touch", "ran")
    assert done.code == 70
    assert b"Permission denied; the command was not run" in done.err
    assert not repo.path("ran").exists()


def test_a_disk_that_fills_up_in_mid_output_ends_the_record_and_not_the_command(repo: Repo) -> None:
    script = "import os\nfor n in range(40): os.write(1, b'x' * 50_000)\nopen('ran', 'w').write('to the end')"
    done = gate(repo.root, *python(script), before=limited(100))
    assert done.code == 70
    assert done.out == b"x" * 2_000_000
    assert b"the output could not be recorded: File too large" in done.err
    assert repo.path("ran").read_text() == "to the end"
    record = newest(repo.root)
    assert (record.ended, record.exit_code, record.output) == ("", None, None)


# -- several at a time -----------------------------------------------------------------------------------------


def test_two_runs_of_one_label_at_a_time_have_two_records(repo: Repo) -> None:
    with started(repo.root, *python(TELL)) as one, started(repo.root, *python(TELL)) as two:
        for process in (one, two):
            assert process.stdout
            read_until(process.stdout.fileno(), b"ready\n")
        for process in (two, one):
            assert process.stdin
            process.stdin.close()
            assert process.wait(timeout=WAIT) == 7
    assert [(run.number, run.defects) for run in stored(repo.root)] == [(1, ()), (2, ())]
    assert all(run.record is not None and run.record.exit_code == 7 for run in stored(repo.root))


def test_many_first_runs_at_a_time_all_find_a_place(repo: Repo) -> None:
    with ExitStack() as stack:
        running = [stack.enter_context(started(repo.root, "cat")) for _ in range(6)]
        for process in running:
            assert process.stdin
            process.stdin.close()
        assert [process.wait(timeout=WAIT) for process in running] == [0] * 6
    assert [(run.number, run.defects) for run in stored(repo.root)] == [(n, ()) for n in range(1, 7)]


def test_a_gate_within_a_gate_records_both(repo: Repo) -> None:
    assert gate(repo.root, *words("echo", "inner", label="inner"), label="outer").code == 0
    assert output(repo.root, "inner") == b"inner\n"
    assert output(repo.root, "outer").startswith(b"inner\ngate: inner: exit 0")
    outer = newest(repo.root, "outer")
    assert outer.tree_after == outer.tree_before


def test_a_gate_changes_nothing_under_the_tree_but_its_records(repo: Repo) -> None:
    repo.write("a.txt", "edited\n")
    before = snapshot(repo.root)
    assert gate(repo.root, "true").code == 0
    after = {name: kept for name, kept in snapshot(repo.root).items() if "/.verify" not in name}
    assert after == before
