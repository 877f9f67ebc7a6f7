"""The choices and facts under which claims are matched; everything the scorer may ask for is handed in here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

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


def _no_word(_text: str) -> str:
    return ""


def _no_effects(_text: str) -> dict[str, str]:
    return {}


def _no_count(_text: str) -> tuple[int, str, bool] | None:
    return None


class Wording(NamedTuple):
    """What the words of a text say; a language knows it, matching asks. The defaults know no language.

    ``unit`` is the symbol of a spelled-out unit; ``effects`` are those a claim states, by group; ``denied`` the
    groups that a logged text says did not happen; ``whole`` the one count stated of the whole, with its noun and
    whether that means any record; ``value`` the value that a text states.
    """

    unit: Callable[[str], str] = _no_word
    effects: Callable[[str], dict[str, str]] = _no_effects
    denied: Callable[[str], str] = _no_word
    whole: Callable[[str], tuple[int, str, bool] | None] = _no_count
    value: Callable[[str], str] = _no_word


class Policy(Frozen, frozen=True):
    """How to match.

    ``tools`` are the declared tools with their parameters; ``closed`` says whether absence from the record
    accuses; ``polarity`` reads what a claim says of its end; ``speaks_of_failure`` whether a text is about
    failures at all; ``wording`` gives the readers of words, when two results differ; ``read_blob`` gives the
    content of a large result; ``key`` opens redacted arguments.
    """

    result_check: str = "off"
    canonicalisation: str = "json-scalar/2"
    tools: dict[str, ToolSpec] = {}
    closed: bool = True
    nonce: str = ""
    polarity: Callable[[Claim], Polarity] = _done
    speaks_of_failure: Callable[[str], bool] = _never
    wording: Callable[[], Wording] = Wording
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
