"""Where coding agents keep their sessions, and which of them are of one folder; newest first."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from ..errors import JSONError
from ..jsonio import decode

_HEAD = 64 * 1024


def claude_sessions(folder: Path, env: Mapping[str, str]) -> list[Path]:
    """Claude Code: ``~/.claude/projects/<folder with - for what is no letter or digit>/<session>.jsonl``."""
    home = Path(env.get("CLAUDE_CONFIG_DIR") or _home(env) / ".claude") / "projects"
    names = {str(folder).replace("/", "-"), re.sub(r"[^A-Za-z0-9]", "-", str(folder))}
    files = [path for name in names for path in (home / name).glob("*.jsonl")]
    return _newest(path for path in files if not path.name.startswith("agent-"))


def codex_sessions(folder: Path, env: Mapping[str, str]) -> list[Path]:
    """Codex CLI: ``~/.codex/sessions/YYYY/MM/DD/rollout-*.jsonl``, the folder in the first line."""
    home = Path(env.get("CODEX_HOME") or _home(env) / ".codex") / "sessions"
    return _newest(path for path in home.glob("**/rollout-*.jsonl") if _codex_folder(path) == str(folder))


def gemini_sessions(folder: Path, env: Mapping[str, str]) -> list[Path]:
    """Gemini CLI: ``~/.gemini/tmp/<SHA-256 of the folder, or its short name>/chats/session-*``."""
    home = _home(env) / ".gemini"
    names = {hashlib.sha256(str(folder).encode("utf-8", "surrogateescape")).hexdigest()}
    try:
        known = decode((home / "projects.json").read_bytes())
    except (OSError, JSONError):
        known = None
    projects = known.get("projects") if isinstance(known, dict) else None
    short = projects.get(str(folder)) if isinstance(projects, dict) else None
    if isinstance(short, str) and re.fullmatch(r"[\w.-]+", short):
        names.add(short)
    return _newest(path for name in names for path in (home / "tmp" / name / "chats").glob("session-*.json*"))


PRODUCTS: dict[str, Callable[[Path, Mapping[str, str]], list[Path]]] = {
    "claude": claude_sessions,
    "codex": codex_sessions,
    "gemini": gemini_sessions,
}


def _home(env: Mapping[str, str]) -> Path:
    return Path(env["HOME"]) if env.get("HOME") else Path.home()


def _newest(paths: Iterable[Path]) -> list[Path]:
    """By the time of the last change, newest first; equal times by name."""
    return sorted(
        {path for path in paths if path.is_file()}, key=lambda path: (-path.stat().st_mtime, str(path))
    )


def _codex_folder(path: Path) -> str:
    try:
        with path.open("rb") as handle:
            first = handle.readline(_HEAD * 16)
        value: Any = decode(first)
    except (OSError, JSONError):
        return ""
    inner = value.get("payload", value) if isinstance(value, dict) else None
    found = inner.get("cwd") if isinstance(inner, dict) else None
    return found if isinstance(found, str) else ""
