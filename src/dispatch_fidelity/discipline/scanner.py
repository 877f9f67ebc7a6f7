"""What of a file is comment, what is code, and what is neither, told by pygments' tokens for its language.

pygments is imported here, when a file holds the words of a marker; its lexers are chosen by file name, then by ``#!``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pygments.lexer import Lexer

# In the code of a scan: what stood there was a text, or prose between code.
TEXT = "\x01"
PROSE = "\x02"

_SAMPLE = 16 * 1024
_NOT_NEWLINE = re.compile(r"[^\n]")
_WORDS = re.compile(r"\w")
_HTML_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_SHEBANG = re.compile(
    r"#![^\n]*?\b(python|node|deno|bun|ruby|perl|bash|zsh|ksh|sh|php|lua|Rscript|elixir)[\d.]*\b"
)
# File names that pygments does not know, and the language they are read as.
_READ_AS = {
    "tsx": "typescript",
    "jsx": "javascript",
    "mts": "typescript",
    "cts": "typescript",
    "mjs": "javascript",
    "cjs": "javascript",
    "jsonc": "javascript",
    "json5": "javascript",
    "vue": "html",
    "svelte": "html",
    "astro": "html",
    "bats": "bash",
    "pyi": "python",
    "cppm": "cpp",
    "mdx": "markdown",
    "r": "r",
}
_BY_SHEBANG = {
    "node": "javascript",
    "deno": "typescript",
    "bun": "typescript",
    "sh": "bash",
    "ksh": "bash",
    "Rscript": "r",
}
# The family under which the rules know a language of pygments; what is not here has only comments.
_FAMILIES = {
    "python": "python cython numpy sage",
    "js": "javascript typescript coffeescript jsx tsx livescript",
    "go": "go",
    "rust": "rust",
    "c": "c cpp objective-c objective-c++ cuda arduino",
    "csharp": "csharp",
    "fsharp": "fsharp",
    "basic": "vb.net",
    "java": "java",
    "kotlin": "kotlin",
    "scala": "scala",
    "groovy": "groovy gradle",
    "swift": "swift",
    "dart": "dart",
    "php": "php html+php",
    "ruby": "ruby crystal",
    "elixir": "elixir",
    "erlang": "erlang",
    "clojure": "clojure clojurescript",
    "julia": "julia",
    "haskell": "haskell literate-haskell",
    "elm": "elm",
    "ocaml": "ocaml",
    "nim": "nimrod",
    "zig": "zig",
    "perl": "perl",
    "lua": "lua luau",
    "r": "splus r",
    "shell": "bash zsh",
    "powershell": "powershell",
    "robot": "robotframework",
    "gherkin": "gherkin",
    "yaml": "yaml",
    "docker": "docker",
    "tex": "tex",
    "markdown": "markdown restructuredtext",
}
_FAMILY_OF = {alias: family for family, aliases in _FAMILIES.items() for alias in aliases.split()}


class Comment(NamedTuple):
    """Where a comment stands, its marks included, and the family of the language it stands in."""

    start: int
    end: int
    family: str


class Scan(NamedTuple):
    """A text taken apart: ``code`` is as long as the text, comments in it are blank, texts and prose are masked."""

    code: str
    comments: tuple[Comment, ...]


class Language(NamedTuple):
    """How a file is read: its lexer, and the families of rules that look into it."""

    lexer: Lexer
    family: str
    is_markup: bool

    @property
    def families(self) -> frozenset[str]:
        """The family of its own, and those of what may stand inside it."""
        return frozenset(filter(None, [self.family, *(("html", "js") if self.is_markup else ())]))


def language_of(path: str, text: str) -> Language | None:
    """The language of a file; None where it is not known, or where it is plain text."""
    lexer = _lexer(path, text)
    if lexer is None:
        return None
    family = next((_FAMILY_OF[alias] for alias in lexer.aliases if alias in _FAMILY_OF), "")
    return Language(lexer, family, any("html" in alias or "xml" in alias for alias in lexer.aliases))


def scan(text: str, language: Language) -> Scan:
    """The text taken apart as a file of this language."""
    lexer, family, is_markup = language
    if family == "markdown":
        return Scan(_NOT_NEWLINE.sub(PROSE, text), tuple(_in_prose(text, lexer)))
    pieces: list[str] = []
    comments: list[Comment] = []
    for start, kind, value in _tokens(lexer, text):
        if kind == "doc" and value.startswith("/*"):  # where it is a comment for tools, as in PHP
            kind = "comment"
        if kind == "comment":
            own = family if not is_markup or family else "html" if value.startswith("<!") else "js"
            comments.append(Comment(start, start + len(value), own))
            pieces.append(_NOT_NEWLINE.sub(" ", value))
        elif kind in ("text", "doc") or (kind == "constant" and family == "yaml"):  # a block of text in YAML
            pieces.append(_NOT_NEWLINE.sub(TEXT, value))
        elif kind == "prose" and is_markup and _WORDS.search(value):
            pieces.append(_NOT_NEWLINE.sub(PROSE, value))
        else:
            pieces.append(value)
    return Scan("".join(pieces), tuple(comments))


@cache
def _kind(token: Any) -> str:
    """What a token of pygments is here."""
    from pygments.token import Comment as Comments
    from pygments.token import Name, String, Text

    if token in Comments:
        is_code = token in Comments.Preproc or token in Comments.PreprocFile
        return "code" if is_code else "prose" if token in Comments.Hashbang else "comment"
    if token in String:
        is_code = token in String.Symbol or token in String.Affix or token in String.Interpol
        return "code" if is_code else "doc" if token in String.Doc else "text"
    if token in Name.Constant:
        return "constant"
    return "prose" if token in Text else "code"


def _tokens(lexer: Lexer, text: str) -> Iterator[tuple[int, str, str]]:
    """Place, kind and text of each token, in order and without gaps; the pieces of one comment are put together."""
    at = 0
    held: list[str] = []  # a comment that may go on
    for start, token, value in lexer.get_tokens_unprocessed(text):
        if not value or start < at:
            continue
        kind = _kind(token)
        if held and not (kind == "comment" and start == at and not held[-1].endswith("\n")):
            whole = "".join(held)
            yield at - len(whole), "comment", whole
            held = []
        if start > at:
            yield at, "code", text[at:start]
        at = start + len(value)
        if kind == "comment":
            held.append(value)
        else:
            yield start, kind, value
    if held:
        whole = "".join(held)
        yield at - len(whole), "comment", whole
    if at < len(text):
        yield at, "code", text[at:]


def _in_prose(text: str, lexer: Lexer) -> Iterator[Comment]:
    """HTML comments between words; those in samples of code are none."""
    samples = bytearray(len(text))
    for start, token, value in lexer.get_tokens_unprocessed(text):
        if _kind(token) in ("text", "doc"):
            samples[start : start + len(value)] = b"\1" * len(value)
    for found in _HTML_COMMENT.finditer(text):
        if not samples[found.start()]:
            yield Comment(found.start(), found.end(), "markdown")


def _lexer(path: str, text: str) -> Lexer | None:
    name = path.rpartition("/")[2]
    suffix = name.rpartition(".")[2].lower() if "." in name else ""
    if suffix in _READ_AS:
        return _named(_READ_AS[suffix])
    found = _by_file_name(name, text)
    if found is not None:
        return found
    match = _SHEBANG.match(text[:200])
    return _named(_BY_SHEBANG.get(match[1], match[1])) if match else None


@cache
def _named(alias: str) -> Lexer | None:
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    options = {"handlecodeblocks": False} if alias in ("markdown", "restructuredtext") else {}
    try:
        return get_lexer_by_name(alias, **options)
    except ClassNotFound:
        return None


def _by_file_name(name: str, text: str) -> Lexer | None:
    from pygments.lexers import find_lexer_class_for_filename

    found = find_lexer_class_for_filename(name, text[:_SAMPLE])
    if found is None or not found.aliases or found.aliases[0] in ("text", "output"):
        return None
    return _named(found.aliases[0])
