"""Identifiers and paths in a text, and when one stands in another's place."""

from __future__ import annotations

import re

from ..model.execution import Execution
from .results import text_of

_IDENTIFIER = re.compile(r"(?<![\w-])(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{5,64}(?![\w-])")
# -- ids and paths -----------------------------------------------------------------------------------------


def ids_differ(told: str, done: str) -> str:
    """Which identifier of the claim stands where the log has another of the same shape; empty for none."""
    mine, its = set(_IDENTIFIER.findall(told)), set(_IDENTIFIER.findall(done))
    unknown = mine - its
    if not unknown or not its:
        return ""
    shapes: dict[str, list[str]] = {}
    for other in its - mine:
        shapes.setdefault(_shape(other), []).append(other)
    for identifier in sorted(unknown):
        alike = shapes.get(_shape(identifier))
        if alike and len(alike) == 1 and sum(_shape(item) == _shape(identifier) for item in mine) == 1:
            return f"{identifier} where the log has {alike[0]}"
    return ""


def _shape(identifier: str) -> str:
    """What kind of identifier it is: hex digits count as one kind, else letters and digits as two."""
    if re.fullmatch(r"[0-9a-f-]{8,}", identifier):
        return re.sub(r"[0-9a-f]", "x", identifier)
    return re.sub(r"\d", "9", re.sub(r"[a-z]", "a", re.sub(r"[A-Z]", "A", identifier)))


_PATH = re.compile(
    r"(?<![\w/\\.~-])(?:[a-z][a-z0-9]{0,9}://|[A-Za-z]:[\\/]|~?[\\/]|\.{1,3}[\\/]|…[\\/])?"
    r"[\w.@+-]+(?:[\\/]{1,2}[\w.@+-]+){0,40}[\\/]?"
)
_ROOTED = re.compile(r"[a-z][a-z0-9]{0,9}://|[A-Za-z]:[\\/]|~?[\\/]|\.{1,3}[\\/]|…[\\/]")
_EXTENSIONS = (
    " py pyi js mjs ts tsx jsx json jsonl yaml yml toml ini cfg conf txt md rst csv tsv xlsx xls pdf doc docx ppt pptx "
    "html htm css xml log sql sh bat ps1 rb go rs java kt swift c h cc cpp hpp cs php png jpg jpeg gif svg webp mp3 "
    "mp4 wav mov zip tar gz tgz bz2 xz 7z parquet db sqlite lock env ipynb tex bib eml ics key pem crt bak tmp "
)


def paths_differ(told: str, done: str, execution: Execution) -> str:
    """Another path or file name where each text has one; parts of the same path are none, nor an argument."""
    if len(told) > 1000 or len(done) > 1000:
        return ""
    mine, its = _paths(told), _paths(done)
    if len(mine) != 1 or len(its) != 1:
        return ""
    (one, shown), (other, logged) = mine.popitem(), its.popitem()
    if one == other or _runs_into(one, other) or _runs_into(other, one):
        return ""
    if "\\".join(one) in "\\".join(_segments(text_of(execution.args).casefold())):
        return ""
    rooted = bool(_ROOTED.match(shown)) and bool(_ROOTED.match(logged))
    if one[-1] == other[-1] and not (rooted and "./" not in shown[:3] and "./" not in logged[:3]):
        return ""
    same_folder = one[:-1] == other[:-1] or len(one) == 1 or len(other) == 1
    if not same_folder and _extension(one[-1]) != _extension(other[-1]):
        return ""
    if same_folder and len(one) != len(other) and _extension(one[-1]) != _extension(other[-1]):
        return ""
    return f"{shown} where the log has {logged}"


def _paths(text: str) -> dict[tuple[str, ...], str]:
    found: dict[tuple[str, ...], str] = {}
    for match in _PATH.finditer(text):
        shown = match.group().rstrip(".")
        segments = _segments(shown.casefold())
        if not segments or not any(mark.isalpha() for mark in shown):
            continue
        if (
            text[match.end() : match.end() + 1] in ("*", "?", "@")
            or text[match.start() - 1 : match.start()] == "*"
        ):
            return {}
        rooted = _ROOTED.match(shown) is not None and len(segments[0]) > 0
        if rooted or (f" {_extension(segments[-1])} " in _EXTENSIONS and segments[-1][0] != "."):
            found[segments] = shown
    return found


def _segments(path: str) -> tuple[str, ...]:
    path = re.sub(r"\A(?:[a-z][a-z0-9]{0,9}://(?:www\.)?|[a-z]:|~)", "", path)
    return tuple(part for part in re.split(r"[\\/]+", path) if part.strip(".…"))


def _extension(name: str) -> str:
    head, mark, tail = name.rpartition(".")
    return tail if mark and head else ""


def _runs_into(part: tuple[str, ...], whole: tuple[str, ...]) -> bool:
    """Whether it is the end of the other, or a folder above it."""
    return whole[-len(part) :] == part or whole[: len(part)] == part
