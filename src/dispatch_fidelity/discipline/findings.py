"""What ``verify`` finds: each finding led by its area and its kind."""

from __future__ import annotations

from ..model.frozen import Frozen, Word


class Area(Word):
    """Which of the three checks found it."""

    BINDING = "BINDING"
    ANCHOR = "ANCHOR"
    WAIVER = "WAIVER"


class Finding(Frozen, frozen=True):
    """One reason why the tree is not verified.

    ``kind`` is one upper-case word (STALE, UNDECLARED, …), ``subject`` the label, anchor or path it is about,
    ``text`` what was found and what to do.
    """

    area: Area
    kind: str
    subject: str
    text: str
