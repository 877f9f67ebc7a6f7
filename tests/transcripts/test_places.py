from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

from dispatch_fidelity.transcripts.places import claude_sessions, codex_sessions, gemini_sessions

WORK = Path("/home/someone/my_project.x")


def put(path: Path, text: str = "{}\n", age: int = 0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    os.utime(path, (1_700_000_000 - age, 1_700_000_000 - age))
    return path


def test_sessions_of_claude_are_those_of_the_folder_newest_first(tmp_path: Path) -> None:
    home = tmp_path / ".claude" / "projects" / "-home-someone-my-project-x"
    old, new = put(home / "a.jsonl", age=100), put(home / "b.jsonl")
    put(home / "agent-1.jsonl", age=-100)
    put(home.parent / "-home-other" / "c.jsonl")
    assert claude_sessions(WORK, {"HOME": str(tmp_path)}) == [new, old]


def test_a_folder_name_of_claude_that_keeps_other_signs_is_found_too(tmp_path: Path) -> None:
    session = put(tmp_path / ".claude" / "projects" / "-home-someone-my_project.x" / "a.jsonl")
    assert claude_sessions(WORK, {"HOME": str(tmp_path)}) == [session]


def test_claude_may_keep_its_files_elsewhere(tmp_path: Path) -> None:
    session = put(tmp_path / "elsewhere" / "projects" / "-home-someone-my-project-x" / "a.jsonl")
    env = {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / "elsewhere")}
    assert claude_sessions(WORK, env) == [session]


def test_sessions_of_codex_name_their_folder_in_the_first_line(tmp_path: Path) -> None:
    home = tmp_path / ".codex" / "sessions" / "2026" / "11" / "30"
    ours = json.dumps({"type": "session_meta", "payload": {"cwd": str(WORK)}}) + "\n"
    first = put(home / "rollout-1.jsonl", ours, age=10)
    second = put(home / "rollout-2.jsonl", json.dumps({"cwd": str(WORK)}) + "\n")
    put(home / "rollout-3.jsonl", ours.replace("my_project", "other"))
    put(home / "rollout-4.jsonl", "broken\n")
    put(home / "rollout-5.jsonl", "[1]\n")
    assert codex_sessions(WORK, {"HOME": str(tmp_path)}) == [second, first]
    assert codex_sessions(WORK, {"CODEX_HOME": str(tmp_path / ".codex")}) == [second, first]


def test_sessions_of_gemini_lie_under_the_digest_or_the_short_name_of_the_folder(tmp_path: Path) -> None:
    home = tmp_path / ".gemini"
    digest = hashlib.sha256(str(WORK).encode()).hexdigest()
    first = put(home / "tmp" / digest / "chats" / "session-1.json", age=5)
    put(home / "projects.json", json.dumps({"projects": {str(WORK): "my-project"}}))
    second = put(home / "tmp" / "my-project" / "chats" / "session-2.jsonl")
    assert gemini_sessions(WORK, {"HOME": str(tmp_path)}) == [second, first]


def test_a_short_name_that_leads_elsewhere_is_not_followed(tmp_path: Path) -> None:
    home = tmp_path / ".gemini"
    put(home / "projects.json", json.dumps({"projects": {str(WORK): "../../x"}}))
    put(tmp_path / "x" / "chats" / "session-1.json")
    assert gemini_sessions(WORK, {"HOME": str(tmp_path)}) == []


def test_without_any_session_nothing_is_found(tmp_path: Path) -> None:
    for find in (claude_sessions, codex_sessions, gemini_sessions):
        assert find(WORK, {"HOME": str(tmp_path)}) == []
