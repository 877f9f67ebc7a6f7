"""The calls of a Codex rollout: begun by items, ended by outputs and by events, joined by their ids.

An event shows more than the output does, so it decides how the call ended, whichever comes first; the output is then
what the model was shown. A process or script that goes on in the background is ended by the later call that looks
after it (``write_stdin`` by ``session_id``, ``wait`` by ``cell_id``) and shows its end.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..model.call import Learned, Status
from ..model.run import DamageKind
from .building import HELD, Call, RunBuilder, text_of
from .codex_items import Ending, Shown, told, unreadable
from .registry import Place


@dataclass(slots=True)
class Calls:
    """``at`` and ``place`` are those of the line that is read, ``step`` the group of calls that are made together.

    ``known`` has the last call of each id; ``decided`` are the numbers of calls whose end an event has shown,
    ``by_event`` of those that only events show; ``running`` are calls whose process goes on, by its id, and ``pieces``
    what it wrote.
    """

    builder: RunBuilder
    place: Place | None = None
    at: str = ""
    step: int = 0
    known: dict[str, Call] = field(default_factory=dict)
    _by_event: set[int] = field(default_factory=set)
    _decided: set[int] = field(default_factory=set)
    _running: dict[str, Call] = field(default_factory=dict)
    _pieces: dict[int, list[str]] = field(default_factory=dict)
    _had_result: bool = False
    _held: int = 0

    def begin(self, tool: Any, args: Any, source_id: Any) -> Call | None:
        """A call begins; one that an event has shown already is that call. None, and damage, when it names no tool."""
        shown = self.find(source_id)
        if shown is not None and shown.number in self._by_event and isinstance(tool, str) and tool:
            self._by_event.discard(shown.number)
            shown.tool, shown.args = tool, self.builder.arguments(args)
            return shown
        self.step += self._had_result
        self._had_result = False
        call = self.builder.call(tool, args, source_id=source_id, step=self.step, at=self.at)
        if call is not None and call.source_id:
            self.known[call.source_id] = call
        return call

    def find(self, source_id: Any) -> Call | None:
        """The last call of this id, whether it has ended or not."""
        return self.known.get(source_id) if isinstance(source_id, str) else None

    def output(self, item: dict[str, Any]) -> tuple[Call, Ending] | None:
        """An output ends the nearest earlier open call of its id: which, and how. None where it ends none."""
        source_id, output = item.get("call_id"), item.get("output")
        if item.get("name") == "exec" and not text_of(output).startswith("Script "):
            return None  # what a script says while it runs
        if source_id is None and item.get("execution") == "server":
            return None
        call = self.builder.open_call(source_id)
        self._had_result = True
        if call is None:
            self.builder.defect(
                DamageKind.LIFECYCLE, f"an output is of no open call: {str(source_id)[:80]!r}"
            )
            return None
        if "tools" in item and "output" not in item:
            found = item["tools"]
            ending = (
                Ending(result=found) if isinstance(found, list) else unreadable("found tools are no list")
            )
        else:
            ending = told(output, call.tool, call.args)
        if call.number not in self._decided:
            self.settle(call, self._polled(call, ending), raw=output)
        elif ending.damage:
            self.builder.unreadable(ending.damage)
        elif isinstance(ending.result, str) and ending.result != call.result:
            call.shown = ending.result
        return call, ending

    def _polled(self, call: Call, ending: Ending) -> Ending:
        """The end of a call that starts a process, or of one that looks after it and so may end the other."""
        looked_for = next((key for name in ("session_id", "cell_id") if (key := named(call.args, name))), "")
        origin = self._running.get(looked_for)
        if origin is None or ending.status is Status.UNKNOWN or ending.message:
            if ending.running:
                self._running[ending.running] = call
            return ending
        if isinstance(ending.result, str):
            first = [origin.result] if isinstance(origin.result, str) else []
            self._pieces.setdefault(origin.number, first).append(ending.result)
        if (
            ending.learned is not Learned.DEFAULT
            and not ending.running
            and origin.number not in self._decided
        ):
            del self._running[looked_for]
            self.settle(origin, ending._replace(result=origin.result))
        return ending._replace(status=Status.RETURNED, learned=Learned.TEXT_PATTERN, message="", running="")

    def show(self, event: dict[str, Any], shown: Shown) -> Call | None:
        """An event shows the end of a call; of no known call, it is one of its own."""
        source_id = event.get("call_id", event.get("id"))
        if event.get("source") in ("user_shell", "userShell"):
            return None  # the user's own command
        if not isinstance(source_id, str) or not source_id:
            self.builder.unreadable("the end of a call has no id that is text")
            return None
        call = self.known.get(source_id)
        if call is None:
            call = self.begin(shown.tool, shown.args, source_id)
            if call is None:
                return None
            self._by_event.add(call.number)
        elif call.number in self._decided or not shown.final:
            return call
        before = call.result
        self.settle(call, shown.ending)
        if isinstance(before, str) and before != call.result:
            call.shown = before
        if shown.final:
            self._decided.add(call.number)
        return call

    def settle(self, call: Call, ending: Ending, *, raw: Any = None) -> None:
        """The end of a call; results beyond what a run may hold are found in the file again, as ``raw``."""
        if ending.damage:
            self.builder.unreadable(ending.damage)
        result, place = ending.result, None
        if isinstance(result, str):
            self._held += len(result)
            if self._held > HELD and isinstance(raw, str):
                result, place = raw, self.place
        self.builder.end(
            call,
            result,
            status=ending.status,
            learned=ending.learned,
            message=ending.message,
            cut=ending.cut,
            until=self.at,
            place=place,
        )

    def finish(self, went_on: int) -> None:
        """The last of the calls; the first ``went_on`` were made before the session went on."""
        for call in self.builder.calls:
            if call.number in self._pieces and call.number not in self._decided:
                call.result = "\n".join(piece.removesuffix("\n") for piece in self._pieces[call.number])
        left = [call for call in self.builder.open_calls() if call.number < went_on]
        for call in left:
            self.builder.end(call, status=Status.UNKNOWN)
        if left:
            self.builder.lacks(f"{len(left)} calls have no result, and the session went on")


def named(args: Any, name: str) -> str:
    """The id that an argument gives, as text; empty where it gives none."""
    value = args.get(name) if isinstance(args, dict) else None
    return str(value) if isinstance(value, (str, int)) and not isinstance(value, bool) else ""
