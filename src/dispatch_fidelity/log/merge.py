"""The streams of one run as one record: is it whole, and in which order do its calls stand."""

from __future__ import annotations

from ..model.execution import Execution
from ..model.run import Completeness, Damage, DamageKind, Record, Stream
from .executions import StreamReading


def merge(
    readings: list[StreamReading],
    *,
    run_id: str,
    listed: tuple[str, ...] | None,
    listing: tuple[Damage, ...],
    source: str,
) -> Record:
    """One record of all streams; the first stream's calls stand first, and order holds within a stream only."""
    readings = sorted(readings, key=lambda reading: reading.stream != "main")
    version = max((reading.version for reading in readings), default=0)
    damage: list[Damage] = list(listing)
    if not any(reading.complete_lines for reading in readings):
        torn = any(reading.damage for reading in readings)
        damage.append(Damage(DamageKind.EMPTY, "the log holds no record" if torn else "the log is empty"))
    elif version == 1 and not any(reading.executions for reading in readings):
        damage.append(Damage(DamageKind.EMPTY, "the log holds no call"))
    if version == 2:
        damage += _missing(readings, listed, unread=bool(listing))
        damage += _foreign(readings, run_id)
        damage += _replaced(readings)
    executions: list[Execution] = []
    streams: list[Stream] = []
    for reading in readings:
        if version == 2 and reading.version != 1 and reading.close is None:
            reading.defect(DamageKind.MISSING_CLOSE, f"stream {reading.stream!r} has no close record")
        executions += reading.executions
        if reading.imported is not None:
            damage += reading.imported.damage
        damage += reading.damage
        streams.append(
            Stream(
                reading.stream,
                reading.path,
                reading.version,
                reading.events,
                reading.state,
                reading.run_id,
                reading.manifest_digest,
                reading.head,
                reading.close,
                tuple(reading.damage),
            )
        )
    return Record(
        run_id=run_id,
        format=f"log/{version}" if version else "log",
        executions=tuple(executions),
        completeness=_completeness(readings, damage),
        streams=tuple(streams),
        damage=tuple(damage),
        tools=tuple(dict.fromkeys(execution.tool for execution in executions)),
        source=source,
        notes=tuple(note for reading in readings if reading.imported for note in reading.imported.notes),
        imported=any(reading.imported for reading in readings),
    )


def _completeness(readings: list[StreamReading], damage: list[Damage]) -> Completeness:
    """CLOSED without damage; an imported log is what its source was."""
    if damage:
        return Completeness.PARTIAL
    stated = [reading.imported.completeness for reading in readings if reading.imported is not None]
    return next((word for word in stated if word is not Completeness.CLOSED), Completeness.CLOSED)


def _missing(readings: list[StreamReading], listed: tuple[str, ...] | None, *, unread: bool) -> list[Damage]:
    """Streams that the list or the first stream's close record names and that are not there, or the reverse.

    A list that cannot be read whole (``unread``) accuses no stream of not being on it.
    """
    present = {reading.stream for reading in readings}
    closed = next((reading.close for reading in readings if reading.stream == "main" and reading.close), None)
    named = dict.fromkeys([*(listed or ()), *(closed.streams if closed else ()), "main"])
    found = [
        Damage(DamageKind.MISSING_STREAM, "its file is not there", name)
        for name in named
        if name not in present
    ]
    known = set(named)
    if not unread:
        found += [
            Damage(DamageKind.STRAY, "this stream is on no list", reading.stream)
            for reading in readings
            if reading.version == 2 and reading.stream not in known
        ]
    if closed is not None:
        found += [
            Damage(DamageKind.LATE_STREAM, "it was opened after the run was closed", name)
            for name in listed or ()
            if name not in closed.streams
        ]
    return found


def _replaced(readings: list[StreamReading]) -> list[Damage]:
    """Closed streams that end in another record than the first stream's close record says; a cut one is torn."""
    closed = next((reading.close for reading in readings if reading.stream == "main" and reading.close), None)
    heads = closed.heads if closed is not None else {}
    return [
        Damage(
            DamageKind.CHAIN,
            "it ends in another record than the close record of the run says",
            reading.stream,
        )
        for reading in readings
        if reading.close is not None and heads.get(reading.stream, reading.head) != reading.head
    ]


def _foreign(readings: list[StreamReading], run_id: str) -> list[Damage]:
    """Streams that are of another run or that were sealed with another manifest, and streams given twice."""
    found = []
    seen: set[str] = set()
    main = next((reading.manifest_digest for reading in readings if reading.manifest_digest), "")
    for reading in readings:
        if reading.run_id and reading.run_id != run_id:
            found.append(Damage(DamageKind.RUN, f"a stream of run {reading.run_id!r}", reading.stream))
        if reading.manifest_digest and reading.manifest_digest != main:
            found.append(Damage(DamageKind.STREAM, "a stream of another manifest", reading.stream))
        if reading.stream in seen:
            found.append(Damage(DamageKind.STREAM, "two files hold this stream", reading.stream))
        seen.add(reading.stream)
    return found
