"""Reads what the commands are given: reports, schemas, and the options that several commands share."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from ..audit import IMPLIED, PROOFS, read_schema
from ..errors import InvalidInputError, JSONError, MissingInputError, UsageError
from ..jsonio import LIMITS, decode
from ..matching.policy import CANONICALISATIONS, RESULT_CHECKS
from ..model.run import ToolSpec


def read_bytes(path: str, limit: int, what: str) -> bytes:
    """The bytes of an input without its BOM. Raises MissingInputError (66), InvalidInputError (65) when too large."""
    try:
        with open(path, "rb") as handle:
            data = handle.read(limit + 1)
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise MissingInputError(f"cannot open the {what} {path!r}: {reason}") from problem
    if len(data) > limit:
        raise InvalidInputError(f"the {what} {path!r} is larger than {limit} bytes")
    return data[3:] if data.startswith(b"\xef\xbb\xbf") else data


def read_report(path: str) -> str:
    """The text of a report; InvalidInputError (65) when it is no UTF-8."""
    try:
        return read_bytes(path, LIMITS.report, "report").decode("utf-8")
    except UnicodeDecodeError as problem:
        raise InvalidInputError(
            f"the report {path!r} is no UTF-8 text: {problem.reason} at byte {problem.start}"
        ) from None


def read_schema_file(path: str | None) -> dict[str, ToolSpec]:
    """The tool parameters in a ``--schema`` file."""
    if path is None:
        return {}
    try:
        value: Any = decode(read_bytes(path, LIMITS.report, "schema"))
    except JSONError as problem:
        raise InvalidInputError(f"the schema {path!r} is no JSON: {problem}") from None
    if not isinstance(value, dict):
        raise InvalidInputError(
            f'the schema {path!r} is no object of the form {{"tool": {{"params": [...]}}}}'
        )
    return read_schema(value)


def add_choices(parser: ArgumentParser, *, results: str) -> None:
    """The options that choose how a run is judged; ``results`` is the default in words."""
    parser.add_argument(
        "--schema", metavar="FILE", help='tool parameters: {"tool": {"params": ["first", "second"]}}'
    )
    parser.add_argument(
        "--results",
        choices=RESULT_CHECKS,
        help=f"how results of successful calls are judged (default: {results})",
    )
    parser.add_argument(
        "--strict-results",
        action="store_true",
        help="the same as --results strict: results must be carried as logged",
    )
    parser.add_argument(
        "--binding-proof",
        choices=PROOFS,
        help="what proves that manifest and log are of one run: a canary receipt (default), the recorder's opening, "
        "or none (an unproven binding then does not forbid PASS)",
    )
    parser.add_argument(
        "--implied", choices=IMPLIED, help="what implied claims do: report (default), fail, ignore"
    )
    parser.add_argument(
        "--canonicalisation",
        choices=CANONICALISATIONS,
        help="when two arguments are equal (default: json-scalar/2)",
    )
    parser.add_argument(
        "--require", metavar="LEVELS", help="evidence levels that must be reached, such as E1,D2"
    )


def chosen_options(args: Namespace) -> dict[str, str | None]:
    """The options as ``audit.choose`` takes them; UsageError (64) for two that contradict each other."""
    if args.strict_results and args.results not in (None, "strict"):
        raise UsageError(f"--strict-results contradicts --results {args.results}")
    return {
        "result_check": "strict" if args.strict_results else args.results,
        "binding_proof": args.binding_proof,
        "implied": args.implied,
        "arg_canonicalisation": args.canonicalisation,
        "require": args.require,
        "nonce_pattern": getattr(args, "nonce_pattern", None),
    }
