"""Whether a negation denies an act, whatever its verb: was not printed, druckt nicht, no se imprimió.

A negated fact ("does not include", "is not due") is no denied act; verbs of such facts are the ``state`` words of
the lexicon. All places have two stops after them, so that no look ahead leaves the text.
"""

from __future__ import annotations

from collections.abc import Sequence

from .words import (
    ACTED,
    BAD,
    DONE,
    FINDS,
    NEGATION,
    NEGATION_AFTER,
    STATE,
    STOP,
    TOPICAL,
    UNDOES,
)

# What may stand between a negation and the act it denies.
_BETWEEN = frozenset((
    "yet", "been", "being", "even", "ever", "actually", "fully", "be", "se", "lo", "la", "le", "les",
    "me", "nos", "te", "s'", "ete", "sido", "ha", "han", "he", "hemos", "a", "foi", "tem", "sich",
    "mehr", "noch", "auch", "es", "ihn", "mich", "aun", "todavia", "ainda", "encore", "toujours",
))  # fmt: skip
_COPULAS = frozenset((
    "is", "are", "was", "were", "am", "be", "ist", "sind", "war", "waren", "bin", "est", "sont", "etait",
    "sommes", "es", "son", "era", "eran", "esta", "estan", "estaba", "fue", "fueron", "sea", "e", "sao",
    "foram", "estava", "estao", "ser", "sei",
))  # fmt: skip
_PASSIVES = frozenset((
    "was", "were", "been", "got", "wurde", "wurden", "worden", "ete", "fue", "fueron", "sido", "foi",
    "foram",
))  # fmt: skip
_ENDINGS = (
    "ed", "ing", "iert", "ado", "ada", "ados", "adas", "ido", "ida", "idos", "idas",
)  # fmt: skip
_GERMAN_PREFIXES = ("be", "ver", "ent", "er", "zer", "ueber", "uber", "unter")
_NE = frozenset(("ne", "n'", "se"))


def denies_act(kinds: Sequence[int], forms: Sequence[str], at: int, opened: int) -> bool:
    """Whether the negation at a place denies an act of its clause, which was opened at ``opened``."""
    ahead = _past_between(forms, at + 1, 1)
    form, follows = forms[ahead], kinds[ahead]
    if follows & STATE:
        return False
    if kinds[at] & NEGATION:
        if _is_participle(form, follows):
            return True
        if kinds[at] & UNDOES and form in _COPULAS:
            after = _past_between(forms, ahead + 1, 1)
            return _is_participle(forms[after], kinds[after])
        if kinds[at] & UNDOES and not follows & ~TOPICAL and form.isalpha():
            return True
        if forms[at] in _NE and forms[ahead + 1] == "plus" and form not in _COPULAS:
            return True
        if kinds[at] & NEGATION_AFTER and _follows_verb(kinds, forms, at, opened):
            return True
    return _denies_passive(kinds, forms, at)


def ends_fact(kinds: Sequence[int], at: int) -> bool:
    """Whether the Japanese negation at a place ends the verb of a fact: 含まれません."""
    return any(kind & STATE for kind in kinds[max(0, at - 4) : at])


def _follows_verb(kinds: Sequence[int], forms: Sequence[str], at: int, opened: int) -> bool:
    """Whether a verb stands before "nicht" or "pas"."""
    before = _past_between(forms, at - 1, -1)
    form = forms[before]
    if before < opened or form in _COPULAS or kinds[before] & STATE:
        return False
    if forms[at] == "nicht":
        return len(form) > 2 and form.endswith(("t", "te", "en"))
    return form.isalpha() and forms[before - 1] in _NE


def _denies_passive(kinds: Sequence[int], forms: Sequence[str], at: int) -> bool:
    """Whether it goes on like "no refund was issued" or "nothing was charged"."""
    for near in range(at + 1, at + 6):
        if kinds[near] & STOP:
            break
        if forms[near] in _PASSIVES:
            after = _past_between(forms, near + 1, 1)
            done = kinds[after] & DONE and not kinds[after] & STATE
            return bool(done) or _is_participle(forms[after], kinds[after])
    return False


def _past_between(forms: Sequence[str], at: int, step: int) -> int:
    """The first place from ``at`` on that is no small word; four are passed at most."""
    for _ in range(4):
        if forms[at] not in _BETWEEN:
            break
        at += step
    return at


def _is_participle(form: str, kinds: int) -> bool:
    if kinds & (STATE | BAD | FINDS):
        return False
    if kinds & ACTED or (len(form) > 3 and form.endswith(_ENDINGS)):
        return True
    if not form.endswith(("t", "en")):
        return False
    middle = form.find("ge", 0, 8)  # gedruckt, eingetragen
    return (middle in (0, 2, 3, 4, 5, 6) and len(form) > middle + 4) or (
        len(form) > 6 and form.startswith(_GERMAN_PREFIXES)
    )
