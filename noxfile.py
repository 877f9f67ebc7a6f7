"""``nox`` runs what CI runs. ``NOX_REUSE=1`` takes the environment it is started from instead of a fresh one."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import nox

nox.options.sessions = ["lint", "types", "tests", "docs", "selftest", "extras"]
nox.options.reuse_existing_virtualenvs = True
REUSE = bool(os.environ.get("NOX_REUSE"))
if REUSE:
    nox.options.default_venv_backend = "none"

TYPED = ["src", "tests", "benchmarks", "tools", "noxfile.py"]
JUDGING = ("matching", "claims", "evidence", "audit.py", "log", "discipline")


def ready(session: nox.Session) -> None:
    if not REUSE:
        session.install("-e", ".[dev]")


@nox.session
def lint(session: nox.Session) -> None:
    """Style, names, spelling, and the direction of imports."""
    ready(session)
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("lint-imports")
    session.run("codespell", "src", "tests", "docs", "benchmarks", "tools", "README.md", "CONTRIBUTING.md")


@nox.session
def types(session: nox.Session) -> None:
    """Strict types."""
    ready(session)
    session.run("mypy", *TYPED)


@nox.session
def tests(session: nox.Session) -> None:
    """All tests with branch coverage: 90 % of the package, 95 % of what forms a verdict."""
    ready(session)
    session.run("coverage", "erase")
    session.run("coverage", "run", "-m", "pytest", "-q", *session.posargs)
    session.run("coverage", "combine", "-q")
    for leftover in Path().glob(".coverage.*"):  # of processes that a test killed while they wrote it
        leftover.unlink()
    session.run("coverage", "report", "--fail-under=90")
    for part in JUDGING:
        pattern = f"*/dispatch_fidelity/{part}" + ("" if part.endswith(".py") else "/*")
        session.run("coverage", "report", f"--include={pattern}", "--fail-under=95", "--format=total")


@nox.session
def docs(session: nox.Session) -> None:
    """Generated pages say what is true now."""
    ready(session)
    session.run("python", "tools/generate.py", "--check")


@nox.session
def selftest(session: nox.Session) -> None:
    """The instrument, measured."""
    ready(session)
    session.run("dispatch-audit", "selftest", "--with-evidence")


@nox.session
def extras(session: nox.Session) -> None:
    """A bare install imports every module, and explains what is missing where an extra is needed."""
    if REUSE:
        folder = Path(session.create_tmp())
        session.run(sys.executable, "-m", "venv", str(folder / "bare"), silent=True)
        python = str(folder / "bare" / "bin" / "python")
        session.run(python, "-m", "pip", "install", "-q", ".", silent=True)
    else:
        session.install(".")
        python = "python"
    session.run(python, "tools/import_all.py")
