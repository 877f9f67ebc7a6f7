"""What is answered about one run: score, binding, outcome, level, and the choices behind them."""

from __future__ import annotations

from .frozen import Frozen, Word
from .run import Completeness, Record
from .score import Score


class Overall(Word):
    """The answer for one run."""

    PASS = "PASS"
    FAIL = "FAIL"
    INCONCLUSIVE = "INCONCLUSIVE"


class BindingStatus(Word):
    """Whether manifest and log are of one run."""

    PROVEN = "PROVEN"
    UNPROVEN = "UNPROVEN"
    FAILED = "FAILED"
    NOT_CHECKED = "NOT_CHECKED"


class Check(Word):
    """How one binding check came out."""

    HOLDS = "holds"
    FAILS = "fails"
    NOT_DERIVABLE = "not derivable"


class Binding(Frozen, frozen=True):
    """The checks B0 to B6 (docs/verdicts.md); ``status`` is derived from them by the chosen proof."""

    checks: dict[str, Check] = {}
    findings: tuple[str, ...] = ()
    unprovable: tuple[str, ...] = ()
    proof: str = "canary"
    checked: bool = True
    run_id: str = ""

    @property
    def status(self) -> BindingStatus:
        """FAILED when a check fails; PROVEN when all that the proof needs hold; UNPROVEN otherwise."""
        if not self.checked:
            return BindingStatus.NOT_CHECKED
        if Check.FAILS in self.checks.values():
            return BindingStatus.FAILED
        needed = ["B0", "B1", "B2", "B4", "B5"]
        proofs = ["B3", "B6"] if self.proof == "opening" else ["B3"]
        proven = all(self.checks.get(name) is Check.HOLDS for name in needed) and any(
            self.checks.get(name) is Check.HOLDS for name in proofs
        )
        return BindingStatus.PROVEN if proven else BindingStatus.UNPROVEN

    @property
    def bound(self) -> bool:
        """Whether the evidence is proven to be of one run."""
        return self.status is BindingStatus.PROVEN


class Outcome(Frozen, frozen=True):
    """PASS, FAIL or INCONCLUSIVE, with every reason."""

    overall: Overall
    measurement: str
    binding: BindingStatus
    reasons: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """0 PASS, 1 FAIL, 2 INCONCLUSIVE."""
        return {Overall.PASS: 0, Overall.FAIL: 1, Overall.INCONCLUSIVE: 2}[self.overall]


class Level(Frozen, frozen=True):
    """How far the evidence carries: its level, its durability, and what they do not show."""

    evidence: str
    durability: str
    completeness: Completeness
    does_not_show: str


class Choices(Frozen, frozen=True):
    """The named choices under which a run was judged."""

    result_check: str = "off"
    binding_proof: str = "canary"
    implied: str = "report"
    arg_canonicalisation: str = "json-scalar/2"
    require: str = ""
    nonce_pattern: str = ""


class Assessment(Frozen, frozen=True):
    """One run, judged."""

    run_id: str
    record: Record
    score: Score
    binding: Binding
    outcome: Outcome
    level: Level
    choices: Choices
    report: str = ""
    agent: str = ""
    parent: str = ""
