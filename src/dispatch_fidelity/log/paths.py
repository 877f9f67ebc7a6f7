"""Where the files of a run lie, and which streams are on its list."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..jsonio import decode

if TYPE_CHECKING:
    from pathlib import Path

LOG_SUFFIX = ".toollog.jsonl"
LIST_SUFFIX = ".streams.jsonl"
MANIFEST_SUFFIX = ".manifest.json"


def log_path(folder: Path, run_id: str, stream: str) -> Path:
    """The log file of one stream."""
    name = run_id if stream == "main" else f"{run_id}+{stream}"
    return folder / f"{name}{LOG_SUFFIX}"


def stream_in_name(name: str) -> str:
    """The stream id in a log file's name; ``main`` where it holds none."""
    if not name.endswith(LOG_SUFFIX):
        return "main"
    return name[: -len(LOG_SUFFIX)].partition("+")[2] or "main"


def list_path(folder: Path, run_id: str) -> Path:
    """The file that lists the streams of a run."""
    return folder / f"{run_id}{LIST_SUFFIX}"


def listed_streams(folder: Path, run_id: str) -> list[str]:
    """The ids on the list, in order; a line that cannot be read counts as the name of no stream."""
    try:
        lines = list_path(folder, run_id).read_bytes().split(b"\n")
    except OSError:
        return ["main"]
    found: dict[str, None] = {}
    for line in lines:
        if line:
            found.setdefault(stream_of(line))
    return list(found)


def stream_of(line: bytes) -> str:
    """The stream id in one line of the list; ``?`` where the line cannot be read."""
    try:
        value = decode(line)
        return str(value["stream"])
    except (ValueError, KeyError, TypeError):
        return "?"
