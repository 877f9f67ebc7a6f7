"""The package from outside: its public names, what it costs to import, and that every name is explained."""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import inspect
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import dispatch_fidelity

ROOT = Path(__file__).resolve().parent.parent
HEAVY = {"msgspec", "rich", "jinja2", "pygments", "argparse", "asyncio", "json", "subprocess"}
STABLE = {
    "AuditSession",
    "DispatchScore",
    "Score",
    "check_binding",
    "extract_claims",
    "load_log",
    "score",
}


def python(*args: str) -> subprocess.CompletedProcess[str]:
    """A fresh interpreter."""
    return subprocess.run([sys.executable, *args], capture_output=True, encoding="utf-8", check=False)


def imported_by(program: str) -> set[str]:
    """The modules that a program adds to those of a bare interpreter; names of our own package in full."""
    listing = "\nimport sys\nprint('\\n'.join(['', '== modules', *sys.modules]))"
    ran = python("-c", program + listing)
    assert ran.returncode == 0, ran.stderr
    names = ran.stdout.partition("== modules\n")[2].split()
    bare = set(python("-c", "import sys; print('\\n'.join(sys.modules))").stdout.split())
    return {n if n.startswith("dispatch_fidelity") else n.partition(".")[0] for n in names if n not in bare}


# -- public names ------------------------------------------------------------------------------------------


def test_the_public_names_are_sorted_and_stand_once() -> None:
    assert dispatch_fidelity.__all__ == sorted(set(dispatch_fidelity.__all__))


def test_the_promised_names_are_public() -> None:
    assert set(dispatch_fidelity.__all__) >= STABLE


@pytest.mark.parametrize("name", dispatch_fidelity.__all__)
def test_a_public_name_can_be_imported(name: str) -> None:
    assert getattr(dispatch_fidelity, name) is not None


def test_every_public_name_comes_with_a_star() -> None:
    names: dict[str, Any] = {}
    exec("from dispatch_fidelity import *", names)
    assert set(dispatch_fidelity.__all__) <= names.keys()


def test_every_public_name_is_declared_for_type_checkers_where_it_is_loaded_from() -> None:
    tree = ast.parse(Path(dispatch_fidelity.__file__).read_text(encoding="utf-8"))
    [guarded] = [node for node in tree.body if isinstance(node, ast.If)]
    declared = {
        alias.name: node.module
        for node in guarded.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert declared == dispatch_fidelity._HOMES
    assert sorted(declared) == dispatch_fidelity.__all__


def test_public_names_are_listed_by_dir() -> None:
    assert set(dispatch_fidelity.__all__) <= set(dir(dispatch_fidelity))


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Auditor'"):
        dispatch_fidelity.Auditor  # noqa: B018 - the access is what is tested


def test_a_name_stays_what_it_was_when_it_was_first_loaded() -> None:
    assert dispatch_fidelity.AuditSession is dispatch_fidelity.AuditSession
    assert dispatch_fidelity.DispatchScore is dispatch_fidelity.Score


def test_errors_of_the_instrument_have_one_base_and_no_exit_code_of_a_verdict() -> None:
    values = [getattr(dispatch_fidelity, name) for name in dispatch_fidelity.__all__]
    errors = [value for value in values if inspect.isclass(value) and issubclass(value, Exception)]
    assert len(errors) > 5
    assert all(issubclass(error, dispatch_fidelity.DispatchFidelityError) for error in errors)
    assert {getattr(error, "exit_code", None) for error in errors} <= {64, 65, 66, 70}


def test_the_version_is_that_of_the_distribution() -> None:
    stated = re.search(
        r'^version = "(.+)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert stated is not None
    assert dispatch_fidelity.__version__ == stated.group(1) == importlib.metadata.version("dispatch-fidelity")


def test_the_package_says_that_it_is_typed() -> None:
    assert (Path(dispatch_fidelity.__file__).parent / "py.typed").exists()


# -- what an import costs ----------------------------------------------------------------------------------


def test_importing_the_package_imports_nothing_else_of_it() -> None:
    found = imported_by("import dispatch_fidelity")
    assert {name for name in found if name.startswith("dispatch_fidelity")} == {"dispatch_fidelity"}
    assert not found & HEAVY


def test_an_error_class_costs_no_more() -> None:
    assert not imported_by("from dispatch_fidelity import DispatchFidelityError, UsageError") & HEAVY


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_import_no_reader_of_json(option: str) -> None:
    found = imported_by(f"from dispatch_fidelity.cli.main import main; assert main([{option!r}]) == 0")
    assert not found & HEAVY


@pytest.mark.parametrize("name", ["AuditSession", "score", "load_log", "check_binding"])
def test_nothing_that_judges_or_records_imports_a_renderer_for_people(name: str) -> None:
    assert not imported_by(f"from dispatch_fidelity import {name}") & {
        "rich",
        "jinja2",
        "pygments",
        "argparse",
    }


@pytest.mark.parametrize("name", ["openai_tools", "anthropic_tools", "python_tools"])
def test_an_adapter_imports_no_framework(name: str) -> None:
    found = imported_by(f"import dispatch_fidelity.adapters.{name}")
    assert not found & {"openai", "anthropic", "pydantic", "httpx", "httpx2", "mcp"}


# -- as a program ------------------------------------------------------------------------------------------


def test_the_package_is_a_program() -> None:
    ran = python("-m", "dispatch_fidelity", "--version")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout == f"dispatch-audit {dispatch_fidelity.__version__}\n"


def test_the_program_answers_with_the_exit_code_of_its_command() -> None:
    ran = python("-m", "dispatch_fidelity", "nonsense")
    assert (ran.returncode, ran.stdout) == (64, "")
    assert "there is no command 'nonsense'" in ran.stderr


def test_importing_the_module_of_the_program_runs_nothing() -> None:
    assert python("-c", "import dispatch_fidelity.__main__").stdout == ""


def test_the_console_script_is_the_same_program() -> None:
    [script] = importlib.metadata.entry_points(group="console_scripts", name="dispatch-audit")
    assert script.load() is importlib.import_module("dispatch_fidelity.cli.main").entry_point


# -- everything is explained -------------------------------------------------------------------------------


def modules() -> list[str]:
    """All modules of the package but the compiled word lists."""
    found = pkgutil.walk_packages(dispatch_fidelity.__path__, "dispatch_fidelity.")
    return ["dispatch_fidelity", *sorted(module.name for module in found)]


def public(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """The public classes and functions of a module, and the public methods of its classes."""
    for name, value in vars(module).items():
        if name.startswith("_") or getattr(value, "__module__", "") != module.__name__:
            continue
        if inspect.isclass(value):
            yield name, value
            for member, method in vars(value).items():
                if not member.startswith("_") and isinstance(
                    method, (property, classmethod, staticmethod, type(modules))
                ):
                    yield f"{name}.{member}", method
        elif inspect.isfunction(value):
            yield name, value


@pytest.mark.parametrize("name", modules())
def test_every_public_name_has_a_docstring_of_its_own(name: str) -> None:
    module = importlib.import_module(name)
    assert (module.__doc__ or "").strip(), f"{name} has no docstring"
    assert [f"{name}.{label}" for label, value in public(module) if not (value.__doc__ or "").strip()] == []


@pytest.mark.parametrize("name", dispatch_fidelity.__all__)
def test_the_first_line_of_a_public_docstring_is_a_sentence(name: str) -> None:
    text = inspect.getdoc(getattr(dispatch_fidelity, name))
    assert text
    first = text.splitlines()[0]
    assert len(first) <= 120
    assert first.endswith("."), first
