"""Which reader reads a file, and what is said when none does."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dispatch_fidelity.errors import DispatchFidelityError, InvalidInputError, MissingInputError
from dispatch_fidelity.jsonio import LIMITS
from dispatch_fidelity.model.run import Completeness, Damage, DamageKind, ImportedRun, Record
from dispatch_fidelity.transcripts import registry
from dispatch_fidelity.transcripts.registry import (
    BUILT_IN,
    detect,
    is_log,
    opening,
    read_transcript,
    readers,
    values,
)

CHAT = [
    {"role": "user", "content": "Weather?"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "9 C"},
    {"role": "assistant", "content": "It is 9 C."},
]
LOG_1 = {"seq": 1, "run_id": "r", "tool": "t", "args": {}, "result": "x"}
LOG_2 = {"v": 2, "run": "r", "stream": "main", "n": 0, "prev": "0", "type": "open"}


def written(path: Path, content: Any) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path


def test_every_built_in_reader_is_found_under_its_own_name() -> None:
    assert tuple(reader.NAME for reader in readers())[: len(BUILT_IN)] == BUILT_IN


def test_a_file_is_recognised_by_its_content_and_not_by_its_name(tmp_path: Path) -> None:
    reader = detect(written(tmp_path / "session.toollog.jsonl", CHAT))
    assert reader is not None
    assert reader.NAME == "openai-chat"


def test_the_runs_of_a_recognised_file_are_read(tmp_path: Path) -> None:
    (run,) = read_transcript(written(tmp_path / "a", CHAT))
    assert run.report == "It is 9 C."


@pytest.mark.parametrize("name", [None, "openai-chat", "no-such-format"])
def test_a_file_that_cannot_be_opened_is_missing_input(tmp_path: Path, name: str | None) -> None:
    for path in (tmp_path / "absent.json", tmp_path):
        with pytest.raises(MissingInputError) as caught:
            read_transcript(path, name)
        assert caught.value.exit_code == 66


@pytest.mark.parametrize(
    "content", [b"", b"   \n", b"plain text", b"\x00\xff\x00", b"{}", b"[]", b"[1, 2]", b"{torn"]
)
def test_what_no_reader_recognises_is_invalid_input(tmp_path: Path, content: bytes) -> None:
    path = written(tmp_path / "a.json", content)
    assert detect(path) is None
    with pytest.raises(InvalidInputError, match="openai-chat") as caught:
        read_transcript(path)
    assert caught.value.exit_code == 65


def test_a_format_that_does_not_exist_is_invalid_input_and_names_those_that_do(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"'nope'.*openai-chat"):
        read_transcript(written(tmp_path / "a.json", CHAT), "nope")


def test_a_named_format_that_does_not_fit_is_refused_before_the_first_run_is_asked_for(
    tmp_path: Path,
) -> None:
    with pytest.raises(InvalidInputError, match="no list of chat messages"):
        read_transcript(written(tmp_path / "a.json", {"simulations": []}), "openai-chat")


@pytest.mark.parametrize("event", [LOG_1, LOG_2])
@pytest.mark.parametrize("before", [b"", b"\xef\xbb\xbf", b"broken line\n", b'{"seq": 1, "run_\n'])
def test_a_log_of_ours_is_no_transcript(tmp_path: Path, event: dict[str, Any], before: bytes) -> None:
    head = before + json.dumps(event).encode() + b"\n"
    assert detect(written(tmp_path / "a.jsonl", head)) is None
    assert is_log(head)


def test_a_log_of_ours_with_a_single_torn_line_is_still_a_log() -> None:
    assert is_log(json.dumps({**LOG_1, "result": "x" * 100}).encode()[:-20])


class Weather:
    """A reader as another package would bring it."""

    NAME = "weather"

    def __init__(self, confidence: float) -> None:
        self.confidence = confidence

    def recognise(self, head: bytes) -> float:
        return self.confidence

    def read(self, path: Path) -> Iterator[ImportedRun]:
        yield ImportedRun(Record("w", self.NAME, (), Completeness.PARTIAL), "sunny")


def install(monkeypatch: pytest.MonkeyPatch, load: Any) -> None:
    entry = SimpleNamespace(name="weather", value="weather:reader", load=load)

    def entry_points(*, group: str) -> list[Any]:
        return [entry] if group == "dispatch_fidelity.transcripts" else []

    monkeypatch.setattr(metadata, "entry_points", entry_points)


def test_an_installed_reader_is_asked_like_a_built_in_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, lambda: Weather(0.95))
    path = written(tmp_path / "a.json", CHAT)
    assert [run.report for run in read_transcript(path)] == ["sunny"]
    assert [run.report for run in read_transcript(path, "weather")] == ["sunny"]
    assert [run.report for run in read_transcript(path, "openai-chat")] == ["It is 9 C."]
    with pytest.raises(InvalidInputError, match=r"openai-chat, .*, weather"):
        read_transcript(path, "nope")


def test_the_first_of_equally_sure_readers_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, lambda: Weather(0.9))
    reader = detect(written(tmp_path / "a.json", CHAT))
    assert reader is not None
    assert reader.NAME == "openai-chat"


def test_an_unsure_reader_reads_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, lambda: Weather(0.4))
    assert detect(written(tmp_path / "a.json", b"{}")) is None


def test_an_installed_reader_that_cannot_be_loaded_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load() -> Any:
        raise ImportError("no module named sun")

    install(monkeypatch, load)
    with pytest.raises(DispatchFidelityError, match=r"'weather'.*weather:reader.*no module named sun"):
        detect(written(tmp_path / "a.json", CHAT))


def test_a_reader_that_finds_no_run_is_invalid_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = Weather(0.95)
    monkeypatch.setattr(reader, "read", lambda path: iter(()))
    install(monkeypatch, lambda: reader)
    with pytest.raises(InvalidInputError, match="no run"):
        read_transcript(written(tmp_path / "a.json", CHAT))


def test_the_registry_imports_no_reader_until_a_file_is_looked_at() -> None:
    code = (
        "import sys, dispatch_fidelity.transcripts.registry;"
        "loaded = [name for name in sys.modules if name.startswith('dispatch_fidelity.transcripts.')];"
        "assert loaded == ['dispatch_fidelity.transcripts.registry'], loaded"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_no_reader_reaches_a_writer() -> None:
    code = (
        "import sys\n"
        "from dispatch_fidelity.transcripts.registry import readers\n"
        "readers()\n"
        "writers = ('log.recorder', 'log.streams', 'evidence.sealing', 'session')\n"
        "assert not [name for name in writers if f'dispatch_fidelity.{name}' in sys.modules]\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# What a head and a file hold.


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (b"", ()),
        (b"text", ()),
        (b'{"a": 1}', ({"a": 1},)),
        (b'\xef\xbb\xbf\n {"a": 1}\n', ({"a": 1},)),
        (b'{"a": 1}\n{"b": 2}\n{"c', ({"a": 1}, {"b": 2})),
        (b'broken\n{"b": 2}\n', ()),
        (b'{"a": tru\n{"b": 2}\n', ({"b": 2},)),
        (b'{\n "a": [1, 2', ({"a": [1]},)),
        (b'{"a": [{"b": "x, ]", "c": "cut off \\', ({"a": [{"b": "x, ]"}]},)),
        (b'{"a": "\\"{[", "b": {"c": {}', ({"a": '"{[', "b": {"c": {}}},)),
        (b'{"a": "cut', ({},)),
        (b"[[[", ([[[]]],)),
        (b"[1, 2}", ([1],)),
    ],
)
def test_the_opening_of_a_file_is_what_its_head_holds_whole(head: bytes, expected: tuple[Any, ...]) -> None:
    assert opening(head) == expected


def test_a_head_that_cuts_a_character_is_read_up_to_it() -> None:
    text = json.dumps({"a": 1, "b": "é" * 50}, ensure_ascii=False).encode()
    assert opening(text[:31]) == ({"a": 1},)


@pytest.mark.parametrize("end", range(1, 200, 7))
def test_the_opening_of_a_document_cut_anywhere_is_readable(end: int) -> None:
    assert len(opening(json.dumps(CHAT, indent=1).encode()[:end])) == 1


def found(path: Path) -> list[tuple[Any, int, Damage | None]]:
    return [(value.value, value.line, value.damage) for value in values(path)]


def test_a_document_is_one_value_without_a_line(tmp_path: Path) -> None:
    for text in (b'{"a": 1}', b'\n\n{"a": 1}\n\n', b'{\n"a":\n1}\n', b'\xef\xbb\xbf{"a": 1}'):
        assert found(written(tmp_path / "a", text)) == [({"a": 1}, 0, None)]


def test_each_line_of_jsonl_is_a_value_with_its_number(tmp_path: Path) -> None:
    assert found(written(tmp_path / "a", b'\n{"a": 1}\n\n[2]\n')) == [({"a": 1}, 2, None), ([2], 4, None)]


def test_each_value_of_jsonl_tells_where_it_stands(tmp_path: Path) -> None:
    text = b'\xef\xbb\xbf{"a": 1}\n\n[2]\nbroken\n{"c": "\xc3\xa9"}'
    path = written(tmp_path / "a", text)
    for value in values(path):
        if value.damage is None:
            assert value.place is not None
            offset, length = value.place
            assert json.loads(text[offset : offset + length]) == value.value


def test_a_broken_line_of_jsonl_is_damage_wherever_it_stands(tmp_path: Path) -> None:
    for text, line in ((b'{"a": 1}\n{"b\n{"c": 1}\n', 2), (b'{"b\n{"a": 1}\n{"c": 1}\n', 1)):
        (damage,) = [damage for _, _, damage in found(written(tmp_path / "a", text)) if damage]
        assert (damage.kind, damage.line) == (DamageKind.UNREADABLE, line)


def test_a_last_line_without_its_end_that_does_not_parse_is_torn(tmp_path: Path) -> None:
    *_, (_, line, damage) = found(written(tmp_path / "a", b'{"a": 1}\n{"b": 2}\n{"c"'))
    assert damage is not None
    assert (damage.kind, line) == (DamageKind.TORN, 3)


@pytest.mark.parametrize("text", [b"", b"\n", b"[1,", b'{\n"a": [\n1,', b'{"a": "\xff"}', b"[" * 1000])
def test_a_torn_document_is_invalid_input(tmp_path: Path, text: bytes) -> None:
    with pytest.raises(InvalidInputError):
        list(values(written(tmp_path / "a", text)))


@pytest.mark.parametrize(
    "text", [b'{"a": "0123456789"}', b'[\n"0123456789",\n"0"\n]', b'[0]\n["0123456789"]\n']
)
def test_a_text_beyond_the_limit_is_invalid_input(
    tmp_path: Path, text: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "LIMITS", LIMITS._replace(document=12, line=12))
    with pytest.raises(InvalidInputError, match="12 bytes"):
        list(values(written(tmp_path / "a", text)))
