"""Writes the manifest before anything runs; the verifying side lives in ``manifest`` and ``binding``."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import RunExistsError
from ..jsonio import encode_pretty
from ..log.paths import MANIFEST_SUFFIX
from ..log.streams import sync_folder
from ..log.values import snapshot
from ..model.run import ToolSpec
from .canary import commitment


def new_nonce() -> str:
    """128 random bits as 32 lower-case hex digits."""
    return secrets.token_hex(16)


def _writable(text: str) -> str:
    """Text that JSON can hold: a lone surrogate is written as its escape."""
    return text.encode("utf-8", "backslashreplace").decode()


def seal_manifest(
    folder: Path,
    run_id: str,
    nonce: str,
    *,
    task_id: str | None = None,
    system: Any = None,
    tools: Mapping[str, ToolSpec] | None = None,
    regime: Mapping[str, Any] | None = None,
    durability: Any = "process",
    keys: Mapping[str, str] | None = None,
    sealed_at: str,
) -> tuple[Path, str]:
    """Seal a manifest 2 durably and return its path and digest; the plaintext nonce never touches it.

    Raises RunExistsError when a manifest of this run is there already; it is left as it is.
    """
    document = {
        "schema": "dispatch-fidelity/manifest/2",
        "run_id": run_id,
        "task_id": None if task_id is None else _writable(task_id),
        "nonce_sha256": commitment(nonce),
        "keys": dict(keys or {}),
        "system": snapshot(system if system is not None else {}),
        "tools": {
            _writable(name): {
                "params": list(spec.params),
                "defaults": spec.defaults,
                "variadic": spec.variadic,
            }
            for name, spec in (tools or {}).items()
        },
        "regime": dict(regime or {}),
        "durability": durability,
        "sealed_at": sealed_at,
    }
    data = (encode_pretty(document) + "\n").encode("ascii")
    target = folder / f"{run_id}{MANIFEST_SUFFIX}"
    temporary = folder / f".{run_id}.{secrets.token_hex(8)}.tmp"
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with open(fd, "wb") as handle:
            handle.write(data)
            handle.flush()
            os.fsync(handle.fileno())
        try:
            os.link(temporary, target)
        except FileExistsError:
            raise RunExistsError(run_id, str(folder)) from None
    finally:
        temporary.unlink(missing_ok=True)
    sync_folder(folder)
    return target, hashlib.sha256(data).hexdigest()
