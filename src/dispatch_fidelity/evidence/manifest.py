"""Reads a sealed manifest, version 1 or 2."""

from __future__ import annotations

import hashlib
import os
import re
from typing import Any

from ..errors import InvalidInputError, JSONError, MissingInputError
from ..jsonio import LIMITS, convert, decode
from ..model.frozen import Frozen
from ..model.run import Manifest, ToolSpec

SCHEMA = "dispatch-fidelity/manifest/"
RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_BOM = b"\xef\xbb\xbf"


class ManifestFile(Frozen, frozen=True):
    """The members of a manifest file; unknown ones of a newer writer are left where they are."""

    schema: str
    run_id: str
    nonce_sha256: str
    task_id: str | None = None
    system: Any = None
    tools: dict[str, ToolSpec] = {}
    regime: dict[str, Any] = {}
    durability: Any = "process"
    keys: dict[str, Any] = {}
    sealed_at: str = ""
    notes: Any = None


def read_manifest(path: str | os.PathLike[str]) -> Manifest:
    """The manifest in a file.

    Raises MissingInputError (66) when it cannot be opened, InvalidInputError (65) when it is none.
    """
    name = os.fspath(path)
    try:
        with open(path, "rb") as handle:
            data = handle.read(LIMITS.report + 1)
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise MissingInputError(f"cannot open {name!r}: {reason}") from problem
    if len(data) > LIMITS.report:
        raise InvalidInputError(f"{name!r} is no manifest: it is larger than {LIMITS.report} bytes")
    return parse_manifest(data, os.path.basename(name))


def parse_manifest(data: bytes, file_name: str = "") -> Manifest:
    """The manifest in the bytes of a file; InvalidInputError (65) when they are none. A BOM is no part of it."""
    text = data[len(_BOM) :] if data.startswith(_BOM) else data
    try:
        value = decode(text)
        schema = value.get("schema") if isinstance(value, dict) else None
        if not isinstance(schema, str) or not schema.startswith(SCHEMA):
            raise JSONError(f"its schema is {schema!r}, not {SCHEMA}1 or {SCHEMA}2")
        found: ManifestFile = convert(value, ManifestFile)
    except JSONError as problem:
        raise InvalidInputError(f"{file_name!r} is no manifest: {problem}") from None
    version = {"1": 1, "2": 2}.get(schema[len(SCHEMA) :])
    if version is None:
        raise InvalidInputError(
            f"{file_name!r} has the unknown version {schema!r}; this program reads 1 and 2"
        )
    if not _DIGEST.fullmatch(found.nonce_sha256):
        raise InvalidInputError(f"{file_name!r} is no manifest: nonce_sha256 is not 64 lower-case hex digits")
    return Manifest(
        version=version,
        run_id=found.run_id,
        nonce_sha256=found.nonce_sha256,
        digest=hashlib.sha256(text).hexdigest(),
        file_name=file_name,
        task_id=found.task_id,
        system=found.system if isinstance(found.system, dict) else {},
        tools=found.tools,
        regime=found.regime,
        durability=found.durability,
        sealed_at=found.sealed_at,
        keys=found.keys,
    )
