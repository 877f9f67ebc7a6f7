"""The tree digest: one for one content, another for any other, whatever git was told to look at."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from discipline_tools import WAIT, Repo, snapshot, use_plain_git
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dispatch_fidelity.discipline import repository as repository_module
from dispatch_fidelity.discipline import tree as tree_module
from dispatch_fidelity.discipline.repository import GitError, Repository, find_repository
from dispatch_fidelity.discipline.tree import (
    LISTED,
    TreeState,
    UnreadableTreeError,
    open_tree,
    tree_state,
)

Act = Callable[[Repo], object]
LONG_AGO = 978_307_200


@pytest.fixture(autouse=True)
def _plain_git(monkeypatch: pytest.MonkeyPatch) -> None:
    use_plain_git(monkeypatch)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        use_plain_git(patch)
        return populate(Repo.create(tmp_path_factory.mktemp("template") / "repo")).root


@pytest.fixture
def repo(template: Path, tmp_path: Path) -> Repo:
    return Repo.copy(template, tmp_path / "repo")


def populate(repo: Repo) -> Repo:
    repo.write(".gitignore", "ignored.log\nbuild/\n")
    repo.write("a.txt", "alpha\n")
    repo.write("script.sh", "#!/bin/sh\n", 0o755)
    repo.write("folder/b.txt", "beta\n")
    repo.write("folder/deep/c.txt", "gamma\n")
    repo.write("empty", "")
    repo.path("link").symlink_to("a.txt")
    repo.commit("first")
    return repo


# -- equal content, equal digest -------------------------------------------------------------------------------


def touch(repo: Repo) -> None:
    for path in repo.root.rglob("*"):
        if ".git" not in path.parts and not path.is_symlink():
            os.utime(path, (LONG_AGO, LONG_AGO))


def rewrite(repo: Repo) -> None:
    """The same content under other inodes."""
    for name in ("a.txt", "folder/b.txt"):
        data = repo.path(name).read_bytes()
        repo.path(name).unlink()
        repo.write(name, data)


def stash_and_pop(repo: Repo) -> None:
    repo.write("a.txt", "stashed\n")
    repo.write("new.txt", "stashed\n")
    repo.git("stash", "-q", "-u")


def branch_and_back(repo: Repo) -> None:
    repo.git("checkout", "-q", "-b", "other")
    repo.write("a.txt", "other\n")
    repo.git("rm", "-q", "folder/b.txt")
    repo.commit()
    repo.git("checkout", "-q", "main")


def edit_and_undo(repo: Repo) -> None:
    repo.write("a.txt", "edited\n")
    repo.git("add", "a.txt")
    repo.write("a.txt", "alpha\n")


def stage_a_file_in_place_of_a_folder(repo: Repo) -> None:
    shutil.rmtree(repo.path("folder"))
    repo.write("folder", "beta\n")
    repo.git("add", "-A")
    repo.path("folder").unlink()
    repo.write("folder/b.txt", "beta\n")
    repo.write("folder/deep/c.txt", "gamma\n")


UNCHANGED: dict[str, Act] = {
    "every file touched": touch,
    "files written again": rewrite,
    "a stash": stash_and_pop,
    "another branch and back": branch_and_back,
    "an edit staged and undone on disk": edit_and_undo,
    "a file staged in place of a folder": stage_a_file_in_place_of_a_folder,
    "an empty commit": lambda repo: repo.git("commit", "-q", "--allow-empty", "-m", "empty"),
    "an amended commit": lambda repo: repo.git("commit", "-q", "--amend", "-m", "amended"),
    "a detached head": lambda repo: repo.git("checkout", "-q", "--detach"),
    "a file taken out of the index": lambda repo: repo.git("rm", "-q", "--cached", "a.txt"),
    "an empty index": lambda repo: repo.git("read-tree", "--empty"),
    "a head without a commit": lambda repo: repo.git("checkout", "-q", "--orphan", "fresh"),
    "an ignored file": lambda repo: repo.write("ignored.log", "noise"),
    "an ignored folder": lambda repo: repo.write("build/out.o", "noise"),
    "an empty folder": lambda repo: repo.path("hollow/inner").mkdir(parents=True),
    "records of gate": lambda repo: repo.write(".verify/tests/0001.json", "{}"),
    "records of gate, tracked": lambda repo: (
        repo.write(".verify/tests/0001.json", "{}"),
        repo.commit(),
        repo.write(".verify/tests/0002.json", "{}"),
        repo.git("add", "-A"),
        repo.write(".verify/tests/0001.json", "edited"),
    ),
    "caches": lambda repo: [
        repo.write(name, "noise")
        for name in (
            "__pycache__/a.cpython-311.pyc",
            "folder/__pycache__/b.pyc",
            ".pytest_cache/README.md",
            ".mypy_cache/3.11/cache.json",
            ".ruff_cache/x",
            ".hypothesis/examples/1",
            ".coverage",
            "folder/.coverage.host.1.X",
            "loose.pyc",
            ".DS_Store",
        )
    ],
    "a change to a file's group mode": lambda repo: repo.path("a.txt").chmod(0o664),
    "packed objects": lambda repo: repo.git("gc", "-q"),
    "an index of the fourth version": lambda repo: repo.git("update-index", "--index-version", "4"),
    "a file assumed unchanged": lambda repo: repo.git("update-index", "--assume-unchanged", "a.txt"),
    "a file to be skipped": lambda repo: repo.git("update-index", "--skip-worktree", "a.txt", "link"),
    "no modes in the configuration": lambda repo: repo.git("config", "core.fileMode", "false"),
    "no symlinks in the configuration": lambda repo: repo.git("config", "core.symlinks", "false"),
}


@pytest.mark.parametrize("act", UNCHANGED.values(), ids=UNCHANGED.keys())
def test_the_digest_stays_with(repo: Repo, act: Act) -> None:
    is_same, named = repo.after(lambda: act(repo))
    assert is_same
    assert named in ((), None)


def add_all(repo: Repo) -> None:
    repo.git("add", "-A")


def add_in_another_order(repo: Repo) -> None:
    names = repo.git("ls-files", "-z", "-o", "-m", "-d", "--exclude-standard").split(b"\0")
    for name in sorted(filter(None, set(names)), reverse=True):
        repo.git("add", "-A", "--", name)


def stage_and_unstage(repo: Repo) -> None:
    add_all(repo)
    repo.git("reset", "-q")


def commit_and_take_back(repo: Repo) -> None:
    repo.commit()
    repo.git("reset", "-q", "--soft", "HEAD~1")


def stash_all_and_restore(repo: Repo) -> None:
    repo.git("stash", "-q", "-u")
    repo.git("stash", "pop", "-q")


WAYS: dict[str, Act] = {
    "staged": add_all,
    "added in another order": add_in_another_order,
    "intended to be added": lambda repo: repo.git("add", "-N", "."),
    "staged and unstaged": stage_and_unstage,
    "committed": lambda repo: repo.commit(),
    "committed and taken back": commit_and_take_back,
    "committed in two steps": lambda repo: (repo.git("commit", "-qam", "tracked"), repo.commit("new")),
    "stashed and restored": stash_all_and_restore,
    "touched": touch,
}


def many_changes(repo: Repo) -> None:
    repo.write("a.txt", "edited\n")
    repo.write("new.txt", "new\n")
    repo.write("sub/new.txt", "new too\n")
    repo.path("empty").unlink()
    repo.path("script.sh").chmod(0o644)
    repo.path("folder/deep").rename(repo.path("folder/moved"))
    repo.path("link").unlink()
    repo.path("link").symlink_to("folder/b.txt")
    repo.path("dangling").symlink_to("nowhere")


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
def test_changed_files_have_one_digest_also_when(repo: Repo, way: Act) -> None:
    many_changes(repo)
    is_same, named = repo.after(lambda: way(repo))
    assert is_same
    assert named == ()


def test_a_clone_elsewhere_has_the_same_digest(repo: Repo, tmp_path: Path) -> None:
    many_changes(repo)
    repo.commit()
    repo.git("clone", "-q", str(repo.root), str(tmp_path / "clone"))
    assert Repo(tmp_path / "clone").digest() == repo.digest()


def test_a_copy_of_the_folder_has_the_same_digest(repo: Repo, tmp_path: Path) -> None:
    many_changes(repo)
    shutil.copytree(repo.root, tmp_path / "copy", symlinks=True)
    assert Repo(tmp_path / "copy").digest() == repo.digest()


def test_a_linked_worktree_has_the_same_digest_and_its_own_changes(repo: Repo, tmp_path: Path) -> None:
    repo.git("worktree", "add", "-q", str(tmp_path / "linked"))
    linked = Repo(tmp_path / "linked")
    before = repo.digest()
    assert linked.digest() == before
    linked.write("a.txt", "edited\n")
    assert linked.digest() != before
    assert repo.digest() == before


def test_the_digest_is_the_same_from_every_subfolder(repo: Repo) -> None:
    repo.write("folder/new.txt", "new\n")
    assert Repo(repo.root / "folder" / "deep").digest() == repo.digest()


def test_a_folder_reached_through_a_link_is_of_the_same_tree(repo: Repo, tmp_path: Path) -> None:
    (tmp_path / "way").symlink_to(repo.root / "folder" / "deep")
    root, found = open_tree(tmp_path / "way")
    assert root == repo.root.resolve()
    assert tree_state(root, found).digest == repo.digest()


# -- other content, another digest -----------------------------------------------------------------------------


class Change(NamedTuple):
    """What is done, and the paths that then differ."""

    act: Act
    paths: tuple[str, ...]


def edit_unseen_by_size_and_time(repo: Repo) -> None:
    """git takes no part of a second into account, so the file has to be of another second than its edit."""
    path = repo.path("a.txt")
    before = path.stat()
    while int(time.time()) <= before.st_ctime:
        time.sleep(0.02)
    path.write_text("alphA\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def stage_an_edit(repo: Repo) -> None:
    repo.write("a.txt", "edited\n")
    repo.git("add", "a.txt")


def commit_an_edit(repo: Repo) -> None:
    repo.write("a.txt", "edited\n")
    repo.commit()


def rename(repo: Repo) -> None:
    repo.path("a.txt").rename(repo.path("z.txt"))


def into_a_folder(repo: Repo) -> None:
    repo.path("a.txt").unlink()
    repo.write("a.txt/inner", "alpha\n")


def folder_into_a_file(repo: Repo) -> None:
    shutil.rmtree(repo.path("folder"))
    repo.write("folder", "beta\n")


def folder_into_a_link(repo: Repo) -> None:
    """The tracked paths still lead to their content, through a link."""
    repo.path("folder").rename(repo.path("elsewhere"))
    repo.path("folder").symlink_to("elsewhere")


def folder_into_a_link_to_the_outside(repo: Repo) -> None:
    shutil.copytree(repo.path("folder"), repo.root.parent / "outside")
    shutil.rmtree(repo.path("folder"))
    repo.path("folder").symlink_to("../outside")


def folder_into_a_link_to_itself(repo: Repo) -> None:
    shutil.rmtree(repo.path("folder"))
    repo.path("folder").symlink_to("folder")


def into_a_link(repo: Repo) -> None:
    """A link whose target has the content that the file had."""
    repo.write("twin", "alpha\n")
    repo.path("a.txt").unlink()
    repo.path("a.txt").symlink_to("twin")


def hide_and_edit(flag: str) -> Act:
    def act(repo: Repo) -> None:
        repo.git("update-index", flag, "a.txt")
        repo.write("a.txt", "edited\n")

    return act


def hide_and_delete(flag: str) -> Act:
    def act(repo: Repo) -> None:
        repo.git("update-index", flag, "a.txt")
        repo.path("a.txt").unlink()

    return act


def hide_and_make_executable(flag: str) -> Act:
    def act(repo: Repo) -> None:
        repo.git("update-index", flag, "a.txt")
        repo.path("a.txt").chmod(0o755)

    return act


def hide_twice_and_delete(repo: Repo) -> None:
    hide_and_delete("--skip-worktree")(repo)
    repo.git("update-index", "--assume-unchanged", "a.txt")


def relink(repo: Repo) -> None:
    repo.path("link").unlink()
    repo.path("link").symlink_to("script.sh")


def into_a_pipe(repo: Repo) -> None:
    repo.path("a.txt").unlink()
    os.mkfifo(repo.path("a.txt"))


def new_link_to_a_folder(repo: Repo) -> None:
    repo.path("way").symlink_to("folder")


def new_file_of_another_case(repo: Repo) -> None:
    repo.git("config", "core.ignoreCase", "true")
    repo.write("A.txt", "new\n")


def configured(**settings: str) -> Act:
    """Settings that make ``git status`` blind or talkative, then a new file and an edit."""

    def act(repo: Repo) -> None:
        for name, value in settings.items():
            repo.git("config", name.replace("_", "."), value)
        repo.git("update-index", "-q", "--refresh")
        repo.git("status")
        repo.write("a.txt", "edited\n")
        repo.write("folder/A.txt", "new\n")

    return act


CONFIGURED = ("a.txt", "folder/A.txt")
CHANGES: dict[str, Change] = {
    "an edit": Change(lambda repo: repo.write("a.txt", "edited\n"), ("a.txt",)),
    "an edit of equal size and time": Change(edit_unseen_by_size_and_time, ("a.txt",)),
    "a staged edit": Change(stage_an_edit, ("a.txt",)),
    "a committed edit": Change(commit_an_edit, ("a.txt",)),
    "an emptied file": Change(lambda repo: repo.write("a.txt", ""), ("a.txt",)),
    "a new file": Change(lambda repo: repo.write("new.txt", ""), ("new.txt",)),
    "a new file of a name in use elsewhere": Change(lambda repo: repo.write("b.txt", "beta\n"), ("b.txt",)),
    "a new file in a new folder": Change(lambda repo: repo.write("x/y/z", "1"), ("x/y/z",)),
    "a new link to a folder": Change(new_link_to_a_folder, ("way",)),
    "a deletion": Change(lambda repo: repo.path("a.txt").unlink(), ("a.txt",)),
    "a staged deletion": Change(lambda repo: repo.git("rm", "-q", "a.txt"), ("a.txt",)),
    "a rename": Change(rename, ("a.txt", "z.txt")),
    "a rename by git": Change(lambda repo: repo.git("mv", "a.txt", "z.txt"), ("a.txt", "z.txt")),
    "a file made executable": Change(lambda repo: repo.path("a.txt").chmod(0o755), ("a.txt",)),
    "a file no more executable": Change(lambda repo: repo.path("script.sh").chmod(0o644), ("script.sh",)),
    "another target of a link": Change(relink, ("link",)),
    "a file turned into a link": Change(into_a_link, ("a.txt", "twin")),
    "a file turned into a folder": Change(into_a_folder, ("a.txt", "a.txt/inner")),
    "a folder turned into a file": Change(
        folder_into_a_file, ("folder", "folder/b.txt", "folder/deep/c.txt")
    ),
    "a folder turned into a link": Change(
        folder_into_a_link,
        ("elsewhere/b.txt", "elsewhere/deep/c.txt", "folder", "folder/b.txt", "folder/deep/c.txt"),
    ),
    "a folder turned into a link to the outside": Change(
        folder_into_a_link_to_the_outside, ("folder", "folder/b.txt", "folder/deep/c.txt")
    ),
    "a folder turned into a link to itself": Change(
        folder_into_a_link_to_itself, ("folder", "folder/b.txt", "folder/deep/c.txt")
    ),
    "a file turned into a pipe": Change(into_a_pipe, ("a.txt",)),
    "an edit of a file assumed unchanged": Change(hide_and_edit("--assume-unchanged"), ("a.txt",)),
    "an edit of a file to be skipped": Change(hide_and_edit("--skip-worktree"), ("a.txt",)),
    "a mode of a file assumed unchanged": Change(hide_and_make_executable("--assume-unchanged"), ("a.txt",)),
    "a mode of a file to be skipped": Change(hide_and_make_executable("--skip-worktree"), ("a.txt",)),
    "a deletion of a file assumed unchanged": Change(hide_and_delete("--assume-unchanged"), ("a.txt",)),
    "a deletion of a file to be skipped": Change(hide_and_delete("--skip-worktree"), ("a.txt",)),
    "a deletion of a file hidden twice": Change(hide_twice_and_delete, ("a.txt",)),
    "an edit without untracked files in the status": Change(
        configured(status_showUntrackedFiles="no"), CONFIGURED
    ),
    "an edit with case ignored": Change(configured(core_ignoreCase="true"), CONFIGURED),
    "a new file that differs by case alone": Change(new_file_of_another_case, ("A.txt",)),
    "an edit with quoted paths": Change(configured(core_quotePath="true"), CONFIGURED),
    "an edit with a cache of untracked files": Change(configured(core_untrackedCache="true"), CONFIGURED),
    "an edit with a split index": Change(configured(core_splitIndex="true"), CONFIGURED),
    "an edit with lax times": Change(
        configured(core_trustctime="false", core_checkStat="minimal"), CONFIGURED
    ),
    "an edit with unwatched files": Change(configured(core_ignoreStat="true"), CONFIGURED),
    "an edit with all submodules ignored": Change(configured(diff_ignoreSubmodules="all"), CONFIGURED),
    "an edit with renames found": Change(configured(diff_renames="copies"), CONFIGURED),
    "an edit with relative paths": Change(configured(diff_relative="true"), CONFIGURED),
    "an edit with no prefix and colour": Change(
        configured(diff_noprefix="true", color_ui="always"), CONFIGURED
    ),
    "an edit with a file monitor": Change(configured(core_fsmonitor="true"), CONFIGURED),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_the_digest_differs_by(repo: Repo, change: Change) -> None:
    is_same, named = repo.after(lambda: change.act(repo))
    assert not is_same
    assert named == change.paths


def test_an_index_that_trusts_sizes_and_times_hides_no_edit(repo: Repo) -> None:
    """The index itself was refreshed while git was told to look at sizes and full seconds only."""
    repo.git("config", "core.trustctime", "false")
    repo.git("config", "core.checkStat", "minimal")
    os.utime(repo.path("a.txt"), (LONG_AGO, LONG_AGO))
    repo.git("update-index", "-q", "--refresh")
    before = repo.state()
    edit_unseen_by_size_and_time(repo)
    repo.git("update-index", "-q", "--refresh")
    assert repo.git("status", "--porcelain") == b""
    after = repo.state()
    assert after.digest != before.digest
    assert repo.changed(before, after) == ("a.txt",)


def test_an_edit_of_an_untracked_file_is_seen(repo: Repo) -> None:
    repo.write("new.txt", "one\n")
    is_same, named = repo.after(lambda: repo.write("new.txt", "two\n"))
    assert not is_same
    assert named == ("new.txt",)


def test_a_file_intended_to_be_added_counts_with_its_content(repo: Repo) -> None:
    repo.write("new.txt", "one\n")
    repo.git("add", "-N", "new.txt")
    before = repo.state()
    is_same, named = repo.after(lambda: repo.write("new.txt", "two\n"))
    assert not is_same
    assert named == ("new.txt",)
    repo.path("new.txt").unlink()
    assert repo.changed(before, repo.state()) == ("new.txt",)


def test_an_executable_file_is_not_the_plain_one(repo: Repo) -> None:
    repo.write("new.sh", "x", 0o644)
    is_same, named = repo.after(lambda: repo.path("new.sh").chmod(0o755))
    assert not is_same
    assert named == ("new.sh",)


def test_a_mode_counts_although_the_configuration_ignores_modes(repo: Repo) -> None:
    repo.git("config", "core.fileMode", "false")
    is_same, named = repo.after(lambda: repo.path("a.txt").chmod(0o755))
    assert not is_same
    assert named == ("a.txt",)
    is_same, named = repo.after(lambda: repo.commit())
    assert is_same
    assert named == ()


def test_a_new_executable_file_keeps_the_digest_when_committed_without_modes(repo: Repo) -> None:
    repo.git("config", "core.fileMode", "false")
    repo.write("new.sh", "x", 0o755)
    is_same, named = repo.after(lambda: repo.commit())
    assert is_same
    assert named == ()


def test_a_file_in_conflict_counts_as_it_is_on_disk(repo: Repo) -> None:
    repo.git("checkout", "-q", "-b", "other")
    repo.write("a.txt", "theirs\n")
    repo.commit()
    repo.git("checkout", "-q", "main")
    repo.write("a.txt", "ours\n")
    repo.commit()
    repo.git("merge", "-q", "other", check=False)
    assert b"UU a.txt" in repo.git("status", "--porcelain")
    before = repo.state()
    repo.write("a.txt", "resolved\n")
    resolved = repo.state()
    assert resolved.digest != before.digest
    assert repo.changed(before, resolved) == ("a.txt",)
    is_same, named = repo.after(lambda: repo.commit())
    assert is_same
    assert named == ()
    repo.git("reset", "-q", "--hard", "HEAD~1")
    repo.git("merge", "-q", "other", check=False)
    repo.path("a.txt").unlink()
    before = repo.state()
    repo.git("rm", "-q", "a.txt")
    assert repo.state().digest == before.digest


ODD_NAMES = {
    "not UTF-8": b"caf\xe9",
    "not UTF-8 at all": b"\xff\xfe\x80",
    "a newline": b"two\nlines",
    "a newline at the end": b"end\n",
    "a return at the end": b"end\r",
    "a quote first": b'"quoted"',
    "a quote, a backslash and a newline": b'a"b\\c\nd',
    "a backslash and an n": b"back\\nslash",
    "a tab": b"tab\tbed",
    "spaces": b" spaced  out ",
    "a dash": b"-rf",
    "two dashes": b"--stdin-paths",
    "a stage": b"looks like 1\tstaged",
    "a colon": b":(glob)*",
    "stars": b"**",
    "a composed letter": unicodedata.normalize("NFC", "é").encode(),
    "a decomposed letter": unicodedata.normalize("NFD", "é").encode(),
    "a hash": b"#hash",
    "an exclamation": b"!bang",
    "dots": b"...",
    "a folder not UTF-8": b"\xf0\xf1/file",
    "an escape": b"\x1b[31mred\x01",
}


def test_files_are_followed_whatever_their_names_hold(repo: Repo) -> None:
    odd = sorted(ODD_NAMES.values())
    told = tuple(sorted(name.decode("utf-8", "backslashreplace") for name in odd))

    def each(act: Callable[[bytes], object]) -> None:
        is_same, named = repo.after(lambda: [act(name) for name in odd])
        assert not is_same
        assert named == told

    each(lambda name: repo.write(name, b"one " + name))
    each(lambda name: repo.write(name, b"two " + name))
    is_same, named = repo.after(lambda: repo.commit())
    assert is_same
    assert named == ()
    assert repo.state().changes == {}
    each(lambda name: repo.write(name, b"owt " + name))
    each(lambda name: repo.path(name).chmod(0o755))
    each(lambda name: repo.path(name).unlink())


def test_composed_and_decomposed_names_are_two_files(repo: Repo) -> None:
    repo.write(unicodedata.normalize("NFC", "é"), "x")
    before = repo.state()
    repo.path(unicodedata.normalize("NFC", "é")).rename(repo.path(unicodedata.normalize("NFD", "é")))
    after = repo.state()
    assert after.digest != before.digest
    assert len(repo.changed(before, after) or ()) == 2


def test_a_tracked_cache_counts(repo: Repo) -> None:
    repo.write(".hypothesis/example", "1")
    repo.write("vendored/__pycache__/data.pyc", "1")
    repo.git("add", "-f", ".")
    repo.commit()
    before = repo.state()
    repo.write(".hypothesis/example", "2")
    repo.write("vendored/__pycache__/data.pyc", "2")
    after = repo.state()
    assert after.digest != before.digest
    assert repo.changed(before, after) == (".hypothesis/example", "vendored/__pycache__/data.pyc")


def test_an_ignored_file_counts_once_it_is_tracked(repo: Repo) -> None:
    repo.write("ignored.log", "1")
    is_same, named = repo.after(lambda: repo.git("add", "-f", "ignored.log"))
    assert not is_same
    assert named == ("ignored.log",)
    is_same, named = repo.after(lambda: repo.write("ignored.log", "2"))
    assert not is_same
    assert named == ("ignored.log",)


# -- line endings and filters ----------------------------------------------------------------------------------

ENDINGS = {
    "autocrlf": ("true", ""),
    "autocrlf on input": ("input", ""),
    "eol=crlf": ("false", "*.txt eol=crlf\n"),
    "text=auto": ("false", "* text=auto\n"),
    "text=auto eol=crlf": ("false", "* text=auto eol=crlf\n"),
    "binary": ("true", "*.txt -text\n"),
}


@pytest.fixture
def windows(tmp_path: Path, request: pytest.FixtureRequest) -> Repo:
    """A repository with LF, CRLF and mixed content in its index, then put under a regime of line endings."""
    autocrlf, attributes = request.param
    repo = Repo.create(tmp_path / "repo")
    repo.write("lf.txt", "one\ntwo\n")
    repo.write("crlf.txt", "one\r\ntwo\r\n")
    repo.write("mixed.txt", "one\r\ntwo\n")
    repo.write("binary.bin", b"\0one\r\ntwo\n")
    repo.commit("before")
    if attributes:
        repo.write(".gitattributes", attributes)
        repo.commit("attributes")
    repo.git("config", "core.autocrlf", autocrlf)
    repo.git("clone", "-q", "-c", f"core.autocrlf={autocrlf}", str(repo.root), str(tmp_path / "clone"))
    return Repo(tmp_path / "clone")


@pytest.mark.parametrize("windows", ENDINGS.values(), ids=ENDINGS.keys(), indirect=True)
def test_line_endings_feign_no_change_and_hide_no_edit(windows: Repo) -> None:
    fresh = windows.state()
    assert fresh.changes == {}
    touch(windows)
    assert windows.state().digest == fresh.digest
    for name in ("lf.txt", "crlf.txt", "mixed.txt", "binary.bin"):
        before = windows.state()
        path = windows.path(name)
        path.write_bytes(path.read_bytes() + b"three\r\n")
        edited = windows.state()
        assert edited.digest != before.digest
        assert windows.changed(before, edited) == (name,)
        windows.git("add", "-A")
        assert windows.state().digest == edited.digest, name
        windows.commit(f"{name} edited")
        committed = windows.state()
        assert committed.digest == edited.digest, name
        assert committed.changes == {}
        assert windows.changed(before, committed) == (name,)


@pytest.mark.parametrize("windows", [("true", "")], ids=["autocrlf"], indirect=True)
def test_a_new_file_with_windows_endings_keeps_its_digest_when_committed(windows: Repo) -> None:
    windows.write("new.txt", "one\r\ntwo\r\n")
    is_same, named = windows.after(lambda: windows.commit())
    assert is_same
    assert named == ()


def test_content_goes_through_the_filters_of_the_attributes(repo: Repo) -> None:
    repo.git("config", "filter.upper.clean", "tr a-z A-Z")
    repo.write(".gitattributes", "*.up filter=upper\n*.id ident\n")
    repo.write("x.up", "text\n")
    repo.write("x.id", "$Id: text $\n")
    is_same, named = repo.after(lambda: repo.commit())
    assert is_same
    assert named == ()
    assert repo.git("cat-file", "blob", "HEAD:x.up") == b"TEXT\n"
    is_same, named = repo.after(lambda: repo.write("x.up", "other\n"))
    assert not is_same
    assert named == ("x.up",)


# -- submodules and repositories inside ------------------------------------------------------------------------


@pytest.fixture
def nesting(template: Path, repo: Repo) -> Repo:
    """The repository with a submodule ``sub``."""
    repo.git("submodule", "--quiet", "add", str(template), "sub")
    repo.commit("submodule")
    return repo


def inner(repo: Repo) -> Repo:
    return Repo(repo.root / "sub")


def commit_inside(repo: Repo) -> None:
    inner(repo).write("a.txt", "inner\n")
    inner(repo).commit()


def blind_and_edit_inside(repo: Repo) -> None:
    inner(repo).git("config", "status.showUntrackedFiles", "no")
    inner(repo).write("new.txt", "inner\n")


def ignore_and_edit_inside(repo: Repo) -> None:
    repo.git("config", "submodule.sub.ignore", "all")
    inner(repo).write("a.txt", "inner\n")


def hide_and_edit_inside(repo: Repo) -> None:
    inner(repo).git("update-index", "--assume-unchanged", "a.txt")
    inner(repo).write("a.txt", "inner\n")


def fill_after_removal(repo: Repo) -> None:
    shutil.rmtree(repo.path("sub"))
    repo.write("sub/a.txt", "not the submodule\n")


def replace_by_a_file(repo: Repo) -> None:
    shutil.rmtree(repo.path("sub"))
    repo.write("sub", "a file\n")


INSIDE: dict[str, Act] = {
    "a commit": commit_inside,
    "an edit": lambda repo: inner(repo).write("a.txt", "inner\n"),
    "a staged edit": lambda repo: (
        inner(repo).write("a.txt", "inner\n"),
        inner(repo).git("add", "a.txt"),
    ),
    "a new file": lambda repo: inner(repo).write("new.txt", "inner\n"),
    "a new file that its status does not show": blind_and_edit_inside,
    "an edit that the outer repository ignores": ignore_and_edit_inside,
    "an edit of a file assumed unchanged": hide_and_edit_inside,
    "its deletion": lambda repo: shutil.rmtree(repo.path("sub")),
    "a plain folder in its place": fill_after_removal,
    "a file in its place": replace_by_a_file,
    "its files taken away": lambda repo: repo.git("submodule", "--quiet", "deinit", "-f", "sub"),
}


@pytest.mark.parametrize("act", INSIDE.values(), ids=INSIDE.keys())
def test_the_digest_differs_by_a_submodule_with(nesting: Repo, act: Act) -> None:
    is_same, named = nesting.after(lambda: act(nesting))
    assert not is_same
    assert named is not None
    assert "sub" in named
    assert {name.split("/")[0] for name in named} == {"sub"}


def test_new_content_in_a_submodule_that_is_not_checked_out_counts(nesting: Repo) -> None:
    nesting.git("submodule", "--quiet", "deinit", "-f", "sub")
    is_same, named = nesting.after(lambda: nesting.write("sub/a.txt", "x"))
    assert not is_same
    assert named == ("sub",)
    is_same, named = nesting.after(lambda: nesting.write("sub/a.txt", "y"))
    assert not is_same
    assert named == ("sub",)


def test_a_clean_submodule_is_no_change_and_a_moved_one_keeps_its_digest_when_committed(
    nesting: Repo,
) -> None:
    assert nesting.state().changes == {}
    commit_inside(nesting)
    is_same, named = nesting.after(lambda: nesting.commit())
    assert is_same
    assert named == ()
    assert nesting.state().changes == {}


def test_two_states_of_a_dirty_submodule_differ(nesting: Repo) -> None:
    inner(nesting).write("new.txt", "one\n")
    is_same, named = nesting.after(lambda: inner(nesting).write("new.txt", "two\n"))
    assert not is_same
    assert named == ("sub",)


def test_a_submodule_whose_repository_is_broken_is_an_error(nesting: Repo) -> None:
    nesting.write("sub/.git", "gitdir: ../nowhere\n")
    with pytest.raises(GitError):
        nesting.digest()


def test_a_submodule_is_never_taken_for_the_tree_around_it(nesting: Repo) -> None:
    """With an empty ``.git`` folder git would answer for the outer repository."""
    nesting.path("sub/.git").unlink()
    nesting.path("sub/.git").mkdir()
    with pytest.raises(GitError):
        nesting.digest()


def test_a_repository_inside_the_tree_counts_with_commits_and_files(repo: Repo, template: Path) -> None:
    nested = Repo.copy(template, repo.root / "nested")
    states = [repo.state()]
    for act in (
        lambda: nested.write("new.txt", "one\n"),
        lambda: nested.write("new.txt", "two\n"),
        nested.commit,
    ):
        act()
        states.append(repo.state())
        assert repo.changed(states[-2], states[-1]) == ("nested",)
    assert len({state.digest for state in states}) == len(states)
    is_same, named = repo.after(lambda: repo.git("-c", "advice.addEmbeddedRepo=false", "add", "nested"))
    assert is_same
    assert named == ()


def test_a_repository_inside_the_tree_without_a_commit_counts(repo: Repo) -> None:
    nested = Repo.create(repo.root / "nested")
    before = repo.digest()
    nested.write("file", "one\n")
    one = repo.digest()
    nested.write("file", "two\n")
    assert len({before, one, repo.digest()}) == 3


# -- kinds of repositories -------------------------------------------------------------------------------------


def test_a_sparse_checkout_counts_what_is_on_disk(repo: Repo) -> None:
    full = repo.state()
    repo.git("sparse-checkout", "set", "--cone", "folder/deep")
    assert not repo.path("folder/deep/none").exists()
    sparse = repo.state()
    repo.git("sparse-checkout", "set", "--no-cone", "/a.txt")
    assert not repo.path("folder").exists()
    sparser = repo.state()
    assert repo.changed(full, sparser) == (
        ".gitignore",
        "empty",
        "folder/b.txt",
        "folder/deep/c.txt",
        "link",
        "script.sh",
    )
    assert sparse.digest == full.digest
    is_same, named = repo.after(lambda: repo.write("a.txt", "edited\n"))
    assert not is_same
    assert named == ("a.txt",)
    is_same, named = repo.after(lambda: repo.git("commit", "-qam", "edited"))
    assert is_same
    assert named == ()
    is_same, named = repo.after(lambda: repo.write("folder/b.txt", "back, and edited\n"))
    assert not is_same
    assert named == ("folder/b.txt",)
    repo.path("folder/b.txt").unlink()
    repo.git("sparse-checkout", "disable")
    repo.git("reset", "-q", "--hard", full.commit)
    assert repo.state().digest == full.digest


def test_a_repository_of_the_other_object_format_is_read(tmp_path: Path) -> None:
    made = subprocess.run(
        ["git", "init", "-q", "--object-format=sha256", str(tmp_path / "repo")], capture_output=True
    )
    if made.returncode:
        pytest.skip("this git has no SHA-256 repositories")
    repo = populate(Repo(tmp_path / "repo"))
    first = repo.state()
    assert first.changes == {}
    many_changes(repo)
    is_same, named = repo.after(lambda: repo.commit())
    assert is_same
    assert named == ()
    assert repo.digest() != first.digest
    assert repo.changed(first, repo.state()) == (
        "a.txt",
        "dangling",
        "empty",
        "folder/deep/c.txt",
        "folder/moved/c.txt",
        "link",
        "new.txt",
        "script.sh",
        "sub/new.txt",
    )


def test_a_repository_without_a_commit_is_read(tmp_path: Path) -> None:
    repo = Repo.create(tmp_path / "repo")
    nothing = repo.state()
    assert (nothing.commit, nothing.files, nothing.changes) == ("", 0, {})
    repo.write("a.txt", "alpha\n")
    untracked = repo.state()
    assert untracked.digest != nothing.digest
    assert untracked.changes is not None
    assert list(untracked.changes) == ["a.txt"]
    repo.git("add", "a.txt")
    assert repo.digest() == untracked.digest
    repo.commit()
    committed = repo.state()
    assert committed.digest == untracked.digest
    assert committed.commit == repo.head()


def test_the_state_tells_the_commit_the_number_of_files_and_what_differs(repo: Repo) -> None:
    many_changes(repo)
    state = repo.state()
    assert state.method == "git"
    assert state.commit == repo.head()
    assert state.files == 9
    assert state.changes is not None
    assert state.changes["empty"] == ""
    assert state.changes["script.sh"].startswith("100644 ")
    assert state.changes["dangling"].startswith("120000 ")
    blob = repo.git("hash-object", "a.txt").decode().strip()
    assert state.changes["a.txt"] == f"100644 {blob}"


def test_variables_of_a_hook_lead_to_no_other_repository(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Repo.create(tmp_path / "other")
    other.write("other.txt", "x")
    other.commit()
    repo.write("new.txt", "x")
    repo.write("ignored.log", "x")
    repo.git("add", "-f", "ignored.log")
    expected = repo.state()
    for name, value in {
        "GIT_DIR": str(other.root / ".git"),
        "GIT_INDEX_FILE": str(other.root / ".git" / "index"),
        "GIT_WORK_TREE": str(other.root),
        "GIT_OBJECT_DIRECTORY": str(other.root / ".git" / "objects"),
        "GIT_PREFIX": "folder/",
        "GIT_NAMESPACE": "x",
        "GIT_CONFIG_PARAMETERS": "'core.bare'='true'",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.bare",
        "GIT_CONFIG_VALUE_0": "true",
        "GIT_GLOB_PATHSPECS": "1",
        "GIT_ICASE_PATHSPECS": "1",
        "GIT_NOGLOB_PATHSPECS": "1",
        "GIT_EXTERNAL_DIFF": "false",
    }.items():
        monkeypatch.setenv(name, value)
    assert repo.state() == expected


def test_a_hook_of_git_sees_the_digest_that_everybody_sees(repo: Repo, tmp_path: Path) -> None:
    repo.write("a.txt", "edited\n")
    repo.git("add", "-A")
    expected = repo.digest()
    script = (
        f"import sys; sys.path[:0] = {sys.path!r}\n"
        "from pathlib import Path\n"
        "from dispatch_fidelity.discipline.tree import open_tree, tree_state\n"
        f"Path({str(tmp_path / 'seen')!r}).write_text(tree_state(*open_tree(Path.cwd())).digest)\n"
    )
    (tmp_path / "hook.py").write_text(script)
    hook = repo.write(".git/hooks/pre-commit", f'#!/bin/sh\n"{sys.executable}" "{tmp_path}/hook.py"\n', 0o755)
    assert hook.exists()
    repo.git("commit", "-qm", "partial", "--", "a.txt")
    assert (tmp_path / "seen").read_text() == expected


def test_a_change_too_large_to_list_is_in_the_digest_and_no_names_are_told(repo: Repo) -> None:
    before = repo.state()
    for number in range(LISTED + 1):
        repo.write(f"many/{number}", "x")
    after = repo.state()
    assert after.digest != before.digest
    assert after.changes is None
    assert repo.changed(before, after) is None


def test_names_are_not_told_across_a_commit_that_is_gone(repo: Repo) -> None:
    before = repo.state()
    gone = TreeState("0" * 64, "git", "1" * 40, 1, {})
    assert repo.changed(gone, before) is None
    assert repo.changed(TreeState("0" * 64, "git", "--output=x", 1, {}), before) is None
    assert not repo.path("x").exists()


# -- what cannot be read ---------------------------------------------------------------------------------------


def test_a_bare_repository_is_refused(tmp_path: Path) -> None:
    bare = Repo.create(tmp_path / "bare", "--bare")
    with pytest.raises(GitError, match="bare"):
        open_tree(bare.root)


def test_the_inside_of_a_git_folder_is_refused(repo: Repo) -> None:
    for name in (".git", ".git/objects"):
        with pytest.raises(GitError, match=r"inside of a \.git folder"):
            open_tree(repo.root / name)


def test_a_broken_repository_is_refused_and_not_walked(repo: Repo) -> None:
    shutil.rmtree(repo.path(".git/objects"))
    repo.path(".git/HEAD").unlink()
    with pytest.raises(GitError):
        open_tree(repo.root)


def test_a_broken_index_is_an_error(repo: Repo) -> None:
    repo.write(".git/index", b"DIRC\0\0\0\2\0\0\0\1garbage")
    with pytest.raises(GitError):
        repo.digest()


def test_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(GitError, match="no folder"):
        open_tree(tmp_path / "nowhere")
    (tmp_path / "file").write_text("x")
    with pytest.raises(GitError, match="no folder"):
        open_tree(tmp_path / "file")


def test_a_repository_of_somebody_else_is_refused(repo: Repo) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a repository away")
    for path in (repo.root, repo.path(".git")):
        os.chown(path, 65534, 65534)
    with pytest.raises(GitError, match="dubious ownership"):
        open_tree(repo.root)


def test_a_file_that_vanishes_while_it_is_read_is_an_error(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.write("a.txt", "edited\n")
    content_ids = tree_module._content_ids

    def vanishing(found: Repository, paths: list[bytes], *options: str) -> dict[bytes, bytes]:
        repo.path("a.txt").unlink()
        return content_ids(found, paths, *options)

    monkeypatch.setattr(tree_module, "_content_ids", vanishing)
    with pytest.raises((GitError, UnreadableTreeError), match=r"a\.txt"):
        repo.digest()


UNREADABLE: dict[str, Act] = {
    "an edited file": lambda repo: repo.write("a.txt", "edited\n", 0o000),
    "a new file": lambda repo: repo.write("new.txt", "x", 0o000),
    "a tracked folder": lambda repo: repo.path("folder").chmod(0o000),
    "a new folder": lambda repo: repo.write("new/file", "x").parent.chmod(0o000),
    "a folder that can be listed and not entered": lambda repo: repo.path("folder").chmod(0o444),
}
AS_NOBODY = """
import os, sys
from pathlib import Path
from dispatch_fidelity.cli.main import main
from dispatch_fidelity.discipline.tree import open_tree, tree_state
from dispatch_fidelity.errors import DispatchFidelityError
os.chdir(sys.argv[1])
os.setegid(65534)
os.seteuid(65534)
try:
    print(tree_state(*open_tree(Path.cwd())).digest)
except DispatchFidelityError as problem:
    print(type(problem).__name__, problem.exit_code, problem)
"""


def covers_nothing() -> dict[str, str]:
    """The environment without the measurement of coverage, which writes at the end what it may not write here."""
    return {name: value for name, value in os.environ.items() if name != "COVERAGE_PROCESS_CONFIG"}


def as_nobody(repo: Repo) -> str:
    """What the product says to a user who is not root."""
    for folder, folders, names in os.walk(repo.root):
        for name in ["", *folders, *names]:
            os.chown(Path(folder, name), 65534, 65534, follow_symlinks=False)
    done = subprocess.run(
        [sys.executable, "-c", AS_NOBODY, str(repo.root)],
        capture_output=True,
        text=True,
        timeout=WAIT,
        env={**covers_nothing(), "HOME": str(repo.root)},
    )
    assert done.stderr == ""
    return done.stdout


@pytest.fixture
def reachable(template: Path) -> Iterator[Repo]:
    """The repository in a place that every user can get to."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        repo = Repo.copy(template, Path(folder, "repo"))
        yield repo
        for path in (repo.path("folder"), repo.path("new")):
            if path.exists():
                path.chmod(0o755)


@pytest.mark.parametrize("act", UNREADABLE.values(), ids=UNREADABLE.keys())
@pytest.mark.parametrize("with_git", [True, False], ids=["git", "no git"])
def test_nothing_is_known_of_the_tree_with_an_unreadable(reachable: Repo, act: Act, with_git: bool) -> None:
    if not with_git:
        shutil.rmtree(reachable.path(".git"))
    act(reachable)
    if os.geteuid() == 0:
        told = as_nobody(reachable)
        assert told.split()[1:2] == ["65"], told
        return
    with pytest.raises((GitError, UnreadableTreeError)):
        reachable.digest()


def test_pipes_and_sockets_are_no_content_and_are_never_opened(repo: Repo, tmp_path: Path) -> None:
    before = repo.digest()
    os.mkfifo(repo.path("pipe"))
    with socket.socket(socket.AF_UNIX) as sock:
        here = Path.cwd()
        os.chdir(repo.root)
        try:
            sock.bind("socket")
        finally:
            os.chdir(here)
    assert repo.digest() == before
    shutil.rmtree(repo.path(".git"))
    with_both = repo.digest()
    repo.path("pipe").unlink()
    repo.path("socket").unlink()
    assert repo.digest() == with_both


def test_a_failed_question_leaves_no_process_behind(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    running: list[subprocess.Popen[bytes]] = []
    start = repository_module._start

    def watched(folder: Path, args: Sequence[str], *, stdin: bool = False) -> subprocess.Popen[bytes]:
        process = start(folder, args, stdin=stdin)
        running.append(process)
        return process

    monkeypatch.setattr(repository_module, "_start", watched)
    repo.write(".git/index", b"garbage that is long enough to be read as an index")
    with pytest.raises(GitError):
        repo.digest()
    assert len(running) > 3
    assert all(process.returncode is not None for process in running)
    assert all(process.stdout is None or process.stdout.closed for process in running)


# -- without git -----------------------------------------------------------------------------------------------


@pytest.fixture
def plain(repo: Repo) -> Repo:
    """The same files without a repository."""
    shutil.rmtree(repo.path(".git"))
    return repo


def test_a_folder_outside_git_is_walked(plain: Repo) -> None:
    root, found = open_tree(plain.root)
    assert (root, found) == (plain.root, None)
    state = plain.state()
    assert (state.method, state.commit, state.files, state.changes) == ("walk", "", 7, None)


WALKED = {
    name: change.act
    for name, change in CHANGES.items()
    if name
    in {
        "an edit",
        "an edit of equal size and time",
        "an emptied file",
        "a new file",
        "a new file in a new folder",
        "a new link to a folder",
        "a deletion",
        "a rename",
        "a file made executable",
        "a file no more executable",
        "another target of a link",
        "a file turned into a link",
        "a file turned into a folder",
        "a folder turned into a file",
        "a folder turned into a link",
        "a folder turned into a link to the outside",
        "a folder turned into a link to itself",
        "a file turned into a pipe",
    }
}


@pytest.mark.parametrize("act", WALKED.values(), ids=WALKED.keys())
def test_the_walk_sees(plain: Repo, act: Act) -> None:
    is_same, named = plain.after(lambda: act(plain))
    assert not is_same
    assert named is None


def test_the_walk_follows_every_name(plain: Repo) -> None:
    digests = {plain.digest()}
    for name in ODD_NAMES.values():
        plain.write(name, "x")
        digests.add(plain.digest())
    assert len(digests) == 1 + len(ODD_NAMES)


def test_the_walk_leaves_out_caches_records_and_empty_folders(plain: Repo) -> None:
    before = plain.digest()
    UNCHANGED["caches"](plain)
    UNCHANGED["records of gate"](plain)
    UNCHANGED["an empty folder"](plain)
    plain.write("node_modules/x/index.js", "noise")
    plain.write(".venv/lib/x.py", "noise")
    touch(plain)
    assert plain.digest() == before


def test_a_loop_of_links_is_walked_once(plain: Repo) -> None:
    plain.path("folder/loop").symlink_to("..")
    plain.path("self").symlink_to("self")
    assert plain.state().files == 9


def test_without_git_installed_the_folder_is_walked(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert find_repository(repo.root) is None
    assert repo.state().method == "walk"
    assert repo.state().files == 7


def test_a_git_that_cannot_be_run_is_an_error(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin" / "git").mkdir(parents=True)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(GitError, match="git cannot be run"):
        open_tree(repo.root)


# -- laws ------------------------------------------------------------------------------------------------------


def messy(repo: Repo, template: Path) -> None:
    many_changes(repo)
    repo.write("build/out", "ignored")
    repo.write(b"caf\xe9", "x")
    repo.git("add", "-N", "new.txt")
    repo.git("update-index", "--skip-worktree", "folder/b.txt")
    repo.git("submodule", "--quiet", "add", str(template), "module")
    repo.write("module/new.txt", "x")
    Repo.copy(template, repo.root / "nested").write("a.txt", "x")
    touch(repo)


@pytest.mark.parametrize("untracked_cache", ["false", "true"])
def test_reading_the_tree_changes_no_byte_under_it(repo: Repo, template: Path, untracked_cache: str) -> None:
    repo.git("config", "core.untrackedCache", untracked_cache)
    messy(repo, template)
    before = snapshot(repo.root)
    state = repo.state()
    repo.changed(state, repo.state())
    assert snapshot(repo.root) == before


def test_reading_a_split_index_changes_no_byte_of_it(repo: Repo) -> None:
    """git renews the time of the shared part of such an index whenever it is read; its content stays."""
    repo.git("config", "core.splitIndex", "true")
    repo.git("update-index", "--split-index")
    repo.write("a.txt", "edited\n")
    before = {name: (kept[0], kept[1], kept[3]) for name, kept in snapshot(repo.root).items()}
    repo.state()
    assert {name: (kept[0], kept[1], kept[3]) for name, kept in snapshot(repo.root).items()} == before


NAMES = ["a.txt", "folder", "folder/b.txt", "folder/deep/c.txt", "new", "new/inner", "link", "x\r", 'q"\n']
ACTS = st.one_of(
    st.tuples(st.just("write"), st.sampled_from(NAMES), st.sampled_from(["one\n", "two\n", "alpha\n"])),
    st.tuples(st.just("chmod"), st.sampled_from(NAMES), st.sampled_from(["644", "755"])),
    st.tuples(st.just("link"), st.sampled_from(NAMES), st.sampled_from(["a.txt", "folder", "nowhere"])),
    st.tuples(st.just("delete"), st.sampled_from(NAMES), st.just("")),
    st.tuples(st.just("rename"), st.sampled_from(NAMES), st.sampled_from(NAMES)),
    st.tuples(st.just("stage"), st.sampled_from(NAMES), st.just("")),
    st.tuples(st.just("untrack"), st.sampled_from(NAMES), st.just("")),
    st.tuples(
        st.just("hide"), st.sampled_from(NAMES), st.sampled_from(["assume-unchanged", "skip-worktree"])
    ),
    st.tuples(st.just("commit"), st.just(""), st.sampled_from(["-a", "-A", ""])),
    st.tuples(st.just("reset"), st.just(""), st.sampled_from(["--mixed", "--hard", "--soft"])),
)


def act_on(repo: Repo, verb: str, name: str, how: str) -> None:
    """One act of a property, as far as it has meaning where the tree stands."""
    path = repo.path(name)
    if verb in ("write", "link", "rename"):
        source = path
        if verb == "rename":
            path = repo.path(how)
            if not os.path.lexists(source) or path in (source, *source.parents) or source in path.parents:
                return
        for parent in path.relative_to(repo.root).parents:
            if (repo.root / parent).is_symlink() or (repo.root / parent).is_file():
                (repo.root / parent).unlink()
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        if verb == "write":
            path.write_text(how)
        elif verb == "link":
            path.symlink_to(how)
        elif os.path.lexists(source):
            source.rename(path)
    elif verb == "chmod" and path.is_file() and not path.is_symlink():
        path.chmod(int(how, 8))
    elif verb == "delete" and os.path.lexists(path):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    elif verb == "stage":
        repo.git("add", "-A", "--", name, check=False)
    elif verb == "untrack":
        repo.git("rm", "-q", "-r", "--cached", "--", name, check=False)
    elif verb == "hide":
        repo.git("update-index", f"--{how}", "--", name, check=False)
    elif verb == "commit":
        if how == "-A":
            repo.git("add", "-A", check=False)
        repo.git("commit", "-q", "--allow-empty", "-m", "x", *(["-a"] if how == "-a" else []), check=False)
    elif verb == "reset":
        repo.git("reset", "-q", how, "HEAD~1", check=False)


def content(root: Path) -> dict[str, tuple[str, bytes]]:
    """The files on disk, read without git."""
    found: dict[str, tuple[str, bytes]] = {}
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name != ".git"]
        for name in [*folders, *names]:
            path = Path(folder, name)
            told = str(path.relative_to(root))
            if path.is_symlink():
                found[told] = ("link", os.fsencode(path.readlink()))
            elif path.is_file():
                kind = "executable" if path.stat().st_mode & 0o100 else "plain"
                found[told] = (kind, path.read_bytes())
    return found


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(acts=st.lists(ACTS, min_size=1, max_size=9))
def test_digests_are_equal_exactly_when_the_files_are(
    template: Path, tmp_path_factory: pytest.TempPathFactory, acts: list[tuple[str, str, str]]
) -> None:
    repo = Repo.copy(template, tmp_path_factory.mktemp("law") / "repo")
    seen = [(content(repo.root), repo.state())]
    for verb, name, how in acts:
        act_on(repo, verb, name, how)
        now, state = content(repo.root), repo.state()
        for before, old in seen:
            assert (old.digest == state.digest) == (before == now)
            differing = {path for path in {*before, *now} if before.get(path) != now.get(path)}
            named = repo.changed(old, state)
            assert named is not None
            assert named == tuple(sorted(differing))
        seen.append((now, state))
    shutil.rmtree(repo.root)
