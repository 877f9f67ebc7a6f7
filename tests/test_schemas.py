"""The exported schemas hold for what is really written: manifests, logs, lists of streams, and results."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dispatch_fidelity import AuditSession
from dispatch_fidelity.log.recorder import Recorder
from dispatch_fidelity.rendering.jsondoc import assessment_document, audit_document, run_document
from dispatch_fidelity.rendering.schemas import SCHEMAS, schema_text
from dispatch_fidelity.simulation.agents import HONEST, LYING, SUBSTITUTING, Script, run_script
from dispatch_fidelity.simulation.tools import TOOLS

ROOT = Path(__file__).resolve().parent.parent


def run(folder: Path, script: Script, **options: Any) -> AuditSession:
    """A scripted run, judged."""
    session = AuditSession(TOOLS, run_dir=folder, run_id=script.name, system={"model": "scripted"}, **options)
    session.score(run_script(script, session.call))
    return session


def resolved(schema: dict[str, Any], part: dict[str, Any]) -> dict[str, Any]:
    """A part of a schema, references followed."""
    while "$ref" in part:
        part = schema["$defs"][part["$ref"].rpartition("/")[2]]
    return part


def properties(name: str) -> dict[str, Any]:
    """The members that a schema names."""
    schema = json.loads(schema_text(name))
    found: dict[str, Any] = resolved(schema, schema)["properties"]
    return found


# -- the schemas themselves --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_ascii_json_of_a_stated_dialect_whose_references_lead_somewhere(name: str) -> None:
    text = schema_text(name)
    assert text.isascii()
    assert text.endswith("}\n")
    schema = json.loads(text)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert resolved(schema, schema)["type"] == "object"

    def references(part: Any) -> list[str]:
        if isinstance(part, dict):
            own = [part["$ref"]] if isinstance(part.get("$ref"), str) else []
            return own + [found for value in part.values() for found in references(value)]
        return [found for value in part for found in references(value)] if isinstance(part, list) else []

    assert {found.rpartition("/")[2] for found in references(schema)} <= schema.get("$defs", {}).keys()


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_the_same_each_time(name: str) -> None:
    assert schema_text(name) == schema_text(name)


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_lets_members_of_a_newer_format_pass(name: str) -> None:
    assert '"additionalProperties": false' not in schema_text(name)


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_exported_file_is_what_the_types_say(name: str) -> None:
    folder = ROOT / "docs" / "schemas"
    if not folder.is_dir():
        pytest.skip("docs/schemas is not generated here (tools/generate.py)")
    assert (folder / f"{name}.schema.json").read_text(encoding="utf-8") == schema_text(name)


# -- results -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("script", [HONEST, LYING, SUBSTITUTING], ids=lambda script: script.name)
def test_a_result_fits_its_schema_and_the_schema_names_every_key(tmp_path: Path, script: Script) -> None:
    document = assessment_document(run(tmp_path, script).assessment)
    typed = msgspec.convert(document, SCHEMAS["score-result"])
    assert json.loads(msgspec.json.encode(typed)) == json.loads(msgspec.json.encode(document))
    assert document.keys() == properties("score-result").keys()


def test_an_audit_fits_its_schema_and_the_schema_names_every_key(tmp_path: Path) -> None:
    runs = [run(tmp_path, script).assessment for script in (HONEST, LYING)]
    document = audit_document(
        [run_document(run) for run in runs], "FAIL", [{"source": "x", "error": "y", "exit_code": 65}]
    )
    typed = msgspec.convert(document, SCHEMAS["audit-result"])
    assert json.loads(msgspec.json.encode(typed)) == json.loads(msgspec.json.encode(document))
    assert document.keys() == properties("audit-result").keys()


def test_the_stored_score_of_a_session_fits_the_schema(tmp_path: Path) -> None:
    session = AuditSession(TOOLS, run_dir=tmp_path, run_id="r")
    session.score("No block.", task="Look it up.")
    stored = json.loads((tmp_path / "r.score.json").read_text(encoding="ascii"))
    assert stored["task"] == "Look it up."
    assert msgspec.convert(stored, SCHEMAS["score-result"]).run_id == "r"


def without(member: str) -> Callable[[dict[str, Any]], None]:
    return lambda document: document.pop(member)


def with_value(*path: str | int, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(document: Any) -> None:
        for step in path[:-1]:
            document = document[step]
        document[path[-1]] = value

    return change


BROKEN = {
    "no score": without("score"),
    "no binding": without("binding"),
    "no outcome": without("outcome"),
    "no level": without("level"),
    "no regime": without("regime"),
    "a count in words": with_value("score", "fabricated", value="none"),
    "a count that is null": with_value("score", "claimed", value=None),
    "an exit code in words": with_value("outcome", "exit_code", value="0"),
    "a span of one end": with_value("score", "detail", 0, "span", value=[1]),
    "arguments that are no object": with_value("score", "detail", 0, "args", value="{}"),
    "a binding that is neither": with_value("binding", "bound", value=None),
}


@pytest.mark.parametrize("break_it", BROKEN.values(), ids=list(BROKEN))
def test_a_broken_result_does_not_fit(tmp_path: Path, break_it: Callable[[dict[str, Any]], None]) -> None:
    document = copy.deepcopy(assessment_document(run(tmp_path, HONEST).assessment))
    break_it(document)
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(document, SCHEMAS["score-result"])


# -- what a run leaves -------------------------------------------------------------------------------------


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def test_a_manifest_fits_its_schema_and_the_schema_names_every_key(tmp_path: Path) -> None:
    document = json.loads(run(tmp_path, HONEST).manifest_path.read_bytes())
    assert msgspec.convert(document, SCHEMAS["manifest"]).run_id == "honest"
    assert document.keys() <= properties("manifest").keys()


def test_every_line_of_a_log_fits_its_schema_and_the_schema_names_every_key(tmp_path: Path) -> None:
    session = AuditSession({"big": lambda: "x" * 20_000}, run_dir=tmp_path, run_id="r", redact=["secret"])
    session.call("big", source_id="call_1")
    session.call("big", {"secret": "s"}, agent_id="helper")
    session.call("nope", {"x": float("nan")})
    session.close()
    events = lines(session.log_path) + lines(run(tmp_path, HONEST).log_path)
    for event in events:
        assert msgspec.convert(event, SCHEMAS["log-2-event"]).type == event["type"]
        assert event.keys() <= properties("log-2-event").keys()
    assert {event["type"] for event in events} == {
        "open",
        "call.started",
        "call.returned",
        "call.raised",
        "call.not_executed",
        "close",
    }


def test_a_listed_stream_fits_its_schema(tmp_path: Path) -> None:
    run(tmp_path, HONEST)
    for line in lines(tmp_path / "honest.streams.jsonl"):
        assert msgspec.convert(line, SCHEMAS["streams-line"]).stream == line["stream"]
        assert line.keys() == properties("streams-line").keys()


def test_the_stream_of_another_process_fits_as_well(tmp_path: Path) -> None:
    session = AuditSession(run_dir=tmp_path, run_id="r")
    digest = lines(session.log_path)[0]["manifest"]
    other = Recorder(tmp_path, "r", digest, attach=True)
    other.returned(other.start("look", {}), "seen")
    other.close()
    session.close()
    listed = lines(tmp_path / "r.streams.jsonl")
    streams = [msgspec.convert(line, SCHEMAS["streams-line"]) for line in listed]
    assert [(stream.stream == "main", bool(stream.pid)) for stream in streams] == [
        (True, True),
        (False, True),
    ]


def test_artifacts_of_version_1_fit_their_schemas(artifacts: Path) -> None:
    for path in artifacts.glob("v1-*.toollog.jsonl"):
        for event in lines(path):
            assert msgspec.convert(event, SCHEMAS["log-1-event"]).tool == event["tool"]
            assert event.keys() == properties("log-1-event").keys()
    for path in artifacts.glob("v1-*.manifest.json"):
        document = json.loads(path.read_bytes())
        assert msgspec.convert(document, SCHEMAS["manifest"]).run_id == document["run_id"]
