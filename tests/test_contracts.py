"""The contracts of imports hold, and each of them can fail: one planted import breaks exactly what it should."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "dispatch_fidelity"
LAYERS = "Imports point down"
WRITERS = "What judges cannot write"
ADAPTERS = "Adapters do not know each other"
MSGSPEC = "msgspec stays behind jsonio and model"
PYGMENTS = "pygments stays behind the scanner"
RICH = "rich stays behind rendering.terminal and the console"
LINT = "from importlinter.cli import lint_imports_command; lint_imports_command()"


class Plant(NamedTuple):
    """Imports put into modules of the tree, and the contracts that must break by them, and no other."""

    imports: dict[str, str]
    broken: frozenset[str]


def plant(broken: set[str], **imports: str) -> Plant:
    return Plant(
        {module.replace("__", "/") + ".py": line for module, line in imports.items()}, frozenset(broken)
    )


PLANTS = {
    "the model imports the audit": plant({LAYERS}, model__claim="from ..audit import assess"),
    "the audit imports the command line": plant({LAYERS}, audit="from .cli import exits"),
    "claims and matching know each other": plant({LAYERS}, claims__block="from ..matching import canonical"),
    "an upward import inside a function": plant(
        {LAYERS}, errors="def late() -> None:\n    from . import audit"
    ),
    "the reader imports the recorder": plant({WRITERS}, log__reader="from . import recorder"),
    "the reader reaches the recorder through a third module": plant(
        {WRITERS}, log__reader="from .. import helper", helper="from .log import recorder"
    ),
    "the binding reaches the sealing through two further modules": plant(
        {WRITERS},
        evidence__binding="from .. import helper",
        helper="from . import further",
        further="from .evidence import sealing",
    ),
    "the matching reaches the recorder through a third module": plant(
        {LAYERS, WRITERS}, matching__scorer="from .. import helper", helper="from .log import recorder"
    ),
    "one adapter imports another": plant({ADAPTERS}, adapters__openai_tools="from . import anthropic_tools"),
    "one adapter reaches another through a third module": plant(
        {ADAPTERS}, adapters__python_tools="from .. import helper", helper="from .adapters import mcp_stdio"
    ),
    "claims import msgspec": plant({MSGSPEC}, claims__extract="import msgspec"),
    "a command imports msgspec inside a function": plant(
        {MSGSPEC}, cli__commands__score="def late() -> None:\n    import msgspec"
    ),
    "the matching imports rich": plant({RICH}, matching__scorer="import rich"),
    "verify reaches gate through a third module": plant(
        {WRITERS}, discipline__verify="from .. import helper", helper="from .discipline import gate"
    ),
    "the matching imports discipline": plant({LAYERS}, matching__scorer="from ..discipline import findings"),
    "an importer is reached by the reader": plant({WRITERS}, log__reader="from . import importing"),
    "the markers import pygments": plant({PYGMENTS}, discipline__markers="import pygments"),
    "the session imports jinja2": plant({RICH}, session="import jinja2"),
}


def lint(folder: Path) -> dict[str, str]:
    """Contract to KEPT or BROKEN, as import-linter sees the package under ``folder``."""
    ran = subprocess.run(
        [sys.executable, "-c", LINT, "--no-cache"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder / "src"), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    found = dict(re.findall(r"^(.+) (KEPT|BROKEN)\b", ran.stdout, re.MULTILINE))
    assert found, ran.stdout + ran.stderr
    assert ran.returncode == (1 if "BROKEN" in found.values() else 0), ran.stdout + ran.stderr
    return found


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package and its contracts, to be broken and mended."""
    folder = tmp_path_factory.mktemp("tree")
    shutil.copytree(
        ROOT / "src" / PACKAGE, folder / "src" / PACKAGE, ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


@pytest.fixture(params=PLANTS.values(), ids=list(PLANTS))
def planted(request: pytest.FixtureRequest, copy: Path) -> Iterator[tuple[Path, frozenset[str]]]:
    """The copy with one plant in it, and the contracts that must break."""
    imports, broken = request.param
    before: dict[Path, str | None] = {}
    for name, line in imports.items():
        path = copy / "src" / PACKAGE / name
        text = path.read_text(encoding="utf-8") if path.exists() else None
        assert text is not None or name in ("helper.py", "further.py")
        before[path] = text
        path.write_text(f"{text or ''}\n{line}\n", encoding="utf-8")
    yield copy, broken
    for path, text in before.items():
        if text is None:
            path.unlink()
        else:
            path.write_text(text, encoding="utf-8")


def test_every_contract_is_kept() -> None:
    assert set(lint(ROOT).values()) == {"KEPT"}


def test_the_copy_keeps_every_contract_before_anything_is_planted(copy: Path) -> None:
    assert set(lint(copy).values()) == {"KEPT"}


def test_a_planted_import_breaks_its_contract_and_no_other(planted: tuple[Path, frozenset[str]]) -> None:
    folder, broken = planted
    assert {name for name, word in lint(folder).items() if word == "BROKEN"} == broken


def test_every_contract_has_a_plant_that_breaks_it_alone(copy: Path) -> None:
    alone = {name for plant in PLANTS.values() if len(plant.broken) == 1 for name in plant.broken}
    assert alone == set(lint(copy)), "a contract without a plant here may never fail: add one to PLANTS"
