"""How far the evidence carries, and the sentence that says what it does not show."""

from __future__ import annotations

from ..model.assessment import Binding, BindingStatus, Level
from ..model.run import Manifest, Record

_NOT_SHOWN = {
    "E0": (
        "Imported or unchained: whoever holds the file can change it unseen, and nothing shows that it is "
        "of the run it names."
    ),
    "E1": (
        "Recorded and chained, not signed: it stops mistakes, crashes and later edits of single records; who "
        "runs the recorder can write the whole file anew."
    ),
}
_DURABILITY = {"process": "D1", "power": "D2"}


def evidence_level(record: Record, manifest: Manifest | None, binding: Binding) -> Level:
    """E0 for imports, log 1, and logs whose binding failed; E1 for a chained log 2; the minimum over streams."""
    chained = not record.imported and bool(record.streams) and all(s.version == 2 for s in record.streams)
    level = "E1" if chained and binding.status is not BindingStatus.FAILED else "E0"
    durability = "D0" if not chained else "D1"
    if chained and manifest is not None:
        stated = manifest.durability
        if isinstance(stated, str):
            durability = _DURABILITY.get(stated, "D1")
    return Level(level, durability, record.completeness, _NOT_SHOWN[level])
