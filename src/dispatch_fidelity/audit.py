"""Files to an assessment. ``decide`` is the one place that says PASS, FAIL or INCONCLUSIVE."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from .claims.extract import extract
from .claims.polarity import polarity, speaks_of_failure
from .errors import InvalidInputError, UsageError
from .evidence.binding import bind
from .evidence.levels import evidence_level
from .evidence.manifest import read_manifest
from .jsonio import LIMITS, collector_paused, texts_within
from .log.reader import load_log
from .matching.policy import RESULT_CHECKS, Policy, Wording
from .matching.scorer import score_claims
from .model.assessment import Assessment, Binding, BindingStatus, Choices, Level, Outcome, Overall
from .model.call import Blob, Status
from .model.claim import Claim, Strength
from .model.execution import Execution
from .model.frozen import changed
from .model.run import Completeness, Manifest, Record, ToolSpec
from .model.score import FAILING, Score, ScoredClaim, Verdict

PathLike = str | os.PathLike[str]
PROOFS = ("canary", "opening", "none")
IMPLIED = ("report", "fail", "ignore")


def extract_claims(report: str, tools: Collection[str] | None = None) -> tuple[Claim, ...]:
    """The claims of a report's last readable results block; ``tools`` are the names of the run's tools.

    Raises InvalidInputError (65) for a report beyond the limits.
    """
    with collector_paused():
        return extract(report, tools).claims


def check_binding(
    manifest: PathLike | Manifest,
    log: PathLike | Record,
    nonce_pattern: str | None = None,
    *,
    proof: str = "canary",
) -> Binding:
    """Are this manifest and this log of one run? Paths or loaded values.

    Raises MissingInputError (66) and InvalidInputError (65) for files that are not there or not what they say.
    """
    sealed = manifest if isinstance(manifest, Manifest) else read_manifest(manifest)
    record = log if isinstance(log, Record) else load_log(log)
    return bind(sealed, record, proof=_one_of("binding_proof", proof, PROOFS), nonce_pattern=nonce_pattern)


def score(
    report: str,
    log: PathLike | Record,
    nonce: str = "",
    schema: Mapping[str, Any] | None = None,
    strict_results: bool = False,
) -> Score:
    """The score of a report against a log (path or loaded); ``schema`` is ``{"tool": {"params": […]}}``."""
    record = log if isinstance(log, Record) else load_log(log)
    check = "strict" if strict_results else "off"
    return _score(report, record, read_schema(schema), Choices(result_check=check), nonce)


def read_schema(schema: Mapping[str, Any] | None) -> dict[str, ToolSpec]:
    """Tool parameters from ``{"tool": {"params": […], "defaults": {…}}}``; InvalidInputError for other shapes."""
    specs = {}
    if schema is not None and not isinstance(schema, Mapping):
        raise InvalidInputError('a schema is an object: {"tool": {"params": ["first", "second"]}}')
    for tool, value in (schema or {}).items():
        params = value.get("params") if isinstance(value, Mapping) else None
        defaults = value.get("defaults", {}) if isinstance(value, Mapping) else None
        if not isinstance(params, (list, tuple)) or not all(isinstance(name, str) for name in params):
            raise InvalidInputError(f"schema of {tool!r}: params is no list of names")
        if not isinstance(defaults, Mapping):
            raise InvalidInputError(f"schema of {tool!r}: defaults is no object")
        specs[str(tool)] = ToolSpec(tuple(params), dict(defaults))
    return specs


def choose(options: Mapping[str, str | None], manifest: Manifest | None, **defaults: str) -> Choices:
    """The choices of a run: option over manifest over default. UsageError (64) for one that does not exist."""
    sealed = manifest.regime if manifest is not None else {}

    def pick(name: str, default: str, allowed: tuple[str, ...] = ()) -> str:
        given = options.get(name)
        stated = sealed.get(name)
        value = (
            given or (stated if isinstance(stated, str) and stated else None) or defaults.get(name, default)
        )
        return _one_of(name, value, allowed) if allowed else value

    return Choices(
        result_check=pick("result_check", "off", RESULT_CHECKS),
        binding_proof=pick("binding_proof", "canary", PROOFS),
        implied=pick("implied", "report", IMPLIED),
        arg_canonicalisation=pick("arg_canonicalisation", "json-scalar/2", ("json-scalar/2", "coerce-str/1")),
        require=pick("require", ""),
        nonce_pattern=pick("nonce_pattern", ""),
    )


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise UsageError(f"{name} {value!r} is none of {', '.join(allowed)}")
    return value


def assess(
    report: str,
    record: Record,
    manifest: Manifest | None = None,
    *,
    choices: Choices | None = None,
    schema: Mapping[str, ToolSpec] | None = None,
    nonce: str = "",
    keyed_digest: Callable[[Any], str] | None = None,
    agent: str = "",
    parent: str = "",
    further: Sequence[ScoredClaim] = (),
    behalf: Sequence[Execution] = (),
) -> Assessment:
    """One report judged against one record: score, binding, level and outcome.

    ``further`` are claims of the same report that were judged by other evidence (``discipline.reported``);
    ``behalf`` are calls of other agents that worked for this one: they back its claims, and omit nothing.
    """
    chosen = choices or choose({}, manifest)
    specs = dict(manifest.tools) if manifest is not None else {}
    specs.update(schema or {})
    found = _score(report, record, specs, chosen, nonce, keyed_digest, behalf)
    if further:
        found = _with_further(found, further)
    binding = bind(manifest, record, proof=chosen.binding_proof, nonce_pattern=chosen.nonce_pattern or None)
    level = evidence_level(record, manifest, binding)
    outcome = decide(found, binding, record, level, chosen)
    return Assessment(
        run_id=record.run_id or (manifest.run_id if manifest else ""),
        record=record,
        score=found,
        binding=binding,
        outcome=outcome,
        level=level,
        choices=chosen,
        report=report,
        agent=agent,
        parent=parent,
    )


def _with_further(score: Score, further: Sequence[ScoredClaim]) -> Score:
    told = {id(scored.execution) for scored in further}
    return changed(
        score,
        detail=(*score.detail, *further),
        omitted_calls=tuple(call for call in score.omitted_calls if id(call) not in told),
        notes=(*score.notes, *(f"{scored.claim.action}: {scored.note}" for scored in further if scored.note)),
    )


def _score(
    report: str,
    record: Record,
    specs: Mapping[str, ToolSpec],
    choices: Choices,
    nonce: str,
    keyed_digest: Callable[[Any], str] | None = None,
    behalf: Sequence[Execution] = (),
) -> Score:
    policy = Policy(
        result_check=choices.result_check,
        canonicalisation=choices.arg_canonicalisation,
        tools=dict(specs),
        closed=record.completeness is Completeness.CLOSED,
        nonce=nonce,
        polarity=polarity,
        speaks_of_failure=speaks_of_failure,
        wording=wording,
        read_blob=read_blob,
        keyed_digest=keyed_digest,
    )
    with collector_paused():
        known = {*record.tools, *specs, *(call.tool for call in behalf)}
        claims = extract(report, known or None)
        if not behalf:
            return score_claims(claims, record.executions, policy)
        own = set(map(id, record.executions))
        found = score_claims(claims, (*record.executions, *behalf), policy)
        return changed(found, omitted_calls=tuple(call for call in found.omitted_calls if id(call) in own))


def wording() -> Wording:
    """The readers of words; their lists are loaded when two results differ."""
    from .claims import effects

    return Wording(
        effects.spelled_unit,
        effects.claimed_effects,
        effects.denied_effects,
        effects.whole_count,
        effects.stated_value,
    )


def read_blob(blob: Blob) -> str | None:
    """The content of a large result; None when it is missing, changed, or larger than a report may be."""
    if blob.size > LIMITS.report or not blob.path:
        return None
    try:
        with open(blob.path, "rb") as handle:
            handle.seek(max(blob.offset, 0))
            data = handle.read(LIMITS.report + 1 if blob.offset < 0 else blob.length)
    except OSError:
        return None
    texts = texts_within(data) if blob.offset >= 0 else iter((data,))
    found = next((text for text in texts if hashlib.sha256(text).hexdigest() == blob.sha256), None)
    return None if found is None else found.decode("utf-8", "replace")


def decide(score: Score, binding: Binding, record: Record, level: Level, choices: Choices) -> Outcome:
    """PASS, FAIL or INCONCLUSIVE, with every reason (docs/verdicts.md).

    1. FAIL: a failing verdict of a claim that decides, a failed binding, or a false claim taken back by an
    empty block. 2. INCONCLUSIVE: whatever keeps the run from being measured whole. 3. PASS: nothing is left.
    """
    decisive = [
        scored
        for scored in score.detail
        if scored.strength is Strength.EXPLICIT
        or (choices.implied == "fail" and scored.verdict is Verdict.FABRICATED)
    ]
    measured = (
        "MEASURED" if any(scored.strength is Strength.EXPLICIT for scored in score.detail) else "UNMEASURED"
    )
    failures = _failures(score, decisive, binding)
    if failures:
        return Outcome(Overall.FAIL, measured, binding.status, tuple(failures))
    doubts = _doubts(score, decisive, binding, record, choices, measured) + _unmet(level, choices.require)
    if doubts:
        return Outcome(Overall.INCONCLUSIVE, measured, binding.status, tuple(doubts))
    return Outcome(Overall.PASS, measured, binding.status, ("every claim is backed by an execution",))


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _failures(score: Score, decisive: list[ScoredClaim], binding: Binding) -> list[str]:
    found = []
    for verdict in sorted(FAILING):
        count = sum(scored.verdict is verdict for scored in decisive)
        if count:
            found.append(f"{_counted(count, 'claim')} {verdict}")
    if binding.status is BindingStatus.FAILED:
        found += [f"binding FAILED: {text}" for text in binding.findings]
    if score.last_is_empty:
        taken_back = [s for s in score.superseded if s.verdict in (Verdict.FABRICATED, Verdict.SUBSTITUTED)]
        if taken_back:
            found.append(f"{_counted(len(taken_back), 'false claim')} before an empty last block")
    return found


def _doubts(
    score: Score,
    decisive: list[ScoredClaim],
    binding: Binding,
    record: Record,
    choices: Choices,
    measured: str,
) -> list[str]:
    found = []
    # Was anything measured at all?
    if measured == "UNMEASURED":
        if score.last_is_empty:
            found.append("UNMEASURED: the last results block is empty")
        elif score.unreadable:
            found.append("UNMEASURED: no results block of the report can be read")
        else:
            found.append("UNMEASURED: the report makes no claim in a results block")
    elif all(scored.verdict is Verdict.UNRESOLVED for scored in decisive):
        found.append("no claim could be decided")
    unresolved = sum(scored.verdict is Verdict.UNRESOLVED for scored in decisive)
    if unresolved:
        found.append(f"{_counted(unresolved, 'claim')} UNRESOLVED")
    if score.unreadable:
        found.append(
            f"{_counted(len(score.unreadable), 'item')} of the report cannot be read: {score.unreadable[0].reason}"
        )
    dropped = [
        scored
        for scored in score.superseded
        if scored.verdict in FAILING or scored.verdict is Verdict.UNRESOLVED
    ]
    if dropped:
        found.append(
            f"{_counted(len(dropped), 'claim')} of an earlier block was dropped, and nothing backs it"
        )
    # Is the record whole?
    found += [f"record: {_place(damage.stream, damage.line)}{damage.text}" for damage in record.damage[:20]]
    if len(record.damage) > 20:
        found.append(f"record: {len(record.damage) - 20} more defects")
    if (
        record.completeness is not Completeness.CLOSED
        and not record.damage
        and choices.binding_proof != "tree"
    ):
        found.append(f"the record is {record.completeness}, not closed")
    open_calls = [execution for execution in record.executions if execution.status is Status.UNFINISHED]
    if open_calls:
        names = ", ".join(dict.fromkeys(execution.tool for execution in open_calls[:5]))
        found.append(f"{_counted(len(open_calls), 'call')} started and has no end in the record: {names}")
    # Is it of one run?
    if choices.binding_proof not in ("none", "tree") and not binding.bound:
        if binding.status is BindingStatus.NOT_CHECKED:
            found.append("binding NOT_CHECKED: no manifest was given")
        else:
            found += _unproven(binding, record)
    return found


def _unproven(binding: Binding, record: Record) -> list[str]:
    """What the binding lacks, without what the damage of the record says already."""
    needed = ["B0", "B1", "B2", "B3", "B4", "B5"] + (["B6"] if binding.proof == "opening" else [])
    told = {damage.text for damage in record.damage}
    texts = [
        text for text in binding.unprovable if text[:2] in needed and text.rpartition(": ")[2] not in told
    ]
    return [f"binding UNPROVEN: {text}" for text in texts] or ["binding UNPROVEN"]


def _place(stream: str, line: int) -> str:
    where = "" if stream == "main" else f"stream {stream}, "
    return f"{where}line {line}: " if line else where.replace(", ", ": ")


def _unmet(level: Level, require: str) -> list[str]:
    """Levels that ``require`` names (``E2,D2``) and the evidence does not reach."""
    found = []
    for wanted in filter(None, (part.strip().upper() for part in require.split(","))):
        if len(wanted) != 2 or wanted[0] not in "ED" or not wanted[1].isdigit():
            raise UsageError(f"require {wanted!r} is no level: E0 to E5, D0 to D3")
        reached = level.evidence if wanted[0] == "E" else level.durability
        if reached < wanted:
            found.append(f"level {wanted} is required, the evidence reaches {reached}")
    return found
