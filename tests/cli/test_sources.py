"""Which files a command reads."""

from __future__ import annotations

import io
import json
import os
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from dispatch_fidelity.cli import sources
from dispatch_fidelity.cli.sources import Source, agent_sessions, find_sources, standard_input
from dispatch_fidelity.errors import InvalidInputError, MissingInputError, UsageError
from dispatch_fidelity.jsonio import LIMITS

NEW, OLD, OLDER = 1_900_000_000, 1_700_000_000, 1_600_000_000  # in 2030, 2023 and 2020


def put(path: Path, text: str = "x", time: int = OLD) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    os.utime(path, (time, time))
    return path


def found(*names: object) -> list[tuple[str, bool]]:
    return [(str(source.path), source.named) for source in find_sources([*map(str, names)])]


# -- files, folders, patterns ------------------------------------------------------------------------------


def test_a_file_is_named_and_may_be_absent(tmp_path: Path) -> None:
    assert found(tmp_path / "a") == [(str(tmp_path / "a"), True)]


def test_files_of_a_folder_are_found_at_any_depth_by_name_and_are_not_named(tmp_path: Path) -> None:
    files = [put(tmp_path / name) for name in ("b/c/d.json", "b/a.json", "a.jsonl", ".hidden/e.json")]
    assert found(tmp_path) == [(str(path), False) for path in sorted(files)]


@pytest.mark.parametrize("hidden", [".git", "node_modules", "__pycache__", "a/.git/b"])
def test_folders_of_tools_are_left_out(tmp_path: Path, hidden: str) -> None:
    put(tmp_path / hidden / "a.json")
    assert found(tmp_path) == []


def test_a_link_to_a_folder_above_is_not_followed_for_ever(tmp_path: Path) -> None:
    path = put(tmp_path / "a" / "b.json")
    (tmp_path / "a" / "up").symlink_to(tmp_path)
    assert found(tmp_path) == [(str(path), False)]


def test_files_that_fit_a_pattern_are_named_and_come_by_name(tmp_path: Path) -> None:
    files = [put(tmp_path / name) for name in ("a.json", "b.json")]
    put(tmp_path / "c.txt")
    assert found(tmp_path / "*.json") == [(str(path), True) for path in files]


def test_a_pattern_may_go_to_any_depth_and_be_relative(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    put(tmp_path / "a" / "b" / "c.json")
    assert found("**/*.json") == [("a/b/c.json", True)]


def test_files_of_a_folder_that_fits_a_pattern_are_not_named(tmp_path: Path) -> None:
    path = put(tmp_path / "run-1" / "notes.txt")
    assert found(tmp_path / "run-*") == [(str(path), False)]


def test_a_pattern_that_fits_nothing_is_missing_input(tmp_path: Path) -> None:
    with pytest.raises(MissingInputError, match="no file fits"):
        find_sources([str(tmp_path / "*.json")])


def test_a_file_whose_name_looks_like_a_pattern_is_that_file(tmp_path: Path) -> None:
    path = put(tmp_path / "a[1].json")
    put(tmp_path / "a1.json")
    assert found(path) == [(str(path), True)]


def test_a_pattern_that_is_none_is_wrong_usage(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(
        _folder: Path, pattern: str
    ) -> None:  # which ones are refused depends on the version of Python
        raise ValueError(f"unacceptable: {pattern}")

    monkeypatch.setattr(Path, "glob", refuse)
    with pytest.raises(UsageError, match="is no pattern"):
        find_sources(["***/x"])


def test_an_empty_name_does_not_mean_the_current_folder() -> None:
    with pytest.raises(MissingInputError, match="empty name"):
        find_sources([""])


@pytest.mark.parametrize("name", ["x" * 5000, "*" * 5000 + "/[x", "a\x00b", "\ud800"])
def test_a_name_that_no_file_can_have_is_missing_not_a_fault(name: str) -> None:
    try:
        assert find_sources([name]) == [Source(Path(name), named=True)]
    except (MissingInputError, UsageError):
        assert "*" in name


def test_each_file_is_found_once_in_the_order_of_the_arguments(tmp_path: Path) -> None:
    first, second = put(tmp_path / "b.json"), put(tmp_path / "a.json")
    assert found(first, tmp_path) == [(str(first), True), (str(second), False)]


def test_a_file_that_is_named_is_named_in_whatever_order(tmp_path: Path) -> None:
    path = put(tmp_path / "a.json")
    assert found(tmp_path, path) == [(str(path), True)]


# -- standard input ----------------------------------------------------------------------------------------


def given(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def test_standard_input_is_a_file_while_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    given(monkeypatch, b"\x00\xff" * 2**20)
    with standard_input(["a", "-"]) as kept:
        assert kept is not None
        assert kept.read_bytes() == b"\x00\xff" * 2**20
        (source,) = find_sources(["-", "-"], kept)
        assert (source.path, source.named, source.name) == (kept, True, "-")
    assert not kept.exists()


def test_standard_input_is_left_alone_where_it_is_not_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with standard_input(["a", "./-"]) as kept:
        assert kept is None


def test_standard_input_beyond_the_limit_is_refused_not_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "LIMITS", LIMITS._replace(document=10))
    given(monkeypatch, b"x" * 10)
    with standard_input(["-"]) as kept:
        assert kept is not None
        assert kept.stat().st_size == 10
    given(monkeypatch, b"x" * 11)
    with pytest.raises(InvalidInputError, match="more than 10 bytes"), standard_input(["-"]):
        pass


# -- sessions of coding agents -----------------------------------------------------------------------------


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with an empty home beside it."""
    folder = tmp_path / "my project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    return folder


def session(work: Path, product: str, name: str, time: int) -> Path:
    home = work.parent / "home"
    plain = "".join(sign if sign.isascii() and sign.isalnum() else "-" for sign in str(work))
    head: dict[str, Any] = {"type": "session_meta", "payload": {"cwd": str(work)}}
    path = {
        "claude": home / ".claude" / "projects" / plain / f"{name}.jsonl",
        "codex": home / ".codex" / "sessions" / "2026" / "11" / "30" / f"rollout-{name}.jsonl",
        "gemini": home
        / ".gemini"
        / "tmp"
        / sha256(str(work).encode()).hexdigest()
        / "chats"
        / f"session-{name}.json",
    }[product]
    return put(path, json.dumps(head) + "\n", time)


PRODUCTS = pytest.mark.parametrize("product", ["claude", "codex", "gemini"])


@PRODUCTS
def test_the_newest_session_is_taken(work: Path, product: str) -> None:
    session(work, product, "a", OLD)
    newest = session(work, product, "b", NEW)
    assert agent_sessions(product, last=0, since="") == [str(newest)]


@PRODUCTS
def test_the_last_sessions_are_taken_newest_first(work: Path, product: str) -> None:
    _, old, new = (
        session(work, product, name, time) for name, time in (("a", OLDER), ("b", OLD), ("c", NEW))
    )
    assert agent_sessions(product, last=2, since="") == [str(new), str(old)]
    assert len(agent_sessions(product, last=9, since="")) == 3


@PRODUCTS
def test_all_sessions_since_a_time_are_taken(work: Path, product: str) -> None:
    _, old, new = (
        session(work, product, name, time) for name, time in (("a", OLDER), ("b", OLD), ("c", NEW))
    )
    assert agent_sessions(product, last=0, since="2022-06-01") == [str(new), str(old)]
    assert agent_sessions(product, last=1, since="2022-06-01") == [str(new)]


@PRODUCTS
def test_where_there_is_no_session_that_is_missing_input(work: Path, product: str) -> None:
    with pytest.raises(MissingInputError, match=f"no session of {product} in .*my project"):
        agent_sessions(product, last=0, since="")
    session(work, product, "a", OLD)
    with pytest.raises(MissingInputError, match="since 2h"):
        agent_sessions(product, last=0, since="2h")


def test_sessions_of_other_folders_are_not_taken(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for product in ("claude", "codex", "gemini"):
        session(work, product, "a", NEW)
    other = work / "inner"
    other.mkdir()
    monkeypatch.chdir(other)
    for product in ("claude", "codex", "gemini"):
        with pytest.raises(MissingInputError):
            agent_sessions(product, last=0, since="")


@pytest.mark.parametrize(
    "since", ["1m", "2h", "3d", "1w", " 2 h ", "2025-01-01", "2025-01-01T08:00", "2025-01-01T08:00:00Z"]
)
def test_a_time_is_relative_or_absolute(work: Path, since: str) -> None:
    session(work, "claude", "a", OLD)
    new = session(work, "claude", "b", NEW)  # in the future, so that it is since any time
    assert agent_sessions("claude", last=0, since=since) == [str(new)]


@pytest.mark.parametrize(
    "since", ["soon", "2x", "h", "-2h", "2026-13-01", "99999999999w", "9" * 400 + "d", "0000-01-01"]
)
def test_a_time_that_is_none_is_wrong_usage(work: Path, since: str) -> None:
    session(work, "claude", "a", OLD)
    with pytest.raises(UsageError, match="is no time"):
        agent_sessions("claude", last=0, since=since)
