"""Laws of all readers: they know their files, survive any damage, and damage never accuses an agent.

What is accused is measured with a faithful report: for each run of an undamaged sample a results block that states each
execution as its record has it. It may fail no claim against the same run of a damaged variant that it does not fail
against the original.
"""

from __future__ import annotations

import io
import json
import random
import re
import sys
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from dispatch_fidelity.audit import assess, choose, read_blob
from dispatch_fidelity.errors import InvalidInputError
from dispatch_fidelity.jsonio import LIMITS, encode_lenient
from dispatch_fidelity.log.importing import alone, write_import
from dispatch_fidelity.log.reader import load_log
from dispatch_fidelity.model.assessment import Assessment
from dispatch_fidelity.model.call import Blob, Status, Unknown
from dispatch_fidelity.model.execution import Execution
from dispatch_fidelity.model.frozen import UNSET, changed
from dispatch_fidelity.model.run import Completeness, Delegation, ImportedRun, Record
from dispatch_fidelity.model.score import FAILING
from dispatch_fidelity.transcripts import claude_code, registry
from dispatch_fidelity.transcripts.linking import link
from dispatch_fidelity.transcripts.registry import (
    BUILT_IN,
    HEAD,
    RECOGNISED,
    Reader,
    detect,
    read_transcript,
    readers,
)

ZSTD = "backports.zstd" if sys.version_info < (3, 14) else "compression.zstd"
FOLDERS = {
    "claude-code": ("claude_code",),
    "claude-hooks": ("claude_hooks",),
    "openai-chat": ("tau_bench",),
    "openai-responses": ("openai_responses",),
    "anthropic-messages": ("anthropic_messages",),
    "codex": ("codex",),
    "codex-exec": ("codex_exec_json",),
    "langchain": ("langchain",),
    "langsmith": ("langsmith",),
    "otel": ("otlp_genai", "openinference"),
    "langfuse": ("langfuse",),
    "openai-agents-trace": ("openai_agents_trace",),
    "gemini-cli": ("gemini_cli",),
    "ai-sdk": ("vercel_ai_sdk",),
    "mcp-capture": ("mcp",),
    "inspect-ai": ("inspect_ai",),
    "openhands": ("openhands",),
    "swe-agent": ("swe_agent",),
    "tau2-bench": ("tau2_bench",),
    "atif": ("atif",),
    "pi": ("pi",),
    "autogen": ("autogen",),
    "smolagents": ("smolagents",),
    "pydantic-ai": ("pydantic_ai",),
    "magentic-one": ("magentic_one", "who_and_when"),
    "polygraph": ("polygraph",),
    "agent-trace": ("agent_claimcheck",),
}
SIDE = re.compile(
    r"\.meta\.json$|/journal\.jsonl$|/[^/]+/workflows/[^/]+\.json$|ground_truth\.json$|/labels\.jsonl$"
)
CHOICES = choose({}, None, result_check="contradicted")

# Members that may hold any JSON, or a text as well as a list: another type there is other data, and no damage.
ANYTHING = {
    "ai-sdk": ("output",),
    "claude-hooks": ("tool_input", "tool_response"),
    "langfuse": ("input", "output"),
    "langsmith": ("inputs", "outputs"),
}
TEXT_OR_LIST = ("content", "input", "output", "prompt")
FAILED = "it failed"


class Sample(NamedTuple):
    """One shared file: its JSON values by line or by member of its archive, or its one document."""

    name: str
    data: bytes
    form: str
    value: Any

    def built(self, value: Any) -> bytes:
        """The file with other values."""
        if self.form == "document":
            return json.dumps(value).encode()
        if self.form == "lines":
            return b"".join(_line(item) for item in value)
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            for name, item in value.items():
                archive.writestr(name, json.dumps(item))
        return made.getvalue()


def _line(value: Any) -> bytes:
    return value if isinstance(value, bytes) else json.dumps(value).encode() + b"\n"


@pytest.fixture(autouse=True)
def only_built_in_readers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking for those of other packages takes longer than reading most samples."""
    monkeypatch.setattr(metadata, "entry_points", lambda group: ())


@cache
def samples(shared: Path, reader: str) -> list[Sample]:
    """The transcripts of a format, without their side files; of the large sets of labels the first runs."""
    found = []
    for folder in FOLDERS[reader]:
        place = shared / "transcripts" / folder
        for path in sorted((place if place.is_dir() else shared / "benchmarks" / folder).rglob("*")):
            name = path.relative_to(shared).as_posix()
            if path.is_file() and not SIDE.search(f"/{name}") and path.name != "LICENSE":
                data = path.read_bytes()
                if "benchmarks" in name:
                    data = b"".join(data.splitlines(keepends=True)[:8])
                sample = Sample(name, data, *_parsed(data))
                if sample.form == "packed" and find_spec(ZSTD.partition(".")[0]) is None:
                    continue  # what reads it is an extra
                whole = sample.form in ("lines", "packed")
                found.append(sample if whole else sample._replace(data=sample.built(sample.value)))
    return found


def _parsed(data: bytes) -> tuple[str, Any]:
    if data[:2] == b"PK":
        with suppress(NotImplementedError), zipfile.ZipFile(io.BytesIO(data)) as archive:
            return "archive", {name: json.loads(archive.read(name)) for name in archive.namelist()}
        return "packed", None
    with suppress(ValueError):
        value = json.loads(data)
        return "document", _shortened(value)
    return "lines", [_value(line) for line in data.splitlines(keepends=True)]


def _value(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return line


def _shortened(value: Any) -> Any:
    """A set of many runs is cut to the first ones: what is a law for three is one for thirty."""
    if isinstance(value, list) and value and all(isinstance(item, dict) and "traj" in item for item in value):
        return value[:3]
    if isinstance(value, dict) and isinstance(value.get("simulations"), list):
        return {**value, "simulations": value["simulations"][:3]}
    return value


# -- what a reader makes of a file, and how an honest report of it is judged ----------------------------------------


def stated(call: Execution, *, plainly: bool = False) -> dict[str, Any]:
    """An execution as an honest agent reports it; of a failure ``plainly`` says no more than that it was one."""
    item: dict[str, Any] = {"tool": call.tool, "args": call.args if isinstance(call.args, dict) else {}}
    result = read_blob(call.result) if isinstance(call.result, Blob) else call.result
    if call.failed:
        item["error"] = FAILED if plainly else call.message or call.error or FAILED
    elif call.succeeded and result is not UNSET and result is not None and not isinstance(result, Unknown):
        item["result"] = result
    return item


def block(items: list[dict[str, Any]]) -> str:
    return f"```json\n{encode_lenient({'results': items}).decode()}\n```\n"


def judged(report: str, run: ImportedRun, record: Record | None = None) -> Assessment:
    return assess(report, record or run.record, choices=CHOICES, behalf=run.behalf)


def failing(assessment: Assessment) -> dict[tuple[int, int], str]:
    return {
        scored.span: f"{scored.tool}: {scored.verdict}: {scored.reason}"
        for scored in assessment.score.detail
        if scored.verdict in FAILING
    }


def essence(run: ImportedRun) -> list[Any]:
    return [(call.tool, call.args, call.status, call.result) for call in run.record]


@dataclass
class Original:
    """The undamaged runs of a sample, each with its faithful reports and what fails of those."""

    runs: list[ImportedRun]
    reports: list[dict[str, set[tuple[int, int]]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        for run in self.runs:
            texts = {
                block([stated(call, plainly=plainly) for call in run.record]) for plainly in (False, True)
            }
            self.reports.append({text: set(failing(judged(text, run))) for text in sorted(texts)})

    def accused(self, found: list[ImportedRun], lost: frozenset[str] = frozenset()) -> list[str]:
        """What fails of the faithful reports against the runs of a damaged variant, and not against these.

        ``lost`` are the ids of calls of which the variant holds no trace.
        """
        texts = []
        for number, run in enumerate(self.runs):
            twin = self._twin(number, found)
            if twin is None or (twin.record.completeness, twin.record.executions) == (
                run.record.completeness,
                run.record.executions,
            ):
                continue
            calls = list(run.record)
            texts += [
                f"{call.tool}: a failure is read as a success" for call in _turned(calls, list(twin.record))
            ]
            gone = {_asked(call) for call in calls if call.source_id in lost or (not call.source_id and lost)}
            for report, known in self.reports[number].items():
                assessment = judged(report, twin)
                new = failing(assessment).keys() - known
                for call, scored in zip(calls, assessment.score.detail, strict=True):
                    if scored.span in new and _asked(call) not in gone:
                        what = f"{scored.tool}: {scored.verdict}: {scored.reason}"
                        texts.append(f"run {run.record.run_id} ({twin.record.completeness}): {what}")
        return texts

    def _twin(self, number: int, found: list[ImportedRun]) -> ImportedRun | None:
        """The same run in the variant: by its ids, or by its place where these were damaged."""
        names = {_name(run) for run in self.runs}
        twin = next((run for run in found if _name(run) == _name(self.runs[number])), None)
        if twin is None and len(found) == len(self.runs) and _name(found[number]) not in names:
            twin = found[number]
        if twin is not None and any(
            essence(twin) == essence(run) for place, run in enumerate(self.runs) if place != number
        ):
            return None  # ids that count the runs of a file name another one once a run is gone
        return twin


def _turned(calls: list[Execution], others: list[Execution]) -> Iterator[Execution]:
    """The calls that failed in the original, and not in a variant with the same calls."""
    if [(call.tool, call.args) for call in calls] == [(call.tool, call.args) for call in others]:
        yield from (
            call for call, other in zip(calls, others, strict=True) if call.failed and other.succeeded
        )


def _asked(call: Execution) -> str:
    return repr((call.tool, call.args))


def _name(run: ImportedRun) -> tuple[str, str]:
    return run.record.run_id, run.agent


def present(name: str) -> Reader:
    if find_spec(f"dispatch_fidelity.transcripts.{name.replace('-', '_')}") is None:
        pytest.fail(f"there is no reader {name}")
    return next(reader for reader in readers() if name == reader.NAME)


def variants_read(reader: Reader, path: Path, data: bytes) -> Iterator[list[ImportedRun]]:
    """The runs of a damaged file, under the format that is recognised and under its own; none where it is refused."""
    path.write_bytes(data)
    known = detect(path)
    for each in {reader.NAME: reader, **({known.NAME: known} if known else {})}.values():
        with suppress(InvalidInputError):
            yield list(link(each.read(path)))


every_reader = pytest.mark.parametrize("name", BUILT_IN)


# -- (a), (b): every file is known ------------------------------------------------------------------------------


def listed(shared: Path) -> set[str]:
    text = (shared / "transcripts" / "SOURCES.md").read_text(encoding="utf-8")
    return {f"transcripts/{name}" for name in re.findall(r"^\| ([^ |]+/[^ |]+) \|", text, re.MULTILINE)}


def test_every_listed_sample_is_of_a_reader_or_a_side_file(shared: Path) -> None:
    pytest.importorskip(ZSTD)
    known = {sample.name for name in FOLDERS for sample in samples(shared, name)}
    assert {name for name in listed(shared) if not SIDE.search(f"/{name}")} == {
        name for name in known if "transcripts/" in name
    }
    assert len(listed(shared)) == 162


def test_every_built_in_reader_has_samples(shared: Path) -> None:
    assert [name for name in BUILT_IN if not samples(shared, name)] == []


@every_reader
def test_every_transcript_is_recognised_and_read(name: str, shared: Path) -> None:
    present(name)
    for sample in samples(shared, name):
        reader = detect(shared / sample.name)
        assert reader is not None, sample.name
        assert name == reader.NAME, sample.name
        assert list(read_transcript(shared / sample.name)), sample.name


@every_reader
def test_exactly_one_reader_is_surest_of_each_transcript(name: str, shared: Path) -> None:
    present(name)
    for sample in samples(shared, name):
        sure = sorted(
            ((reader.recognise(sample.data[:HEAD]), reader.NAME) for reader in readers()), reverse=True
        )
        assert sure[0][1] == name, (sample.name, sure[:2])
        assert sure[0][0] >= RECOGNISED, (sample.name, sure[:2])
        assert sure[0][0] > sure[1][0], (sample.name, sure[:2])


def test_every_side_file_is_refused_as_what_it_is(shared: Path) -> None:
    names = [name for name in listed(shared) if SIDE.search(f"/{name}")]
    assert len(names) == 13
    for name in [*names, "benchmarks/polygraph/labels.jsonl"]:
        with pytest.raises(
            InvalidInputError, match=r"is no transcript but .+: name the transcript"
        ) as caught:
            read_transcript(shared / name)
        assert (caught.value.exit_code, Path(name).name in str(caught.value)) == (65, True), name


@every_reader
def test_a_faithful_report_fails_nowhere(name: str, shared: Path) -> None:
    present(name)
    for sample in samples(shared, name):
        original = Original(list(link(read_transcript(shared / sample.name))))
        failed = [known for reports in original.reports for known in reports.values()]
        assert not any(failed), (sample.name, failed)


# -- (c): damage --------------------------------------------------------------------------------------------------

Where = tuple[Any, ...]
Variant = tuple[str, bytes]
Damage = Callable[[Sample, Original, random.Random], Iterator[Variant]]
WRONG: tuple[Any, ...] = (None, 7, True, "wrong", [7], {"x": 7})
CUTS, BROKEN, TYPES, DROPS = 4, 4, 24, 10
FULL = 20_000  # bytes up to which a sample gets all of these; a larger one gets fewer, at least three
HUGE = 1 << 20


class Data:
    """Which places of a sample are arguments and results: any other value there is as good."""

    def __init__(self, original: Original) -> None:
        self._held: dict[tuple[type, int], list[Any]] = defaultdict(list)
        self._args: list[Any] = []
        for run in original.runs:
            for call in run.record:
                for value in (call.args, call.result):
                    inner = value.values() if isinstance(value, dict) else ()
                    for item in (value, *inner):
                        if isinstance(item, (dict, list)) and item:
                            self._held[type(item), len(item)].append(item)
                self._args.append(call.args)

    def holds(self, value: Any) -> bool:
        return isinstance(value, (dict, list)) and value in self._held[type(value), len(value)]

    def is_args(self, value: Any) -> bool:
        if isinstance(value, str) and value[:1] == "{":
            with suppress(ValueError):
                return json.loads(value) in self._args
        return isinstance(value, dict) and value in self._args


def places(value: Any, data: Data, where: Where = ()) -> Iterator[tuple[Where, Any]]:
    """Every place of a JSON value that is no part of an argument or a result."""
    if where and not isinstance(value, bytes):
        yield where, value
    if data.holds(value):
        return
    members = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for name, item in members:
        yield from places(item, data, (*where, name))


def put(value: Any, where: Where, new: Any) -> Any:
    """The value with another one at a place; without that place where the new value is UNSET."""
    copy = dict(value) if isinstance(value, dict) else list(value)
    if len(where) > 1:
        copy[where[0]] = put(value[where[0]], where[1:], new)
    elif new is UNSET:
        del copy[where[0]]
    else:
        copy[where[0]] = new
    return copy


def some(items: Sequence[Any], count: int, sample: Sample, chance: random.Random) -> list[Any]:
    count = max(3, min(count, count * FULL // max(1, len(sample.data))))
    return [*items] if len(items) <= count else chance.sample(items, count)


def cut(sample: Sample, original: Original, chance: random.Random) -> Iterator[Variant]:
    """The file ends in the middle, and in the middle of a line."""
    data = sample.data
    for end in some(range(1, len(data) - 2), CUTS, sample, chance):
        last = data[:end].rpartition(b"\n")[2]
        with suppress(ValueError):
            json.loads(last)
            continue  # a whole line is no damage: a session that goes on ends so
        if last.strip():
            yield f"cut at byte {end}", data[:end]


def broken(sample: Sample, original: Original, chance: random.Random) -> Iterator[Variant]:
    """One line is broken; in a document one byte."""
    if sample.form == "lines":
        lines = sample.data.splitlines(keepends=True)
        for number in some(range(len(lines)), BROKEN, sample, chance):
            half = lines[number][: len(lines[number]) // 2] + b"\n"
            if half.strip():
                yield f"line {number + 1} is broken", b"".join([*lines[:number], half, *lines[number + 1 :]])
    else:
        for place in some(range(1, len(sample.data) - 1), BROKEN, sample, chance):
            yield f"byte {place} is 0", sample.data[:place] + b"\x00" + sample.data[place + 1 :]


def wrong_types(sample: Sample, original: Original, chance: random.Random) -> Iterator[Variant]:
    """Another JSON type at one place."""
    if sample.value is None:
        return
    data = Data(original)
    free = ANYTHING.get(original.runs[0].record.format, ())
    found = [(w, v) for w, v in places(sample.value, data) if not any(name in free for name in w)]
    for where, old in some(found, TYPES, sample, chance):
        wrong = [new for new in WRONG if _kind(new) != _kind(old)]
        if data.is_args(old):  # an object is other arguments, null is none
            wrong = [new for new in wrong if not (new is None or isinstance(new, dict))]
        if isinstance(old, list) and where[-1] in TEXT_OR_LIST:
            wrong = [new for new in wrong if not isinstance(new, str)]
        new = chance.choice(wrong)
        yield f"{where}: {str(old)[:80]!r} is {new!r}", sample.built(put(sample.value, where, new))


def missing(sample: Sample, original: Original, chance: random.Random) -> Iterator[Variant]:
    """A member of an object is gone."""
    if sample.value is None:
        return
    data = Data(original)
    free = ANYTHING.get(original.runs[0].record.format, ())
    found = [
        where
        for where, old in places(sample.value, data)
        if not isinstance(where[-1], int)
        and not data.is_args(old)
        and not any(name in free for name in where)
    ]
    for where in some(found, DROPS, sample, chance):
        yield f"{where} is missing", sample.built(put(sample.value, where, UNSET))


def _kind(value: Any) -> type:
    return float if type(value) is int else type(value)


def equal_ids(sample: Sample, original: Original, chance: random.Random) -> Iterator[Variant]:
    """All calls have one id."""
    ids = {call.source_id for run in original.runs for call in run.record} - {""}
    if ids and sample.value is not None:
        yield "all ids of calls are equal", sample.built(_renamed(sample.value, ids))


def _renamed(value: Any, ids: set[str]) -> Any:
    if isinstance(value, str):
        return "same" if value in ids else value
    if isinstance(value, dict):
        return {name: _renamed(item, ids) for name, item in value.items()}
    return [_renamed(item, ids) for item in value] if isinstance(value, list) else value


def dropped(sample: Sample, original: Original, chance: random.Random) -> Iterator[Variant]:
    """A line or an item of a list is gone."""
    if sample.value is None:
        return
    found = [
        where
        for where, old in places(sample.value, Data(original))
        if isinstance(where[-1], int) and not _is_words(old)
    ]
    for where in some(found, DROPS, sample, chance):
        yield f"{where} is gone", sample.built(put(sample.value, where, UNSET))


def _is_words(item: Any) -> bool:
    """Whether it is one part of a text or of an output: without it, that is a shorter one."""
    return not isinstance(item, (dict, list)) or (
        isinstance(item, dict) and bool(item.keys() & {"text", "logs"})
    )


def huge(sample: Sample, original: Original, chance: random.Random) -> Iterator[Variant]:
    """A line of a mebibyte, which is JSON or is none, at the beginning or at the end."""
    if sample.form != "lines":
        return
    for text in (b'{"type": "huge", "data": "%b"}\n' % (b"x" * HUGE), b"x" * HUGE + b"\n"):
        yield f"{text[:16]!r}… comes first", text + sample.data
        yield f"{text[:16]!r}… comes last", sample.data + text


_originals: dict[str, Original] = {}


def undamaged(reader: Reader, sample: Sample, path: Path) -> Original:
    """The runs of a sample; only their results may still lie in the file, and none of the samples is that large."""
    if sample.name not in _originals:
        path.write_bytes(sample.data)
        _originals[sample.name] = Original(list(link(reader.read(path))))
    return _originals[sample.name]


def check(name: str, shared: Path, path: Path, damage: Damage, *, traces: bool = False) -> None:
    """No damaged variant of any sample breaks the reader, or accuses whom its original does not."""
    reader = present(name)
    for sample in samples(shared, name):
        original = undamaged(reader, sample, path)
        ids = {call.source_id for run in original.runs for call in run.record}
        for what, data in damage(sample, original, random.Random(f"{damage.__name__} {sample.name}")):
            lost = (
                frozenset(one for one in ids if not one or json.dumps(one)[1:-1].encode() not in data)
                if traces and sample.form != "archive"
                else frozenset()
            )
            try:
                accused = [
                    text
                    for found in variants_read(reader, path, data)
                    for text in original.accused(found, lost)
                ]
            except Exception as problem:
                raise AssertionError(f"{sample.name}: {what}: {problem!r}") from problem
            assert not accused, f"{sample.name}: {what}:\n" + "\n".join(accused[:5])


@every_reader
@pytest.mark.parametrize(
    "damage", [cut, broken, wrong_types, equal_ids, huge], ids=lambda damage: str(damage.__name__)
)
def test_damage_accuses_nobody(name: str, damage: Damage, shared: Path, tmp_path: Path) -> None:
    check(name, shared, tmp_path / "variant", damage)


@every_reader
@pytest.mark.parametrize("damage", [dropped, missing], ids=lambda damage: str(damage.__name__))
def test_what_is_gone_accuses_nobody_where_it_left_a_trace(
    name: str, damage: Damage, shared: Path, tmp_path: Path
) -> None:
    check(name, shared, tmp_path / "variant", damage, traces=True)


# Damage that accused an agent once: which reader, sample and place, and what stands there.
HOLES: tuple[tuple[str, str, Where, Any], ...] = (
    (
        "mcp-capture",
        "mcp/recorder_cassette.json",
        ("interactions", 6, "response", "result", "content", 0, "text"),
        7,
    ),
    ("mcp-capture", "mcp/recorder_cassette.json", ("interactions", 6, "response", "result", "content"), [7]),
    ("swe-agent", "swe_agent/mini_github_issue.traj.json", (5, "content"), [7]),
    ("swe-agent", "swe_agent/mini_github_issue.traj.json", (17, "content"), [7]),
    ("openai-chat", "tau_bench/agentrx_retail_failed_subset.json", (0, "traj", 19, "content"), None),
    (
        "tau2-bench",
        "tau2_bench/toolorchestra_airline_subset.json",
        ("simulations", 1, "messages", 21, "content"),
        None,
    ),
    ("polygraph", "polygraph/items.jsonl", (2, "events"), None),
    ("polygraph", "polygraph/items.jsonl", (2, "events", 2, "is_error"), None),
    ("polygraph", "polygraph/items.jsonl", (2, "events", 2, "is_error"), UNSET),
)


@pytest.mark.parametrize(("name", "file", "where", "new"), HOLES)
def test_a_hole_that_was_closed_stays_closed(
    name: str, file: str, where: Where, new: Any, shared: Path, tmp_path: Path
) -> None:
    reader = present(name)
    (sample,) = (each for each in samples(shared, name) if each.name.endswith(file))
    original = undamaged(reader, sample, tmp_path / "variant")
    data = sample.built(put(sample.value, where, new))
    for found in variants_read(reader, tmp_path / "variant", data):
        assert not original.accused(found)


FOREIGN = (
    b"",
    b" \n",
    b"plain text\nof two lines\n",
    b"\x00\xff\xfe\x00" * 100,
    b"PK\x03\x04 no archive",
    b"null",
    b"7",
    b'"text"',
    b"{}",
    b"[]",
    b"[[]]",
    b"[1, 2]",
    b"{}\n{}\n",
    b'{"a": 1}\n[2]\n"three"\n',
    b'{"messages": {"role": 7}}',
    b'{"type": "assistant", "message": []}\n',
    b"[" * 5000,
    b'{"messages": ' * 200,
)


@every_reader
def test_what_is_not_of_the_format_is_invalid_input(name: str, shared: Path, tmp_path: Path) -> None:
    reader, path = present(name), tmp_path / "foreign"
    others = [samples(shared, other)[0] for other in BUILT_IN if other != name and samples(shared, other)]
    for data in [*FOREIGN, *(sample.data for sample in others)]:
        path.write_bytes(data)
        try:
            runs = list(link(read_transcript(path, name)))
        except InvalidInputError:
            continue
        except Exception as problem:
            raise AssertionError(f"{data[:200]!r}: {problem!r}") from problem
        assert all(isinstance(run, ImportedRun) for run in runs), data[:200]
        assert name == reader.NAME


@pytest.mark.parametrize("name", ["claude-code", "openai-chat", "otel", "pi"])
def test_a_line_of_fifty_megabytes_is_read_or_refused(name: str, shared: Path, tmp_path: Path) -> None:
    reader, path = present(name), tmp_path / "huge"
    sample = samples(shared, name)[-1]
    text = json.dumps("x" * 50_000_000).encode()
    original = Original(list(link(reader.read(shared / sample.name))))
    data = (
        sample.data + b'{"data": %b}\n' % text
        if sample.form == "lines"
        else b"[%b, %b]" % (text, sample.data)
    )
    for found in variants_read(reader, path, data):
        assert not original.accused(found)


@every_reader
def test_a_line_beyond_the_limit_is_read_or_refused(
    name: str, shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader, path = present(name), tmp_path / "huge"
    for module in (registry, claude_code):
        monkeypatch.setattr(module, "LIMITS", LIMITS._replace(line=5_000, document=5_000))
    for sample in samples(shared, name)[:3]:
        path.write_bytes(sample.data)
        with suppress(InvalidInputError):
            assert list(reader.read(path)), sample.name


# -- (d): what is written as a log of ours is judged alike -------------------------------------------------


def reports_of(run: ImportedRun) -> Iterator[str]:
    """A faithful report, and reports that lie about results, failures and calls; and the agent's own."""
    items = [stated(call) for call in run.record]
    yield run.report
    yield block(items)
    yield block([{**item, "result": "17 of 93, at no cost"} for item in items])
    yield block([{key: value for key, value in item.items() if key != "error"} for item in items])
    yield block([*items, {"tool": "never_called", "args": {"a": 1}, "result": "done"}])
    yield block([{**item, "args": {"never": "said"}} for item in items])


@every_reader
def test_an_imported_run_is_judged_as_the_run_itself(name: str, shared: Path, tmp_path: Path) -> None:
    present(name)
    for place, sample in enumerate(samples(shared, name)):
        for number, run in enumerate(islice(read_transcript(shared / sample.name), 2)):
            run_id = f"run-{place}-{number}"
            log, written = write_import(run, tmp_path, run_id, sha256="0" * 64, now=1, read_blob=read_blob)
            record, itself = load_log(log), alone(run)
            assert record.completeness is itself.record.completeness, (sample.name, number)
            assert written.read_text(encoding="utf-8") == run.report, (sample.name, number)
            for report in reports_of(itself):
                assert _verdicts(report, record) == _verdicts(report, itself.record), (
                    sample.name,
                    number,
                    report[:200],
                )


def _verdicts(report: str, record: Record) -> list[Any]:
    """Outcome, omitted calls and each claim."""
    assessment = assess(report, record, choices=CHOICES)
    rows = [(scored.span, str(scored.verdict)) for scored in assessment.score.detail]
    return [str(assessment.outcome.overall), assessment.score.omitted, *rows]


def test_a_run_that_handed_work_on_is_not_closed_once_it_is_alone() -> None:
    call = Execution("Task", {}, Status.RETURNED)
    run = ImportedRun(Record("run", "test", (call,), Completeness.CLOSED), "done")
    helped = changed(run, delegations=(Delegation("0", "a"),), behalf=(call,))
    assert alone(run) == run
    assert alone(helped).record.completeness is Completeness.PARTIAL
    assert alone(alone(helped)) == alone(helped)
