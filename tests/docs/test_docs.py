"""The pages say what is true: their code runs, their links lead somewhere, their commands and figures are real."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from math import sqrt
from pathlib import Path
from statistics import NormalDist
from typing import Any, NamedTuple

import pytest

from dispatch_fidelity.adapters import mcp_stdio
from dispatch_fidelity.cli.main import COMMANDS, main

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = sorted(
    [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "changelog.d").glob("*.md")],
    key=lambda path: str(path.relative_to(ROOT)),
)

_FENCE = re.compile(r"^(`{3,})(\w*)[^\n]*\n(.*?)^\1$", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"(?<!`)`([^`\n]+(?:\n[^`\n]+)?)`(?!`)")
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_COMMAND = re.compile(r"dispatch-audit[ \t]+([a-z][\w-]*)([^\n|;&#]*)")
_RELAY = re.compile(r"dispatch_fidelity\.adapters\.mcp_stdio\b(.*?)(?:[\s\"]--[\s\"]|\Z)", re.DOTALL)
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


class Fence(NamedTuple):
    """One fenced block of a page."""

    page: Path
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def fences(page: Path) -> Iterator[Fence]:
    text = page.read_text(encoding="utf-8")
    for found in _FENCE.finditer(text):
        yield Fence(page, text.count("\n", 0, found.start()) + 1, found.group(2), found.group(3))


def prose(page: Path) -> str:
    """The page without its fenced blocks."""
    return _FENCE.sub("", page.read_text(encoding="utf-8"))


def code(page: Path) -> list[str]:
    """Everything on the page that is set as code, with continued lines joined."""
    spans = [found.replace("\n", " ") for found in _SPAN.findall(prose(page))]
    return [*(fence.text.replace("\\\n", " ") for fence in fences(page)), *spans]


def name(value: Any) -> str:
    return str(value.relative_to(ROOT)) if isinstance(value, Path) else str(value)


BLOCKS = [fence for page in PAGES for fence in fences(page) if fence.language == "python"]


@pytest.mark.parametrize("block", BLOCKS, ids=name)
def test_a_block_of_python_runs(block: Fence, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    padded = "\n" * block.line + block.text
    exec(compile(padded, str(block.page), "exec"), {"__name__": "page"})


def test_the_pages_hold_code_to_run() -> None:
    assert {block.page.name for block in BLOCKS} >= {"README.md", "interpreting.md", "artifacts.md"}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_relative_link_leads_to_a_file(page: Path) -> None:
    links = [link for link in _LINK.findall(prose(page)) if not re.match(r"[a-z]+:|#", link)]
    missing = [link for link in links if not (page.parent / link.partition("#")[0]).exists()]
    assert missing == []


def wilson(k: int, n: int) -> tuple[float, float]:
    """The 95 % Wilson interval, as the roots of the score equation."""
    z = NormalDist().inv_cdf(0.975)
    a, b, c = n + z * z, 2 * k + z * z, k * k / n
    root = sqrt(b * b - 4 * a * c)
    return (b - root) / (2 * a), (b + root) / (2 * a)


def test_the_interval_of_the_source_measurement_is_the_one_on_the_page() -> None:
    text = prose(ROOT / "docs" / "interpreting.md")
    low, high = (f"{100 * limit:.2f} %" for limit in wilson(10, 1250))
    assert f"| 10 / 1250 = {100 * 10 / 1250:.2f} % |" in text
    assert f"| 95 % interval | {low} to {high} |" in text


def test_the_p_value_of_the_trend_fits_its_z() -> None:
    text = prose(ROOT / "docs" / "interpreting.md")
    p = 2 * NormalDist().cdf(-1.106)
    assert f"z = -1.106, p = {p:.3f}" in text


@lru_cache(maxsize=1)
def options() -> dict[str, frozenset[str]]:
    """Each program to the options in its help."""
    found = {command: _help_of(main, [command, "--help"]) for command in COMMANDS}
    found["mcp_stdio"] = _help_of(mcp_stdio.main, ["--help"])
    return found


def _help_of(program: Callable[[list[str]], int], args: list[str]) -> frozenset[str]:
    from contextlib import redirect_stdout, suppress
    from io import StringIO

    out = StringIO()
    with redirect_stdout(out), suppress(SystemExit):
        program(args)
    return frozenset(_OPTION.findall(out.getvalue()))


def scripts() -> set[str]:
    """The options of the programs for developers."""
    files = [*(ROOT / "tools").glob("*.py"), *(ROOT / "benchmarks").glob("*.py")]
    return {
        option
        for file in files
        for option in re.findall(r"\"(--[a-z-]+)\"", file.read_text(encoding="utf-8"))
    }


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_command_and_its_options_exist(page: Path) -> None:
    unknown = []
    for text in code(page):
        for command, rest in _COMMAND.findall(text):
            if command not in COMMANDS:
                unknown.append(f"dispatch-audit {command}")
            else:
                unknown += [f"{command} {o}" for o in _OPTION.findall(rest) if o not in options()[command]]
        for rest in _RELAY.findall(text):
            unknown += [f"mcp_stdio {o}" for o in _OPTION.findall(rest) if o not in options()["mcp_stdio"]]
    assert unknown == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_an_option_that_is_named_by_itself_exists(page: Path) -> None:
    known = frozenset({"--help", "--version"}).union(scripts(), *options().values())
    named = [_OPTION.match(span) for span in _SPAN.findall(prose(page))]
    assert [found.group() for found in named if found and found.group() not in known] == []


def test_every_command_is_told_of_on_some_page() -> None:
    told = {command for page in PAGES for text in code(page) for command, _ in _COMMAND.findall(text)}
    assert told == COMMANDS.keys()
