"""Which executions a claim could be of: by tool name, then by arguments, tier by tier.

Every look-up is a hash; the few places that compare one by one are bounded, so that the whole stays linear
for any report.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

from ..model.execution import Execution
from ..model.run import ToolSpec
from .canonical import Key, folded, is_unknown

SHAPES = 64
NAMED = 6
_SEPARATOR = re.compile(r"__|[./:]")
_NOISE = re.compile(r"[_\-\s]+")

Name = tuple[str, ...]
Place = tuple[str, Key]


def name_segments(name: str) -> Name:
    """A tool name as folded segments: ``mcp__Files__read_file`` is ``("mcp", "files", "readfile")``."""
    return tuple(
        part for part in (_NOISE.sub("", text).casefold() for text in _SEPARATOR.split(name)) if part
    )


class Names:
    """The tools of a run, found by a name as a report writes it."""

    def __init__(self, tools: Iterable[str]) -> None:
        self.exact = frozenset(tools)
        self._suffixes: dict[Name, list[str]] | None = None
        self._whole: dict[Name, list[str]] = defaultdict(list)
        self._found: dict[str, tuple[str, ...]] = {}

    def find(self, name: str) -> tuple[str, ...]:
        """The tools that a name can mean: one when it is exact, else those whose folded segments end alike.

        Where none does, those that are alike without any name space. Of very many, the first few.
        """
        if name in self.exact:
            return (name,)
        found = self._found.get(name)
        if found is None:
            found = self._found[name] = self._folded(name)
        return found

    def _folded(self, name: str) -> tuple[str, ...]:
        if self._suffixes is None:
            self._suffixes = defaultdict(list)
            for tool in sorted(self.exact):
                segments = name_segments(tool)[-8:]
                for start in range(len(segments)):
                    _add(self._suffixes[segments[start:]], tool)
                _add(self._whole[segments], tool)
        wanted = name_segments(name)[-8:]
        fits = set(self._suffixes.get(wanted, ()))
        for start in range(1, len(wanted)):
            fits.update(self._whole.get(wanted[start:], ()))
        if not fits:
            fits.update(self._suffixes.get(wanted[-1:], ()))
        return tuple(sorted(fits))


def _add(tools: list[str], tool: str) -> None:
    if len(tools) < NAMED:
        tools.append(tool)


class Candidates:
    """The executions of a run, grouped by tool and canonical arguments."""

    def __init__(
        self,
        executions: Sequence[Execution],
        specs: dict[str, ToolSpec],
        key_of: Callable[[dict[str, Any]], Key],
        keyed_digest: Callable[[Any], str] | None = None,
    ) -> None:
        self.groups: dict[Place, list[Execution]] = defaultdict(list)
        self.vague: dict[str, list[Execution]] = defaultdict(list)
        self._specs = specs
        self._key_of = key_of
        self._digest = keyed_digest
        self._by_values: dict[tuple[str, Hashable], list[Place]] = {}
        self._by_folded: dict[tuple[str, Hashable], list[Place]] = {}
        self._vague_keys: dict[int, Key] = {}
        groups = self.groups
        vague_keys = self._vague_keys
        for execution in executions:
            args = execution.args
            if type(args) is not dict:
                if (
                    args is not None
                ):  # not captured, or a text that is no JSON: any claim of the tool may be of it
                    self.vague[execution.tool].append(execution)
                    continue
                args = {}
            key = key_of(args)
            if not _NESTED.isdisjoint(map(type, args.values())) and any(is_unknown(item) for _, item in key):
                self.vague[execution.tool].append(execution)
                vague_keys[id(execution)] = key
            else:
                groups[execution.tool, key].append(execution)
        for waiting in self.vague.values():
            waiting.reverse()  # taken from the end, in log order

    def filled(self, tool: str, key: Key) -> Key:
        """A key with the declared defaults of the parameters that it leaves out."""
        spec = self._specs.get(tool)
        if spec is None or not spec.defaults:
            return key
        named = {name for name, _ in key}
        missing = {name: value for name, value in spec.defaults.items() if name not in named}
        return key | self._key_of(missing) if missing else key

    def by_roles(self, tool: str, key: Key) -> tuple[list[Place], list[Place]]:
        """The groups whose call a claim describes under other parameter names; and those it only might.

        Declared names stay. One unknown name fills the one remaining parameter. Where two or more are left,
        nothing tells which is which, and the group is returned as a possible one.
        """
        spec = self._specs.get(tool)
        fits: dict[Place, None] = {}
        possible: dict[Place, None] = {}
        for form in dict.fromkeys((key, self.filled(tool, key))):
            alike = self._by_values.get((tool, _values(form)), [])
            for place in alike[:SHAPES]:
                for logged in dict.fromkeys((self.filled(tool, place[1]), place[1])):
                    renamed = _renamed(form, logged, spec)
                    if renamed is not None:
                        (fits if renamed < 2 else possible).setdefault(place)
            if len(alike) > SHAPES:
                possible.setdefault(alike[SHAPES])
        return list(fits), list(possible)

    def by_folding(self, tool: str, key: Key) -> list[Place]:
        """The groups that differ from a claim in letter case and white space only."""
        found: dict[Place, None] = {}
        for form in (key, self.filled(tool, key)):
            for place in self._by_folded.get((tool, folded(form)), ())[: SHAPES + 1]:
                found.setdefault(place)
        return list(found)

    def look_for(self, places: Iterable[Place]) -> None:
        """Prepare the tiers behind the exact one, for claims that found no call under these places.

        Only groups that have as many arguments as one of the claims are filed, by values and, where the
        names agree too, by folded form.
        """
        self._by_values.clear()
        self._by_folded.clear()
        sizes: set[tuple[str, int]] = set()
        names: set[tuple[str, frozenset[str]]] = set()
        for tool, key in places:
            for form in dict.fromkeys((key, self.filled(tool, key))):
                sizes.add((tool, len(form)))
                names.add((tool, frozenset([name for name, _ in form])))
        if not sizes:
            return
        for place in self.groups:
            tool, key = place
            for form in (key, self.filled(tool, key)) if tool in self._specs else (key,):
                if (tool, len(form)) not in sizes:
                    continue
                _file(self._by_values, (tool, _values(form)), place)
                if (tool, frozenset([name for name, _ in form])) in names:
                    _file(self._by_folded, (tool, folded(form)), place)

    def by_vagueness(self, tool: str, key: Key, args: dict[str, Any]) -> tuple[Execution | None, bool]:
        """A free execution whose unknown arguments do not exclude the claim, and whether the key proves it."""
        waiting = self.vague.get(tool)
        if not waiting:
            return None, False
        known = dict(key)
        for place in range(len(waiting) - 1, max(-1, len(waiting) - 1 - SHAPES), -1):
            logged = self._vague_keys.get(id(waiting[place]))
            proven = False if logged is None else self._fits_vaguely(logged, known, args)
            if proven is not None:
                return waiting.pop(place), proven
        return None, False

    def _fits_vaguely(self, logged: Key, known: dict[str, Hashable], args: dict[str, Any]) -> bool | None:
        """Whether keyed digests prove that a claim is of this call; None when something excludes it."""
        proven = self._digest is not None
        if not known.keys() <= {name for name, _ in logged}:
            return None
        for name, item in logged:
            if not is_unknown(item):
                if known.get(name, _MISSING) != item:
                    return None
            elif (
                self._digest is None
                or name not in args
                or not (isinstance(item, tuple) and item[1] == "redacted")
            ):
                proven = False
            elif self._digest(args[name]) != item[2]:
                return None
        return proven


def _file(index: dict[tuple[str, Hashable], list[Place]], form: tuple[str, Hashable], place: Place) -> None:
    filed = index.setdefault(form, [])
    if not filed or filed[-1] != place:
        filed.append(place)


_MISSING = object()
_NESTED = frozenset({dict, list})


def _values(key: Hashable) -> Hashable:
    """The values of a key without their names, as a multiset."""
    assert isinstance(key, frozenset)
    return tuple(sorted([item if isinstance(item, str) else repr(_stable(item)) for _, item in key]))


def _stable(form: Hashable) -> Any:
    """A form whose ``repr`` does not depend on hash order."""
    if isinstance(form, frozenset):
        return sorted((name, repr(_stable(item))) for name, item in form)
    if isinstance(form, tuple):
        return tuple(_stable(item) for item in form)
    return form


def _renamed(claim: Key, logged: Key, spec: ToolSpec | None) -> int | None:
    """How many parameters have another name in the claim than in the call; None when it is another call."""
    told, done = dict(claim), dict(logged)
    if len(told) != len(done):
        return None
    unknown = [name for name in told if name not in done]
    if any(told[name] != done[name] for name in told if name in done):
        return None
    if spec is not None and any(name in spec.params for name in unknown):
        return None
    return len(unknown)
