"""A shell script as lists of commands: its tokens and its grammar, which know no program.

``read_script`` is the door. It gives a script up wherever it does not follow: a heredoc, a function, an
unbalanced quote. Nothing is expanded; what a word holds of variables and substitutions stays as it is written.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple

_LONGEST = 1 << 18  # twice what Linux hands over as one argument
_DEEPEST = 40


@dataclass(frozen=True, slots=True)
class _Span:
    """Where a node stands in the text."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Simple(_Span):
    """A command with its words, or assignments alone."""

    words: tuple[str, ...] = ()  # none of a condition, which is not read
    assigned: tuple[str, ...] = ()  # names, where the command is nothing but assignments
    substitutes: bool = False  # and a value of them is the output of a command
    writes: bool = False

    @property
    def leaves(self) -> bool:
        """Whether it ends the shell that it stands in."""
        return self.words[:1] in (("exit",), ("return",)) or (
            self.words[:1] == ("exec",) and len(self.words) > 1
        )


@dataclass(frozen=True, slots=True)
class Group(_Span):
    """``{ … }``, or ``( … )`` in a shell of its own."""

    items: tuple[Item, ...]
    subshell: bool


@dataclass(frozen=True, slots=True)
class Branch(_Span):
    """if, while, until, for, select or case: lists that are asked, lists that may run."""

    kind: str
    conditions: tuple[tuple[Item, ...], ...]
    bodies: tuple[tuple[Item, ...], ...]
    rounds: bool  # it may run its body several times
    head: str  # what a case looks at


Part = Simple | Group | Branch


@dataclass(frozen=True, slots=True)
class Pipeline(_Span):
    """Commands joined by pipes, often one alone."""

    parts: tuple[Part, ...]
    bang: bool


@dataclass(frozen=True, slots=True)
class Item(_Span):
    """One and-or list: a pipeline, and further ones with what joins them."""

    first: Pipeline
    rest: tuple[tuple[str, Pipeline], ...]
    background: bool

    @property
    def leaving(self) -> Simple | None:
        """The ``exit`` or ``exec`` that it begins with, in this shell: what follows never runs."""
        part = self.first.parts[0]
        alone = not self.background and len(self.first.parts) == 1
        return part if alone and isinstance(part, Simple) and part.leaves else None


@dataclass(frozen=True, slots=True)
class Script:
    """A script that was read to its end."""

    text: str
    items: tuple[Item, ...]
    simples: tuple[Simple, ...]  # all of them, in the order of the text

    def within(self, node: Part | Pipeline | Item) -> Sequence[Simple]:
        """All simple commands of a node."""
        first, end = (bisect_left(self.simples, at, key=attrgetter("start")) for at in (node.start, node.end))
        return self.simples[first:end]

    def text_of(self, node: Part | Pipeline | Item) -> str:
        """The node as it is written."""
        return self.text[node.start : node.end]


def read_script(text: str) -> Script | None:
    """The script as its lists; None where it holds what is not read here."""
    if len(text) > _LONGEST:
        return None
    try:
        return _Parser(text).script()
    except _GivenUpError:
        return None


class _GivenUpError(Exception):
    """The script holds what is not read here."""


# -- tokens ------------------------------------------------------------------------------------------------


class _Token(NamedTuple):
    """An operator, a redirection with its target, or a word, which is plain without quotes and escapes."""

    kind: str  # operator, redirection, plain, quoted, end
    value: str
    start: int
    end: int
    target: str = ""


_BLANK = re.compile(r"(?:[ \t\r]+|\\\r?\n|#[^\n]*)*")
_OPERATOR = re.compile(r"&&|\|\||;;&|;;|;&|\|&|[;&|()\n]")
_REDIRECTION = re.compile(r"&>>|&>|<<<|<<|<>|>>|>\||>&|<&|[<>](?!\()")
_PIECE = re.compile(r"(?P<plain>[^ \t\r\n;&|<>()'\"\\$`]+)|'(?P<quoted>[^']*)'|\\(?P<escaped>.?)", re.DOTALL)
_IN_DOUBLE = re.compile(r"[^\"\\$`]+|\\.|\$(?=['\"])", re.DOTALL)
_DOLLAR = re.compile(r"\$(?:\w+|[?$!#@*\-]|'(?:[^'\\]|\\.)*'|(?!'))", re.DOTALL)
_OPENERS = {"`": "`", "$(": ")", "<(": ")", ">(": ")", "${": "}"}
_SPECIAL = re.compile(r"[\\'\"`(){}]")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(?:\[[^\]]{0,100}\])?\+?=")


def _tokens(text: str) -> Iterator[_Token]:
    """The tokens of a script, comments, blanks and the numbers before redirections left out."""
    at = _behind_blanks(text, 0)
    while at < len(text):
        start = at
        redirection, operator = _REDIRECTION.match(text, at), _OPERATOR.match(text, at)
        if redirection:
            begin = _behind_blanks(text, redirection.end())
            target, at, _ = _word(text, begin)
            if at == begin or redirection.group() == "<<":
                raise _GivenUpError
            yield _Token("redirection", redirection.group(), start, at, target)
        elif operator:
            at = operator.end()
            yield _Token("operator", operator.group(), start, at)
        else:
            value, at, plain = _word(text, at)
            if at == start:
                raise _GivenUpError
            if not (plain and value.isdigit() and text[at : at + 1] in ("<", ">")):
                yield _Token("plain" if plain else "quoted", value, start, at)
        at = _behind_blanks(text, at)
    yield _Token("end", "", at, at)


def _behind_blanks(text: str, at: int) -> int:
    blanks = _BLANK.match(text, at)
    return blanks.end() if blanks else at


def _word(text: str, at: int) -> tuple[str, int, bool]:
    """One word from ``at`` on: its value without quotes, its end, and whether it had none."""
    parts: list[str] = []
    start, plain = at, True
    while at < len(text):
        begin, piece = at, _PIECE.match(text, at)
        if piece:
            at = piece.end()
            parts.append(piece[piece.lastgroup or 0] if piece.group() != "\\\n" else "")
            plain = plain and piece.lastgroup == "plain"
            continue
        if text[at] == '"':
            value, at = _double(text, at + 1)
        elif text[at] in "$`" or text.startswith(("<(", ">("), at):
            at = _expansion(text, at)
            value = text[begin + 2 : at - 1] if text.startswith("$'", begin) else text[begin:at]
        elif text[at] == "(" and _ASSIGNMENT.fullmatch(text, start, at):
            at = _closing(text, at + 1, ")")
            value = text[begin:at]
        else:
            break
        parts.append(value)
        plain = False
    return "".join(parts), at, plain


def _double(text: str, at: int) -> tuple[str, int]:
    """The value of a string in double quotes from ``at`` on, and the place behind it."""
    parts: list[str] = []
    while not text.startswith('"', at):
        piece = _IN_DOUBLE.match(text, at)
        if piece:
            value = piece.group()
            escapes = value[0] == "\\" and value[1] in '$`"\\\n'
            parts.append(value[1:].strip("\n") if escapes else value)
            at = piece.end()
        else:
            end = _expansion(text, at)
            parts.append(text[at:end])
            at = end
    return "".join(parts), at + 1


def _expansion(text: str, at: int) -> int:
    """The place behind the expansion, substitution or ANSI string that begins here."""
    for opener, closer in _OPENERS.items():
        if text.startswith(opener, at):
            return _closing(text, at + len(opener), closer)
    match = _DOLLAR.match(text, at)
    if match is None:
        raise _GivenUpError
    return match.end()


def _closing(text: str, at: int, closer: str) -> int:
    """The place behind the mark that closes what was opened before ``at``; one pass, nested or not."""
    stack = [closer]
    while stack:
        match = _SPECIAL.search(text, at)
        if match is None:
            raise _GivenUpError
        mark, at = match.group(), match.end()
        top = stack[-1]
        if mark == "\\":
            at += 1
        elif mark == top:
            stack.pop()
        elif top == "`" or (top == '"' and mark not in "`({"):
            continue
        elif mark == "'":
            at = text.find("'", at) + 1
            if not at:
                raise _GivenUpError
        elif mark in '"`':
            stack.append(mark)
        elif mark == "(" and (top != '"' or text[at - 2 : at - 1] == "$"):
            stack.append(")")
        elif mark == "{" and text[at - 2 : at - 1] == "$":
            stack.append("}")
    return at


# -- grammar -----------------------------------------------------------------------------------------------

_SEPARATORS = ("\n", ";")
_CLOSING_MARKS = (")", ";;", ";&", ";;&")
_CLOSING_WORDS = ("then", "else", "elif", "fi", "do", "done", "esac", "}")
_NOT_READ = ("function", "coproc", *_CLOSING_WORDS)


class _Parser:
    """Reads a script into its lists; raises _GivenUpError for what is not read here."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = list(_tokens(text))
        self.at = 0
        self.depth = 0
        self.simples: list[Simple] = []

    def script(self) -> Script:
        items = self.sequence()
        if self.token.kind != "end":
            raise _GivenUpError
        return Script(self.text, items, tuple(self.simples))

    @property
    def token(self) -> _Token:
        return self.tokens[self.at]

    def take(self) -> _Token:
        token = self.token
        self.at = min(self.at + 1, len(self.tokens) - 1)
        return token

    def take_until(self, end: int) -> None:
        while self.token.start < end and self.token.kind != "end":
            self.take()

    def sees(self, *values: str) -> bool:
        """Whether an operator or a word of the grammar is next."""
        return self.token.kind in ("operator", "plain") and self.token.value in values

    def accept(self, *values: str) -> bool:
        seen = self.sees(*values)
        if seen:
            self.take()
        return seen

    def accept_all(self, *values: str) -> None:
        while self.accept(*values):
            pass

    def expect(self, value: str) -> None:
        if not self.accept(value):
            raise _GivenUpError

    def sequence(self) -> tuple[Item, ...]:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise _GivenUpError
        items: list[Item] = []
        self.accept_all("\n")
        while not (self.token.kind == "end" or self.sees(*_CLOSING_MARKS, *_CLOSING_WORDS)):
            items.append(self.item())
            ended = self.token.kind == "end" or self.sees(*_SEPARATORS, *_CLOSING_MARKS)
            if not (ended or items[-1].background):
                raise _GivenUpError
            self.accept_all(*_SEPARATORS)
        self.depth -= 1
        return tuple(items)

    def item(self) -> Item:
        first = self.pipeline()
        rest: list[tuple[str, Pipeline]] = []
        while self.sees("&&", "||"):
            joint = self.take().value
            self.accept_all("\n")
            rest.append((joint, self.pipeline()))
        end = rest[-1][1].end if rest else first.end
        return Item(first.start, end, first, tuple(rest), background=self.accept("&"))

    def pipeline(self) -> Pipeline:
        start, bang = self.token.start, False
        while self.sees("!", "time"):
            bang ^= self.take().value == "!"
            self.accept_all("-p", "--")
        parts = [self.part()]
        while self.accept("|", "|&"):
            self.accept_all("\n")
            parts.append(self.part())
        return Pipeline(start, parts[-1].end, tuple(parts), bang)

    def part(self) -> Part:
        start = self.token.start
        if self.sees("if", "while", "until", "for", "select", "case"):
            return self.branch()
        if self.sees("[["):
            ahead = self.at
            while self.tokens[ahead].value != "]]":
                if self.tokens[ahead].kind == "end":
                    raise _GivenUpError
                ahead += 1
            return self.condition(self.tokens[ahead].end)
        if self.sees("(") and self.text.startswith("((", start):
            end = _closing(self.text, start + 1, ")")
            if self.text[end - 2 : end] == "))":
                return self.condition(end)
        if self.sees("(", "{"):
            subshell = self.take().value == "("
            items = self.sequence()
            self.expect(")" if subshell else "}")
            return Group(start, self.redirections(), items, subshell)
        return self.simple()

    def condition(self, end: int) -> Simple:
        """``[[ … ]]`` or ``(( … ))``, which is not read: it may end either way."""
        start = self.token.start
        self.take_until(end)
        simple = Simple(start, self.redirections(end))
        self.simples.append(simple)
        return simple

    def redirections(self, end: int = 0) -> int:
        """The place behind the redirections of what ended with the last token, or at ``end``."""
        end = end or self.tokens[self.at - 1].end
        while self.token.kind == "redirection":
            end = self.take().end
        return end

    def branch(self) -> Branch:
        start, kind = self.token.start, self.take().value
        conditions: list[tuple[Item, ...]] = []
        bodies: list[tuple[Item, ...]] = []
        rounds, head = kind not in ("if", "case"), ""
        if kind == "if":
            while not bodies or self.accept("elif"):
                conditions.append(self.sequence())
                self.expect("then")
                bodies.append(self.sequence())
            if self.accept("else"):
                bodies.append(self.sequence())
            self.expect("fi")
        elif kind == "case":
            head = self.take().value
            self.accept_all("\n")
            self.expect("in")
            self.accept_all("\n")
            while not self.accept("esac"):
                bodies.append(self.case())
        else:
            if kind in ("while", "until"):
                conditions.append(self.sequence())
            else:
                rounds = self.loop_head()
            self.expect("do")
            bodies.append(self.sequence())
            self.expect("done")
        return Branch(start, self.redirections(), kind, tuple(conditions), tuple(bodies), rounds, head)

    def case(self) -> tuple[Item, ...]:
        while not self.accept(")"):
            if self.token.kind == "end" or self.sees("\n", ";", "&"):
                raise _GivenUpError
            self.take()
        body = self.sequence()
        self.accept(";;", ";&", ";;&")
        self.accept_all("\n")
        return body

    def loop_head(self) -> bool:
        """Reads up to ``do``; whether the loop may have several rounds."""
        once = False
        if self.sees("("):
            self.take_until(_closing(self.text, self.token.start + 1, ")"))
        else:
            self.take()
            self.accept_all("\n")
            if self.accept("in"):
                words = []
                while self.token.kind in ("plain", "quoted"):
                    words.append(self.take())
                once = len(words) == 1 and words[0].kind == "plain" and not set("*?[{") & set(words[0].value)
        self.accept_all(*_SEPARATORS)
        return not once

    def simple(self) -> Simple:
        start = end = self.token.start
        words: list[_Token] = []
        assigned: list[_Token] = []
        writes = False
        while self.token.kind in ("plain", "quoted", "redirection"):
            token = self.take()
            end = token.end
            if token.kind == "redirection":
                to_stream = token.value == ">&" or token.target.startswith(("/dev/null", "/dev/std", "&"))
                writes = writes or (">" in token.value and not to_stream)
            elif not words and _ASSIGNMENT.match(self.text, token.start, token.start + 200):
                assigned.append(token)
            else:
                words.append(token)
        is_keyword = bool(words) and words[0].kind == "plain" and words[0].value in _NOT_READ
        if end == start or is_keyword or (words and self.sees("(")):
            raise _GivenUpError
        if words:
            assigned = []
        simple = Simple(
            start,
            end,
            tuple(word.value for word in words),
            tuple(token.value.split("=", 1)[0].rstrip("+").split("[")[0] for token in assigned),
            any("$(" in token.value or "`" in token.value for token in assigned),
            writes,
        )
        self.simples.append(simple)
        return simple
