"""Could a recorded command end with 0 although a check in it failed? The words of a command, read and not run.

``runners`` says what a program does, ``shellscript`` how a script is built; here the exit statuses are followed
through it, as the shell would. Quiet in doubt: what is unknown is taken to carry its status.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from .runners import ACTS, found_by_find, read_call, script_in, unwrapped, wordset
from .shellscript import Branch, Group, Item, Part, Pipeline, Script, Simple, read_script

_CANNOT_FAIL = wordset("true : echo printf sleep date")
_MAY_RUN = wordset("source .")  # prepares, but what it reads may hold checks
_PREPARES = _MAY_RUN | wordset(
    "cd pushd popd export set unset shopt setopt unsetopt mkdir umask ulimit trap local declare readonly typeset "
    "alias shift hash"
)
# The left side of a pipe that has text to give, and no status anybody asks for.
_FEEDERS = wordset(
    "echo printf cat yes find ls git seq jq curl wget ps env printenv head tail grep egrep fgrep rg sed awk sort "
    "uniq tr cut date gh base64 openssl tar zcat gunzip diff xxd tee df du true : pip xz tac shuf"
)
# The right side of a pipe that ends with 0 whatever it reads, if no option makes it judge.
_FILTERS = wordset(
    "tail head tee less more cat sed awk gawk sort uniq wc cut tr column nl fold ts tac xcpretty xcbeautify "
    "gotestfmt ansi2txt colordiff jq pr expand rev strings fmt"
)
_JUDGING = {
    "sort": wordset("-c -C --check"),
    "jq": wordset("-e --exit-status"),
    "gotestfmt": wordset("--exit-on-failure"),
}
_JUDGES_ITSELF = re.compile(r"\bexit\b|\bq\s*[1-9]")  # an awk or sed program that sets its own status
_SEARCHES = wordset("grep egrep fgrep rg ag")
# What is shown when a check failed: it ends with 0 in its place.
_SHOWS = _CANNOT_FAIL | wordset("cat tail head ls less pwd env")
_KEEPS = wordset("tee touch")  # these leave a file that may be asked later

_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_STATUS = re.compile(r"\$\?|\$\{\?|\$status\b")
_LONGEST_QUOTE = 80
_MOST_SCRIPTS = 5
_MOST_REASONS = 50


def masks(argv: Sequence[str]) -> tuple[str, ...]:
    """The reasons why the command could end with 0 although a check in it failed; empty where nothing masks.

    1. What loses the status of a check, or makes it always good: each once, in order. 2. Else that nothing in it
    is a check. 3. Quiet in doubt: unknown programs, options and syntax are taken to carry their status.
    """
    command = _read(tuple(argv))
    return tuple(dict.fromkeys(command.reasons or command.idle))[:_MOST_REASONS]


def runner_of(argv: Sequence[str]) -> tuple[str, ...]:
    """The acts among test, build, lint, typecheck and format that the command performs; () where none is known."""
    acts = _read(tuple(argv)).acts
    return tuple(act for act in ACTS if act in acts)


# -- one command -------------------------------------------------------------------------------------------


class _Command(NamedTuple):
    """What is known of one command: its acts, how it ends, and what masks inside it."""

    status: str = "other"  # or zero, nonzero, carry: that of the command before it
    acts: frozenset[str] = frozenset()
    check: bool = False  # a failure of it matters
    neutral: bool = False  # prepares, or cannot fail
    idle: tuple[str, ...] = ()  # why it runs no check
    reasons: tuple[str, ...] = ()
    program: str = ""
    words: tuple[str, ...] = ()  # without what stands before the program


@lru_cache(maxsize=128)
def _read(argv: tuple[str, ...]) -> _Command:
    """The command, read once for all who ask of it."""
    return _command(list(argv), 0)


def _command(argv: list[str], level: int, *, text: str = "") -> _Command:
    """What is known of an argv; ``text`` is how it stands in its script, ``level`` how deep that script is."""
    program, words = unwrapped(argv)
    if not words:
        return _Command(program=program)
    given = script_in(program, words) if level < _MOST_SCRIPTS else None
    script = read_script(given.text) if given else None
    if given and script:
        found = _Reading(script, level + 1, errexit=given.errexit, pipefail=given.pipefail).command()
    elif program == "find":
        found = _finding(words, level)
    else:
        found = _plain(program, words, text or shlex.join(argv[:50]))
    return found._replace(program=program, words=tuple(words))


def _plain(program: str, words: list[str], text: str) -> _Command:
    """A program that runs no other."""
    if program in _CANNOT_FAIL:
        return _Command("zero", neutral=True, idle=(f"{_quoted(text)} runs no check",))
    if program == "false":
        return _Command("nonzero", neutral=True)
    call = read_call(program, words)
    if call.idle:
        return _Command(neutral=True, idle=(f"{_quoted(text)} runs no check ({call.idle})",))
    reasons = []
    if call.always:
        reasons.append(f"{_quoted(text)} ends with 0 whatever it finds ({call.always})")
    if call.empty:
        reasons.append(f"{_quoted(text)} ends with 0 where it finds nothing to run ({call.empty})")
    return _Command(acts=call.acts, check=call.judges, reasons=tuple(reasons))


def _finding(words: list[str], level: int) -> _Command:
    """``find``: with ``-exec … ;`` it ends with 0 whatever the commands say, with ``+`` it does not."""
    acts: frozenset[str] = frozenset()
    reasons: list[str] = []
    check = False
    for argv, closer in found_by_find(words) if level < _MOST_SCRIPTS else ():
        inner = _command(argv, level + 1)
        acts |= inner.acts
        reasons += inner.reasons
        if inner.check and closer == ";":
            reasons.append(f"find drops the exit status of {_quoted(shlex.join(argv[:50]))} (-exec … ;)")
        check = check or (inner.check and closer == "+")
    return _Command(acts=acts, check=check, reasons=tuple(reasons))


def _in_script(simple: Simple, text: str, level: int) -> _Command:
    """A simple command of a script: what the shell does by itself, or a program."""
    if not simple.words:
        certain = simple.assigned and not simple.substitutes
        return _Command("zero", neutral=True) if certain else _Command()
    name, *args = simple.words
    if name in ("exit", "return"):
        found = _Command(_exit_status(args), neutral=True)
    elif name == "wait" and not args:
        found = _Command("zero", neutral=True)
    elif name in _PREPARES:
        found = _Command(neutral=True, reasons=_trap(args, text) if name == "trap" else ())
    else:
        return _command(list(simple.words), level, text=text)
    return found._replace(program=name, words=simple.words)


def _exit_status(args: Sequence[str]) -> str:
    if not args or args[0] in ("$?", "${?}"):
        return "carry"
    return ("nonzero" if args[0].strip("0") else "zero") if args[0].isdigit() else "other"


def _trap(args: list[str], text: str) -> tuple[str, ...]:
    """The reason that a trap gives: one that ends the script with 0, at its end or at an error."""
    if len(args) < 2 or {"EXIT", "0", "ERR"}.isdisjoint(args[1:]):
        return ()
    script = read_script(args[0])
    last = _leaving(script.items) if script else None
    ends_well = last is not None and last.words[0] == "exit" and _exit_status(last.words[1:]) == "zero"
    return (f"{_quoted(text)} ends the script with 0",) if ends_well else ()


def _quoted(text: str) -> str:
    """A piece of the command for a sentence: one line, of bounded length."""
    line = " ".join(text[: 4 * _LONGEST_QUOTE].split())
    line = "".join(mark if mark.isprintable() else "?" for mark in line)
    return f"`{line[:_LONGEST_QUOTE]}…`" if len(line) > _LONGEST_QUOTE else f"`{line}`"


# -- the statuses of a script ------------------------------------------------------------------------------


class _Piece(NamedTuple):
    """A command whose status a node carries."""

    text: str
    check: bool
    feeds: bool = False


@dataclass(slots=True)
class _Carried:
    """What a node carries: by its status, or by ending the shell at once."""

    soft: list[_Piece] = field(default_factory=list)
    hard: list[_Piece] = field(default_factory=list)


def _leaving(items: Iterable[Item]) -> Simple | None:
    """The ``exit`` or ``exec`` that a list comes to for certain, and that stands for its status."""
    return next((simple for item in items if (simple := item.leaving)), None)


def _reached(items: Sequence[Item]) -> Sequence[Item]:
    """The items up to one that leaves the shell for certain."""
    end = next((place + 1 for place, item in enumerate(items) if item.leaving), len(items))
    return items[:end]


class _Reading:
    """Follows the statuses of the checks of one script to its end."""

    def __init__(self, script: Script, level: int, *, errexit: bool, pipefail: bool) -> None:
        self.script = script
        self.commands = {
            simple.start: _in_script(simple, script.text_of(simple), level) for simple in script.simples
        }
        self.errexit = errexit
        self.pipefail = pipefail
        self.reasons: list[str] = []
        self.used: set[str] = set()  # names that a command which may fail reads
        self.last_other = -1
        self.guards = self.waits = False
        for simple in script.simples:
            command = self.commands[simple.start]
            self.waits = self.waits or (command.program == "wait" and len(command.words) > 1)
            if command.status in ("nonzero", "carry") or (simple.leaves and command.status == "other"):
                self.guards = True
            if command.status == "zero" and not simple.writes and not simple.assigned:
                continue
            names = _IDENTIFIER.findall(script.text_of(simple))
            self.used.update(names[len(simple.assigned) :])
            if command.status != "zero":
                self.last_other = simple.start

    def command(self) -> _Command:
        """The script as one command."""
        if not self.script.items:
            return _Command("zero", idle=("the script runs no command",))
        acts: frozenset[str] = frozenset()
        for command in self.commands.values():
            acts |= command.acts
            self.reasons += command.reasons
        carried = self.sequence(self.script.items, counts=True, ignored=False)
        status = self.status_of_list(self.script.items)
        if status == "nonzero" and not any(
            simple.leaves and self.commands[simple.start].status != "nonzero"
            for simple in self.script.simples
        ):
            self.reasons.clear()  # it never ends with 0
        check = any(piece.check for piece in (*carried.soft, *carried.hard))
        idle = () if self.reasons else self.idle(status)
        return _Command(status, acts, check, bool(idle), idle, tuple(self.reasons))

    def idle(self, status: str) -> tuple[str, ...]:
        """Why the script runs no check: every command of it is idle, cannot fail, or prepares."""
        filters = {
            part.start
            for item in self.script.items
            for pipeline in (item.first, *(pipeline for _, pipeline in item.rest))
            for part in pipeline.parts[1:]
            if self.swallows(part)
        }
        others = [
            self.commands[simple.start]
            for simple in self.script.simples
            if simple.start not in filters and not simple.assigned
        ]
        for command in others:
            if command.program in _MAY_RUN or command.status in ("nonzero", "carry"):
                return ()
            if not command.neutral and not command.idle:
                return ()
        real = [why for command in self.commands.values() if command.status != "zero" for why in command.idle]
        if not real and status != "zero":
            return ()
        said = [why for command in others for why in command.idle]
        return tuple(real or said[-1:] or ["the script runs no check"])

    # How a node ends, if that is certain: zero, nonzero, carry (that of the command before), or other.

    def status_of_list(self, items: Sequence[Item]) -> str:
        status = "carry"
        for item in _reached(items):
            after = self.status_of_item(item)
            status = status if after == "carry" else after
        return status

    def status_of_item(self, item: Item) -> str:
        if item.background:
            return "zero"
        status = self.status_of_pipeline(item.first)
        for joint, pipeline in () if item.leaving else item.rest:
            after = self.status_of_pipeline(pipeline)
            if joint == "&&":
                certain = status == "zero" or after == "nonzero"
                status = after if certain else "nonzero" if status == "nonzero" else "other"
            elif status == "nonzero":
                status = after
            elif status != "zero":
                status = "zero" if after == "zero" else "other"
        return status

    def status_of_pipeline(self, pipeline: Pipeline) -> str:
        *left, last = pipeline.parts
        status = "zero" if left and self.swallows(last) else self.status_of_part(last)
        if self.pipefail and any(self.status_of_part(part) != "zero" for part in left):
            status = "other"
        if pipeline.bang:
            return {"zero": "nonzero", "nonzero": "zero"}.get(status, "other")
        return status

    def status_of_part(self, part: Part) -> str:
        if isinstance(part, Simple):
            return self.commands[part.start].status
        return self.status_of_list(part.items) if isinstance(part, Group) else "other"

    def searches(self, part: Part) -> bool:
        """Whether the right side of a pipe ends with 0 where it finds what it looks for."""
        return isinstance(part, Simple) and self.commands[part.start].program in _SEARCHES

    def swallows(self, part: Part) -> bool:
        """Whether the right side of a pipe ends with 0 whatever it reads."""
        if not isinstance(part, Simple):
            return False
        command = self.commands[part.start]
        if command.program in ("awk", "gawk", "sed"):
            return not any(_JUDGES_ITSELF.search(word) for word in command.words[1:])
        judging = _JUDGING.get(command.program, frozenset())
        filters = command.program in _FILTERS and judging.isdisjoint(command.words[1:])
        return filters or command.status == "zero"

    # What is lost on the way, and what a node carries.

    def quoted(self, node: Part | Pipeline | Item) -> str:
        return _quoted(self.script.text[node.start : min(node.end, node.start + 4 * _LONGEST_QUOTE)])

    def lose(self, pieces: Sequence[_Piece], how: str, *, all_of_them: bool = False) -> None:
        """Notes that the statuses of checks are lost; of unknown commands only where that is certain to matter."""
        checks = [piece for piece in pieces if piece.check]
        for piece in checks or (pieces if all_of_them else ()):
            if len(self.reasons) < _MOST_REASONS:
                self.reasons.append(f"the exit status of {_quoted(piece.text)} is lost{how}")

    def sequence(self, items: Sequence[Item], *, counts: bool, ignored: bool) -> _Carried:
        carried = _Carried()
        items = _reached(items)
        status = self.status_of_list(items)
        for place, item in enumerate(items, 1):
            is_last = place == len(items)
            inside = self.item(item, counts=counts and is_last and not item.background, ignored=ignored)
            carried.hard += inside.hard
            if item.background:
                if not self.waits:
                    self.lose(inside.soft + inside.hard, " in the background", all_of_them=counts and is_last)
            elif is_last:
                carried.soft = inside.soft
            elif not inside.soft:
                continue
            elif self.looks_back(items[place]):
                carried.hard += inside.soft
            elif status != "nonzero":
                certain = counts and status == "zero" and not self.guards and not self.errexit
                how = f": {self.quoted(items[-1])} comes after it"
                self.lose(inside.soft, how, all_of_them=certain)
        return carried

    def looks_back(self, item: Item) -> bool:
        """Whether an item begins with a look at the status of what ran before it."""
        part: Part = item.first.parts[0]
        while not isinstance(part, Simple):
            if isinstance(part, Branch) and _STATUS.search(part.head):
                return True
            first = part.items if isinstance(part, Group) else next(iter(part.conditions), ())
            if not first:
                return False
            part = first[0].first.parts[0]
        command = self.commands[part.start]
        if command.status == "carry":
            return True
        if not _STATUS.search(self.script.text, part.start, part.end):
            return False
        if part.assigned:
            return not self.used.isdisjoint(part.assigned)
        return command.status != "zero" or part.writes

    def item(self, item: Item, *, counts: bool, ignored: bool) -> _Carried:
        rest = () if item.leaving else item.rest
        carried = self.pipeline(item.first, counts=counts and not rest, ignored=ignored or bool(rest))
        if item.first.bang and counts and not rest:
            self.reasons += [
                f"`!` turns the exit status of {_quoted(piece.text)} around"
                for piece in carried.soft
                if piece.check
            ]
        soft = fatal = [] if item.first.bang else carried.soft
        for place, (joint, pipeline) in enumerate(rest, 1):
            is_last = place == len(rest)
            inside = self.pipeline(pipeline, counts=counts and is_last, ignored=ignored or not is_last)
            carried.hard += inside.hard
            if joint == "&&" and (self.jumps(pipeline, "break", "continue") or self.notes(pipeline)):
                soft = fatal = []  # the success is acted upon, or written down
            elif joint == "&&":
                soft.extend(inside.soft)
                fatal = inside.soft
            else:
                soft = fatal = self.instead(soft, pipeline, inside, carried, certain=counts and is_last)
        if self.errexit and not ignored:
            carried.hard += fatal
            soft = [] if fatal is soft else soft[: len(soft) - len(fatal)]
        return _Carried(soft, carried.hard)

    def instead(
        self, soft: list[_Piece], pipeline: Pipeline, inside: _Carried, carried: _Carried, *, certain: bool
    ) -> list[_Piece]:
        """What ``… || pipeline`` carries of what stands before it."""
        status = self.status_of_pipeline(pipeline)
        shows = not pipeline.bang and all(
            self.commands[simple.start].program in _SHOWS for simple in self.script.within(pipeline)
        )
        if status == "zero" or shows:
            if not self.notes(pipeline):
                how = f" to `|| {self.quoted(pipeline)[1:]}"
                self.lose(soft, how, all_of_them=certain and status == "zero")
            return []
        if status == "other":
            return inside.soft
        if self.leaves_shell(pipeline):
            carried.hard += soft
            return []
        return soft

    def leaves_shell(self, pipeline: Pipeline) -> bool:
        """Whether the pipeline ends the shell that it stands in."""
        part = pipeline.parts[-1]
        while isinstance(part, Group) and not part.subshell and part.items:
            if _leaving(part.items):
                return True
            part = part.items[-1].first.parts[-1]
        return isinstance(part, Simple) and part.leaves and len(pipeline.parts) == 1

    def notes(self, pipeline: Pipeline) -> bool:
        """Whether the outcome is written down for later: in a variable that is read, in a file."""
        for simple in self.script.within(pipeline):
            if not self.used.isdisjoint(simple.assigned):
                return True
            command = self.commands[simple.start]
            keeps = command.program in _KEEPS and len(command.words) > 1
            if (simple.writes or keeps) and self.last_other > pipeline.end:
                return True
        return False

    def jumps(self, node: Branch | Pipeline, *names: str) -> bool:
        """Whether one of these commands, which leave a loop or a round of it, stands in the node."""
        return any(simple.words[:1] == (name,) for simple in self.script.within(node) for name in names)

    def pipeline(self, pipeline: Pipeline, *, counts: bool, ignored: bool) -> _Carried:
        stands, ignored = counts and not pipeline.bang, ignored or pipeline.bang
        *before, last = pipeline.parts
        if not before:
            return self.part(last, counts=stands, ignored=ignored)
        left = [piece for part in before for piece in self.in_subshell(part, counts=False, ignored=ignored)]
        right = self.in_subshell(last, counts=stands, ignored=ignored)
        if self.pipefail:
            return _Carried(left + right)
        if not self.used.isdisjoint(("PIPESTATUS", "pipestatus")):
            return _Carried(right, left)
        swallows = self.swallows(last)
        if swallows or (self.searches(last) and not pipeline.bang):
            how = f" in the pipe to {self.quoted(last)} (no pipefail)"
            certain = counts and swallows and not any(piece.feeds for piece in left)
            self.lose(left, how, all_of_them=certain)
        if swallows:
            text = self.script.text_of(pipeline)
            carries = left and not any(piece.check for piece in left)
            right = [_Piece(text, check=False, feeds=True)] if carries else []
        return _Carried(right)

    def in_subshell(self, part: Part, *, counts: bool, ignored: bool) -> list[_Piece]:
        """What a part carries in a shell of its own, where options are set for itself alone."""
        state = self.errexit, self.pipefail
        carried = self.part(part, counts=counts, ignored=ignored)
        self.errexit, self.pipefail = state
        return carried.soft + carried.hard

    def part(self, part: Part, *, counts: bool, ignored: bool) -> _Carried:
        if isinstance(part, Simple):
            return self.simple(part)
        if isinstance(part, Branch):
            return self.branch(part, counts=counts, ignored=ignored)
        state = self.errexit, self.pipefail
        carried = self.sequence(part.items, counts=counts, ignored=ignored)
        if not part.subshell:
            return carried
        self.errexit, self.pipefail = state
        return _Carried(carried.soft + carried.hard)

    def simple(self, simple: Simple) -> _Carried:
        command = self.commands[simple.start]
        if command.program in ("set", "shopt", "setopt", "unsetopt"):
            self.set(command.words)
        if command.neutral or command.idle or command.status in ("zero", "nonzero"):
            return _Carried()
        text = self.script.text_of(simple)
        return _Carried([_Piece(text, command.check, command.program in _FEEDERS and not command.check)])

    def set(self, words: Sequence[str]) -> None:
        """``set -eo pipefail``, ``set +e``, ``shopt -so pipefail``, ``setopt pipefail``."""
        on = words[0] == "setopt"
        if words[0] == "shopt":
            on = any(word.startswith("-") and "s" in word for word in words[1:])
        for word in words[1:]:
            name = word.lower().replace("_", "")
            if word[:1] in ("-", "+") and words[0] == "set":
                on = word[0] == "-"
                self.errexit = on if "e" in word[1:] else self.errexit
            elif name == "pipefail":
                self.pipefail = on
            elif name == "errexit":
                self.errexit = on

    def branch(self, branch: Branch, *, counts: bool, ignored: bool) -> _Carried:
        carried = _Carried()
        before = self.errexit, self.pipefail
        asked = [self.sequence(items, counts=False, ignored=True) for items in branch.conditions]
        for items in branch.bodies:
            inside = self.sequence(items, counts=counts, ignored=ignored)
            carried.soft += inside.soft
            carried.hard += inside.hard
        self.errexit, self.pipefail = self.errexit or before[0], self.pipefail or before[1]
        if branch.kind == "if" and counts:
            self.decided(branch, asked[0])
        if (
            branch.rounds
            and not (self.errexit and not ignored)
            and not self.jumps(branch, "break", "continue", "exit", "return")
        ):
            self.lose(carried.soft, " but for the last round of the loop")
        return carried

    def decided(self, branch: Branch, asked: _Carried) -> None:
        """``if check; then …``, where the way that a failure takes ends with 0."""
        condition = branch.conditions[0]
        if len(branch.conditions) != 1 or len(condition) != 1 or condition[0].rest:
            return
        pipeline = condition[0].first
        pieces = asked.soft
        if pipeline.bang:
            pieces = self.part(pipeline.parts[-1], counts=False, ignored=True).soft
        ways = branch.bodies if pipeline.bang else branch.bodies[1:]
        way = ways[0] if ways else ()
        if not any(self.notes(each.first) for each in way) and (
            not way or self.status_of_list(way) == "zero"
        ):
            self.lose(pieces, " in an `if` whose way for a failure ends with 0")
