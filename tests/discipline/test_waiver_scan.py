"""Declarations against what is found: on disk, with git and without."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dispatch_fidelity.discipline.findings import Finding
from dispatch_fidelity.discipline.repository import find_repository
from dispatch_fidelity.discipline.tree import is_cache
from dispatch_fidelity.discipline.waivers import Waivers, check_waivers, read_waivers
from dispatch_fidelity.selftest.project import Project, plain_git

NOQA = "x = 1  # noqa\n"


def put(root: Path, **files: str) -> None:
    for name, text in files.items():
        (root / name.replace("_py", ".py").replace("_txt", ".txt")).write_text(text)


def scanned(root: Path) -> Waivers:
    return check_waivers(root, find_repository(root), is_cache)


def kinds(findings: tuple[Finding, ...]) -> list[tuple[str, str]]:
    return [(finding.kind, finding.subject) for finding in findings]


@pytest.mark.parametrize(
    ("line", "rule", "reason"),
    [
        ("a.py | why", "", "why"),
        ("a.py | noqa | why", "noqa", "why"),
        ("a.py | why | noqa", "noqa", "why"),
        ("a.py | this | and that", "", "this | and that"),
        ("./a.py|why", "", "why"),
    ],
)
def test_a_line_names_a_file_a_reason_and_perhaps_a_rule(line: str, rule: str, reason: str) -> None:
    (waiver,), findings = read_waivers(f"# comment\n\n{line}\r\n")
    assert (waiver.path, waiver.rule, waiver.reason, waiver.line) == ("a.py", rule, reason, 3)
    assert findings == ()


@pytest.mark.parametrize(
    "line", ["a.py", "a.py |", "| why", "/etc/passwd | why", "../a.py | why", "a.py | noqa |"]
)
def test_a_line_that_is_none_is_malformed(line: str) -> None:
    waivers, (finding,) = read_waivers(line)
    assert waivers == ()
    assert (finding.kind, finding.subject) == ("MALFORMED", "waivers.txt:1")


def test_a_declaration_that_stands_twice_is_malformed() -> None:
    _, (finding,) = read_waivers("a.py | one\na.py | two\n")
    assert finding.subject == "waivers.txt:2"
    assert read_waivers("a.py | one\na.py | noqa | two\n")[1] == ()


@pytest.fixture(autouse=True)
def hermetic() -> Iterator[None]:
    with plain_git():
        yield


@pytest.fixture
def repo(tmp_path: Path) -> Project:
    """A repository with one committed file."""
    folder = tmp_path / "repo"
    folder.mkdir()
    made = Project(folder)
    for name in ("code.py", "waivers.txt", "ANCHOR.txt"):
        (folder / name).unlink()
    made.commit()
    return made


@pytest.fixture(params=["git", "no git"])
def root(request: pytest.FixtureRequest, repo: Project, tmp_path: Path) -> Path:
    if request.param == "git":
        return repo.folder
    folder = tmp_path / "plain"
    folder.mkdir()
    return folder


def test_an_undeclared_suppression_is_a_finding_that_says_what_to_write(root: Path) -> None:
    put(root, new_py=f"\n{NOQA}{NOQA}")
    (finding,) = scanned(root).findings
    assert (finding.kind, finding.subject) == ("UNDECLARED", "new.py:2")
    assert "lines 2, 3" in finding.text
    assert "new.py | noqa | why" in finding.text


def test_a_declared_one_is_none(root: Path) -> None:
    put(root, new_py=NOQA, waivers_txt="new.py | generated\n")
    found = scanned(root)
    assert found.findings == ()
    assert [path for path, _ in found.markers] == ["new.py"]


def test_a_declaration_of_one_rule_covers_no_other(root: Path) -> None:
    put(root, new_py="x = 1  # type: ignore  # noqa\n", waivers_txt="new.py | noqa | why\n")
    assert kinds(scanned(root).findings) == [("UNDECLARED", "new.py:1")]


def test_a_declaration_that_covers_nothing_is_stale(root: Path) -> None:
    put(root, new_py=NOQA, waivers_txt="new.py | noqa | a\nnew.py | skip | b\ngone.py | c\n")
    assert kinds(scanned(root).findings) == [("STALE", "new.py"), ("STALE", "gone.py")]


def test_caches_and_the_two_files_themselves_are_not_scanned(root: Path) -> None:
    (root / "__pycache__").mkdir()
    (root / "__pycache__" / "a.py").write_text(NOQA)
    put(root, ANCHOR_txt="a | echo '# noqa' | b\n", waivers_txt="# noqa\n")
    assert scanned(root).findings == ()


def test_a_link_is_not_followed(root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.py"
    outside.write_text(NOQA)
    (root / "link.py").symlink_to(outside)
    assert scanned(root).findings == ()


def test_a_file_that_is_no_utf_8_is_scanned_all_the_same(root: Path) -> None:
    (root / "new.py").write_bytes(b"x = '\xff'  # noqa\n")
    assert kinds(scanned(root).findings) == [("UNDECLARED", "new.py:1")]


def test_declarations_that_cannot_be_read_are_a_finding(root: Path) -> None:
    (root / "waivers.txt").write_bytes(b"a.py | \xff\n")
    assert kinds(scanned(root).findings) == [("UNREADABLE", "waivers.txt")]
    (root / "waivers.txt").unlink()
    (root / "waivers.txt").mkdir()
    assert kinds(scanned(root).findings) == [("UNREADABLE", "waivers.txt")]


def test_what_is_on_disk_counts_and_not_what_is_committed(repo: Project) -> None:
    put(repo.folder, new_py=NOQA)
    repo.commit()
    put(repo.folder, new_py="x = 1\n")
    assert scanned(repo.folder).findings == ()


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_a_file_that_git_was_told_not_to_look_at_is_scanned(repo: Project, flag: str) -> None:
    put(repo.folder, new_py="x = 1\n")
    repo.git("add", "-A")
    repo.git("update-index", flag, "new.py")
    put(repo.folder, new_py=NOQA)
    assert kinds(scanned(repo.folder).findings) == [("UNDECLARED", "new.py:1")]


def test_a_file_that_git_was_told_is_binary_is_scanned(repo: Project) -> None:
    (repo.folder / ".gitattributes").write_text("*.py binary\n")
    put(repo.folder, new_py=NOQA)
    assert kinds(scanned(repo.folder).findings) == [("UNDECLARED", "new.py:1")]


def test_an_ignored_file_is_not_scanned(repo: Project) -> None:
    (repo.folder / ".gitignore").write_text("new.py\n")
    put(repo.folder, new_py=NOQA)
    assert scanned(repo.folder).findings == ()


def test_a_name_that_is_no_utf_8_is_shown_escaped(repo: Project) -> None:
    with open(bytes(repo.folder) + b"/n\xff.py", "w") as handle:
        handle.write(NOQA)
    assert kinds(scanned(repo.folder).findings) == [("UNDECLARED", "n\\xff.py:1")]


def test_colours_of_the_users_configuration_hide_nothing(repo: Project) -> None:
    put(repo.folder, new_py=NOQA)
    repo.commit()
    repo.git("config", "color.grep", "always")
    repo.git("config", "grep.patternType", "fixed")
    assert kinds(scanned(repo.folder).findings) == [("UNDECLARED", "new.py:1")]


def test_a_tracked_file_that_is_ignored_is_scanned(repo: Project) -> None:
    put(repo.folder, new_py=NOQA)
    repo.commit()
    (repo.folder / ".gitignore").write_text("new.py\n")
    assert kinds(scanned(repo.folder).findings) == [("UNDECLARED", "new.py:1")]


def test_without_git_installed_packages_are_not_scanned(tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    (folder / "node_modules").mkdir(parents=True)
    (folder / "node_modules" / "a.py").write_text(NOQA)
    assert scanned(folder).findings == ()
