"""The choices and facts under which claims are matched; everything the scorer may ask for is handed in here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import UsageError
from ..model.call import Blob
from ..model.claim import Claim, Polarity
from ..model.frozen import Frozen
from ..model.run import ToolSpec

RESULT_CHECKS = ("off", "contradicted", "strict")
CANONICALISATIONS = ("json-scalar/2", "coerce-str/1")


def _done(_claim: Claim) -> Polarity:
    return Polarity.DONE


def _never(_text: str) -> bool:
    return False


def _nothing(_blob: Blob) -> str | None:
    return None


class Policy(Frozen, frozen=True):
    """How to match.

    ``tools`` are the declared tools with their parameters; ``closed`` says whether absence from the record
    accuses; ``polarity`` reads what a claim says of its end; ``speaks_of_failure`` whether a text is about
    failures at all; ``read_blob`` gives the content of a large result; ``key`` opens redacted arguments.
    """

    result_check: str = "off"
    canonicalisation: str = "json-scalar/2"
    tools: dict[str, ToolSpec] = {}
    closed: bool = True
    nonce: str = ""
    polarity: Callable[[Claim], Polarity] = _done
    speaks_of_failure: Callable[[str], bool] = _never
    read_blob: Callable[[Blob], str | None] = _nothing
    keyed_digest: Callable[[Any], str] | None = None


def checked(policy: Policy) -> Policy:
    """The policy itself; UsageError when a choice in it does not exist."""
    if policy.result_check not in RESULT_CHECKS:
        raise UsageError(f"result_check {policy.result_check!r} is none of {', '.join(RESULT_CHECKS)}")
    if policy.canonicalisation not in CANONICALISATIONS:
        raise UsageError(
            f"canonicalisation {policy.canonicalisation!r} is none of {', '.join(CANONICALISATIONS)}"
        )
    return policy
