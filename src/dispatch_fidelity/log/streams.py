"""The list of a run's streams, written; and names made durable."""

from __future__ import annotations

import os
from pathlib import Path

from ..jsonio import encode
from .paths import list_path


def sync_folder(folder: Path) -> None:
    """Make the names in ``folder`` durable."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def list_stream(folder: Path, run_id: str, stream: str, parent: str) -> None:
    """Put a stream on the list, durably, before its file exists."""
    line = encode({"stream": stream, "parent": parent, "pid": os.getpid()}) + b"\n"
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
    fd = os.open(list_path(folder, run_id), flags, 0o600)
    try:
        if os.write(fd, line) != len(line):
            raise OSError("short write: the disk is full or a limit was reached")
        os.fdatasync(fd)
    finally:
        os.close(fd)
