"""Weighs the clauses of a text against each other: the last with a polarity decides, but not every good one."""

from __future__ import annotations

from .words import (
    ACT,
    AFTER,
    AGAIN,
    AT_FIRST,
    CONTRAST,
    DESPITE,
    DONE,
    FAILURE,
    HEDGE,
    SEQUENCE,
    SUCCESS,
)

LINKS = CONTRAST | SEQUENCE
NEVER = -99


class Clauses:
    """What the clauses of a text said so far, and what the open one says."""

    def __init__(self) -> None:
        self.failed = self.spoke = self.decided = False
        self.passing = self.loose = self.tally = self.numbers = False
        self.open(0, 0)

    def open(self, at: int, link: int) -> None:
        """Begins a clause at a place; ``link`` has the kinds of the word that opens it."""
        self.opened = at
        self.link = link
        self.marks = self.bad = self.good = self.negation = self.polar = 0
        self.bad_at = self.good_at = self.negation_at = self.number_at = self.able_at = NEVER
        self.carry = self.finds_at = self.polar_at = NEVER
        self.unable = self.counted_bad = self.counted_good = self.numbered = False
        self.repaired = self.zero = self.undone = False

    def close(self) -> None:
        """Weighs the clause that ends here against what was said before."""
        bad = self.bad or (FAILURE if self.unable or (self.undone and not self.good) else 0)
        if bad and self._takes_back(bad):
            bad, self.good = 0, SUCCESS
        if bad:
            self._close_bad()
        elif self.good and not self.marks & HEDGE:
            tied = self.link & LINKS or self.marks & AGAIN or self.passing or self.loose
            if self.good & SUCCESS:
                overrides = tied or not (self.tally and self.counted_good)
            elif self.good & DONE:
                overrides = bool(tied)
            else:
                overrides = bool(self.link & SEQUENCE or self.marks & AGAIN or self.passing or self.loose)
            if overrides:
                self.failed = False
            self.decided = True
        elif self.failed and self.passing and not self.marks & HEDGE:
            self.loose = self.loose or bool(self.marks & AGAIN)
            if self.numbered and (self.loose or self.link & LINKS):
                self.failed = False
        self.numbers = self.numbers or self.numbered

    def _takes_back(self, bad: int) -> bool:
        """Whether the clause tells of a failure only as of something that was overcome."""
        if self.repaired and not self.unable:
            return True
        passing, looks_back = bool(self.marks & AT_FIRST), bool(self.link & AFTER)
        if self.good & SUCCESS and bad == ACT:
            return True
        if self.good_at < self.bad_at:
            return False
        if self.good & SUCCESS and (passing or looks_back):
            return True
        return bool(self.link & DESPITE) or (passing and looks_back)

    def _close_bad(self) -> None:
        self.spoke = True
        if self.link & (AFTER | DESPITE):
            if not self.decided and not (self.link & DESPITE and self.numbers):
                self.failed = self.passing = self.loose = True
            return
        self.failed = self.decided = True
        self.passing, self.loose = bool(self.marks & AT_FIRST), False
        self.tally = self.counted_bad and not self.marks & (AT_FIRST | AGAIN)

    def kept_link(self, at: int) -> int:
        """What the word that opened the clause still says of the next: "but, as it is, it worked"."""
        polar = self.bad or self.good or self.unable or self.undone
        return self.link & LINKS if not polar and at - self.opened <= 3 else 0
