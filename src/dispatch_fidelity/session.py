"""A live run: the manifest is sealed, each call is recorded before and after it happens, the report is judged."""

from __future__ import annotations

import functools
import hashlib
import inspect
import os
import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Generator, Mapping
from datetime import datetime, timezone
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from .audit import IMPLIED, PROOFS, assess, choose
from .errors import AsyncToolError, RecordingError, RunExistsError, UsageError
from .evidence.canary import canary_tools
from .evidence.manifest import RUN_ID, read_manifest
from .evidence.sealing import new_nonce, seal_manifest
from .jsonio import encode_lenient, encode_pretty
from .log.paths import log_path
from .log.reader import load_log
from .log.recorder import LEVELS, Recorder, Started
from .log.values import UNPARSED, Redact, keyed_digest, redaction, snapshot
from .matching.policy import RESULT_CHECKS
from .model.assessment import Assessment, Binding, Outcome
from .model.frozen import changed
from .model.score import Score
from .rendering.jsondoc import assessment_document
from .rendering.plain import render_assessment
from .toolset import Tool, collect_tools, is_async, tool_name

ERROR_SURFACES = ("type-only/1", "message/1")
F = TypeVar("F", bound=Callable[..., Any])


class ErrorText(str):
    """The text that an agent sees of a failed call; adapters tell it from a result that reads like one."""

    __slots__ = ()


class AuditSession:
    """Records the calls of one run and judges its report.

    ``tools`` is a mapping from name to callable, an iterable of callables, or an object whose public methods
    are the tools. The constructor seals the manifest and opens the log, durably, before anything can run.
    Raises RunExistsError when ``run_id`` is taken, UsageError (64) for choices that do not exist, and
    RecordingError when the run folder cannot be written.
    """

    def __init__(
        self,
        tools: Any = None,
        *,
        run_dir: str | os.PathLike[str] = "audit_runs",
        run_id: str | None = None,
        task_id: str | None = None,
        system: Any = None,
        schema: Mapping[str, Any] | None = None,
        with_canary: bool = True,
        strict_results: bool = False,
        result_check: str = "off",
        durability: str | Mapping[str, str] = "process",
        error_surface: str = "type-only/1",
        redact: Collection[str] | Redact | None = None,
        on_record_failure: str = "refuse",
        binding_proof: str = "canary",
        implied: str = "report",
    ) -> None:
        if strict_results and result_check not in ("off", "strict"):
            raise UsageError(f"strict_results=True beside result_check={result_check!r}: choose one of them")
        self.run_id = _checked_run_id(run_id)
        self._folder = Path(run_dir)
        self._surface = _one_of("error_surface", error_surface, ERROR_SURFACES)
        self._on_failure = _one_of("on_record_failure", on_record_failure, ("refuse", "continue"))
        self._choices = {
            "result_check": "strict"
            if strict_results
            else _one_of("result_check", result_check, RESULT_CHECKS),
            "binding_proof": _one_of("binding_proof", binding_proof, PROOFS),
            "implied": _one_of("implied", implied, IMPLIED),
        }
        for level in [durability] if isinstance(durability, str) else durability.values():
            _one_of("durability", level, LEVELS)
        self._nonce = new_nonce()
        self._key = secrets.token_bytes(32) if redact is not None else b""
        self._hide = redaction(redact)
        self._durability = durability if isinstance(durability, str) else dict(durability)
        self._tools = collect_tools(tools, schema)
        self._offered = [*self._tools]
        self._has_canaries = with_canary
        if with_canary:
            self._add_canaries()
        self._runnable = _runnable(self._tools)
        self._assessment: Assessment | None = None
        self.log_path = log_path(self._folder, self.run_id, "main")
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self.log_path.exists():
                raise RunExistsError(self.run_id, str(self._folder))
            self.manifest_path, digest = seal_manifest(
                self._folder,
                self.run_id,
                self._nonce,
                task_id=task_id,
                system=system,
                tools={name: tool.spec for name, tool in self._tools.items()},
                regime={
                    **self._choices,
                    "arg_canonicalisation": "json-scalar/2",
                    "error_surface": self._surface,
                },
                durability=self._durability,
                keys={"redaction_sha256": hashlib.sha256(self._key).hexdigest()} if self._key else {},
                sealed_at=datetime.now(timezone.utc).isoformat(),
            )
            self._recorder = self._open_recorder(digest, attach=False)
        except OSError as problem:
            raise RecordingError(f"cannot write to {str(self._folder)!r}: {problem}") from problem

    def _add_canaries(self) -> None:
        for name, fn in canary_tools(self._nonce).items():
            if name in self._tools:
                raise UsageError(
                    f"a tool is called {name!r} like the canary: rename it, or say with_canary=False"
                )
            self._tools[name] = Tool(name, fn)

    def _open_recorder(self, digest: str, *, attach: bool) -> Recorder:
        return Recorder(
            self._folder,
            self.run_id,
            digest,
            durability=self._durability,
            on_failure=self._on_failure,
            redact=self._hide,
            redaction_key=self._key,
            opening=self._nonce,
            attach=attach,
        )

    # -- other processes ---------------------------------------------------------------------------------

    def __reduce__(self) -> tuple[Any, ...]:
        """A pickled session opens a stream of its own in the process that unpickles it."""
        state = {
            "run_id": self.run_id,
            "_folder": self._folder.absolute(),
            "_surface": self._surface,
            "_on_failure": self._on_failure,
            "_choices": self._choices,
            "_has_canaries": self._has_canaries,
            "_nonce": self._nonce,
            "_key": self._key,
            "_hide": self._hide,
            "_durability": self._durability,
            "manifest_path": self.manifest_path.absolute(),
            "log_path": self.log_path.absolute(),
        }
        tools = {name: self._tools[name].fn for name in self._offered}
        schemas = {name: self._tools[name].stated for name in self._offered}
        return _attached, (state, tools, schemas, self._recorder.manifest_digest)

    # -- what an agent sees ------------------------------------------------------------------------------

    @property
    def tool_names(self) -> tuple[str, ...]:
        """The names that an agent may call, canaries included."""
        return tuple(self._tools)

    @property
    def tools(self) -> Mapping[str, Tool]:
        """The tools by name, with their parameters and descriptions; for adapters."""
        return self._tools

    def call(
        self,
        tool: str,
        args: Mapping[str, Any] | None = None,
        *,
        agent_id: str = "agent",
        source_id: str = "",
    ) -> str:
        """Run a tool for an agent and return the text that the agent sees.

        A string result as it is, other values as JSON, a failure under the error surface. Raises
        AsyncToolError before anything is recorded when the tool is async, SessionClosedError after the end,
        RecordingError when the start cannot be recorded. KeyboardInterrupt and SystemExit are re-raised.
        """
        run = self._runnable.get(tool)
        if run is None or type(args) is not dict:
            rejected = self._unfit(tool, args, agent_id, source_id)
            if rejected is not None:
                return rejected
            args = dict(args or {})
            if run is None:
                raise AsyncToolError(tool)
        recorder = self._recorder
        ticket = recorder.start(tool, args, agent_id, source_id)
        try:
            value = run(**args)
            if type(value) is not str:
                value = _finished(value, tool)
        except Exception as problem:
            return self._failure(ticket, problem)
        except BaseException as problem:
            recorder.aborted(ticket, type(problem).__name__)
            raise
        recorder.returned(ticket, value)
        return value if type(value) is str else as_text(value)

    async def acall(
        self,
        tool: str,
        args: Mapping[str, Any] | None = None,
        *,
        agent_id: str = "agent",
        source_id: str = "",
    ) -> str:
        """As ``call``, for async and sync tools; cancellation is recorded and re-raised."""
        rejected = self._unfit(tool, args, agent_id, source_id)
        if rejected is not None:
            return rejected
        args = dict(args or {})
        recorder = self._recorder
        ticket = recorder.start(tool, args, agent_id, source_id)
        try:
            value = self._tools[tool].by_name(**args)
            if inspect.isawaitable(value):
                value = await value
            if inspect.isasyncgen(value):
                value = [item async for item in value]
            value = _finished(value, tool)
        except Exception as problem:
            return self._failure(ticket, problem)
        except BaseException as problem:
            recorder.aborted(ticket, type(problem).__name__)
            raise
        recorder.returned(ticket, value)
        return value if type(value) is str else as_text(value)

    def _unfit(self, tool: str, args: Any, agent_id: str, source_id: str) -> str | None:
        """The answer to a call that cannot run: an unknown tool, arguments that are no object; else None."""
        if tool not in self._tools:
            text = f"ERROR:unknown_tool:{tool}"
            self.reject(
                tool, args, f"unknown tool {tool!r}", shown=text, agent_id=agent_id, source_id=source_id
            )
            return ErrorText(text)
        if args is not None and not isinstance(args, Mapping):
            text = "ERROR:TypeError"
            self.reject(
                tool, args, "arguments that are no object", shown=text, agent_id=agent_id, source_id=source_id
            )
            return ErrorText(text)
        return None

    def reject(
        self,
        tool: str,
        args: Any,
        reason: str,
        *,
        kind: str = "invalid",
        shown: str | None = None,
        agent_id: str = "agent",
        source_id: str = "",
    ) -> None:
        """Record a call that was asked for and never ran; ``kind`` is ``invalid`` or ``refused``."""
        given = dict(args) if isinstance(args, Mapping) else {} if args is None else {UNPARSED: args}
        ticket = self._recorder.start(tool, given, agent_id, source_id=source_id)
        self._recorder.not_executed(ticket, kind, reason, shown)

    def _failure(self, ticket: Started, problem: Exception) -> str:
        name, message = type(problem).__name__, _message(problem)
        text = f"ERROR:{name}" if self._surface == "type-only/1" else f"ERROR:{name}: {message}"
        if isinstance(problem, TypeError) and _never_entered(problem):
            self._recorder.not_executed(ticket, "invalid", message, text)
        else:
            self._recorder.raised(ticket, name, message, text)
        return ErrorText(text)

    # -- transparent wrappers ----------------------------------------------------------------------------

    def wrap(self, target: str | Callable[..., Any], name: str | None = None) -> Callable[..., Any]:
        """A callable like the tool, with its value and its exception; every call of it is recorded.

        ``target`` is the name of a tool of this session, or a callable that becomes one under ``name``.
        """
        if isinstance(target, str):
            entry = self._tools.get(target)
            if entry is None:
                raise UsageError(f"no tool is called {target!r}; there are: {', '.join(self._tools)}")
        else:
            entry = Tool(name or tool_name(target), target)
            known = self._tools.setdefault(entry.name, entry)
            self._runnable = _runnable(self._tools)
            if known.fn is not target:
                raise UsageError(f"another tool is called {entry.name!r}: give this one a name of its own")
        wrapper = self._wrap_async(entry) if is_async(entry.fn) else self._wrap_sync(entry)
        return functools.wraps(entry.fn, updated=())(wrapper)

    def tool(self, fn: F) -> F:
        """Decorator: the function becomes a tool of this session, and every call of it is recorded."""
        return self.wrap(fn)  # type: ignore[return-value] # a wrapper is called exactly like what it wraps

    def _begin(self, entry: Tool, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Started:
        return self._recorder.start(entry.name, entry.named(args, kwargs))

    def _wrap_sync(self, entry: Tool) -> Callable[..., Any]:
        def recorded(*args: Any, **kwargs: Any) -> Any:
            ticket = self._begin(entry, args, kwargs)
            try:
                value = entry.fn(*args, **kwargs)
            except BaseException as problem:
                self._ended_by(ticket, problem)
                raise
            if inspect.isgenerator(value):
                followed = self._follow(value, ticket)
                next(followed)
                return followed
            if inspect.isawaitable(value):
                return self._await(value, ticket)
            self._recorder.returned(ticket, value)
            return value

        return recorded

    def _wrap_async(self, entry: Tool) -> Callable[..., Any]:
        if inspect.isasyncgenfunction(entry.fn):

            async def stream(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
                ticket = self._begin(entry, args, kwargs)
                items: list[Any] = []
                try:
                    generator = entry.fn(*args, **kwargs)
                    item = await generator.asend(None)
                    while True:
                        items.append(snapshot(item))
                        try:
                            sent = yield item
                        except GeneratorExit:
                            await generator.aclose()
                            raise
                        except BaseException as problem:
                            item = await generator.athrow(problem)
                        else:
                            item = await generator.asend(sent)
                except StopAsyncIteration:
                    self._recorder.returned(ticket, items)
                except GeneratorExit:
                    self._recorder.returned(ticket, items)
                    raise
                except BaseException as problem:
                    self._ended_by(ticket, problem)
                    raise

            return stream

        async def recorded(*args: Any, **kwargs: Any) -> Any:
            ticket = self._begin(entry, args, kwargs)
            return await self._await(entry.fn(*args, **kwargs), ticket)

        return recorded

    async def _await(self, value: Awaitable[Any], ticket: Started) -> Any:
        try:
            result = await value
        except BaseException as problem:
            self._ended_by(ticket, problem)
            raise
        self._recorder.returned(ticket, result)
        return result

    def _follow(self, generator: Generator[Any, Any, Any], ticket: Started) -> Generator[Any, Any, Any]:
        items: list[Any] = []
        try:
            yield None  # the wrapper begins it: also what is closed before its first item has an end
            value = yield from _Noted(generator, items)
        except GeneratorExit:
            self._recorder.returned(ticket, items)
            raise
        except BaseException as problem:
            self._ended_by(ticket, problem)
            raise
        self._recorder.returned(ticket, items)
        return value

    def _ended_by(self, ticket: Started, problem: BaseException) -> None:
        if isinstance(problem, Exception):
            self._recorder.raised(ticket, type(problem).__name__, _message(problem))
        else:
            self._recorder.aborted(ticket, type(problem).__name__)

    # -- the end -----------------------------------------------------------------------------------------

    def close(self) -> None:
        """Write the close record; later calls raise SessionClosedError. Closing twice is harmless."""
        self._recorder.close()

    def __enter__(self) -> AuditSession:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def score(self, report: str, *, agent: str | None = None, task: str | None = None) -> Score:
        """Close the run, store the report and its score, and return the score.

        ``agent`` judges the report against the calls of one agent; ``task`` is the user's request. Scoring
        again reads the closed log again and stores a further score.
        """
        self.close()
        record = load_log(self.log_path)
        if agent is not None:
            record = changed(record, executions=tuple(e for e in record.executions if e.agent == agent))
        manifest = read_manifest(self.manifest_path)
        digest = functools.partial(keyed_digest, key=self._key) if self._key else None
        self._assessment = assess(
            report, record, manifest, choices=choose({}, manifest), keyed_digest=digest, agent=agent or ""
        )
        self._store(f"{self.run_id}.report", ".txt", report.encode("utf-8", "backslashreplace"))
        document = assessment_document(self._assessment)
        if task is not None:
            document["task"] = snapshot(task)
        self._store(f"{self.run_id}.score", ".json", (encode_pretty(document) + "\n").encode("ascii"))
        return self._assessment.score

    def _store(self, stem: str, suffix: str, data: bytes) -> None:
        """Write a new file; where the name is taken, the next free number is put into it."""
        number = 1
        while True:
            path = self._folder / (f"{stem}{suffix}" if number == 1 else f"{stem}.{number}{suffix}")
            try:
                fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            except FileExistsError:
                number += 1
                continue
            with open(fd, "wb") as handle:
                handle.write(data)
            return

    def _judged(self) -> Assessment:
        if self._assessment is None:
            raise UsageError("nothing is judged yet: call score(report) first")
        return self._assessment

    @property
    def assessment(self) -> Assessment:
        """Everything that is known of the run after ``score``."""
        return self._judged()

    @property
    def outcome(self) -> Outcome:
        """PASS, FAIL or INCONCLUSIVE of the last report scored, with the reasons and the exit code."""
        return self._judged().outcome

    @property
    def binding(self) -> Binding:
        """Whether manifest and log are of one run."""
        return self._judged().binding

    @property
    def redaction_key(self) -> bytes:
        """The key of the redacted values; who holds it can check a value against the log. Keep it."""
        return self._key

    def report(self) -> str:
        """The last score as text for people."""
        return render_assessment(self._judged())


_recorders: dict[
    Path, Recorder
] = {}  # of runs that this process was handed: all copies of a session share one


def _attached(
    state: dict[str, Any], tools: dict[str, Any], schemas: dict[str, Any], digest: str
) -> AuditSession:
    session = AuditSession.__new__(AuditSession)
    session.__dict__.update(state)
    session._tools = collect_tools(tools, schemas)
    session._offered = [*session._tools]
    if session._has_canaries:
        session._add_canaries()
    session._runnable = _runnable(session._tools)
    session._assessment = None
    recorder = _recorders.get(session.log_path)
    if recorder is None or recorder.closed:
        recorder = _recorders[session.log_path] = session._open_recorder(digest, attach=True)
    session._recorder = recorder
    return session


class _Noted(Generator[Any, Any, Any]):
    """A tool's generator, passed through; what it yields is noted as it passes."""

    def __init__(self, generator: Generator[Any, Any, Any], items: list[Any]) -> None:
        self._generator = generator
        self._items = items

    def send(self, value: Any) -> Any:
        """The next item, as the generator answers."""
        return self._note(self._generator.send(value))

    def throw(self, *problem: Any) -> Any:
        """The next item, as the generator answers to an exception."""
        return self._note(self._generator.throw(*problem))

    def close(self) -> None:
        """Close the generator."""
        self._generator.close()

    def _note(self, item: Any) -> Any:
        self._items.append(snapshot(item))
        return item


def _runnable(tools: Mapping[str, Tool]) -> dict[str, Callable[..., Any]]:
    """The tools that the synchronous route can run."""
    return {name: tool.by_name for name, tool in tools.items() if not tool.is_async}


def _checked_run_id(run_id: str | None) -> str:
    if run_id is None:
        return f"run-{datetime.now(timezone.utc):%Y%m%dT%H%M%S}-{secrets.token_hex(4)}"
    if not RUN_ID.fullmatch(run_id):
        raise UsageError(
            f"run_id {run_id[:200]!r} is not usable: letters, digits, '.', '_' and '-', at most 128, the first one a "
            "letter or digit"
        )
    return run_id


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise UsageError(f"{name}={value!r} is none of {', '.join(allowed)}")
    return value


def _finished(value: Any, tool: str) -> Any:
    """A tool's value in the end: a generator as the list of its items; an awaitable cannot be finished here."""
    if inspect.isgenerator(value):
        return list(value)
    if inspect.iscoroutine(value):
        value.close()
        raise AsyncToolError(tool)
    if inspect.isawaitable(value) or inspect.isasyncgen(value):
        raise AsyncToolError(tool)
    return value


def as_text(value: Any) -> str:
    """A result as an agent sees it: a string as it is, other values as JSON."""
    plain = snapshot(value)
    return plain if isinstance(plain, str) else encode_lenient(plain).decode("ascii")


def _message(problem: BaseException) -> str:
    try:
        return str.__str__(str(problem))
    except Exception:
        return ""


def _never_entered(problem: TypeError) -> bool:
    """Whether the arguments did not fit the signature: the trace then ends at our own call."""
    trace = problem.__traceback__
    return trace is not None and trace.tb_next is None
