"""The guards of ``gate`` and ``verify``: ways a green check comes to be worth nothing, and harmless twins."""

from __future__ import annotations

import shutil

from ..discipline.findings import Area
from .bench import Bench
from .project import CHECK, Project
from .rows import Rows

GUARDS = Rows("evidence discipline")
BINDING, ANCHOR, WAIVER = Area.BINDING, Area.ANCHOR, Area.WAIVER


def _project(bench: Bench) -> Project:
    return Project(bench.fresh())


def _gated(bench: Bench) -> Project:
    project = _project(bench)
    project.gate()
    return project


@GUARDS.caught("nothing recorded", "a record is needed")
def _(bench: Bench) -> bool:
    return _project(bench).finds(BINDING, "MISSING")


@GUARDS.quiet("clean path: recorded, anchored, declared", "declared suppressions")
def _(bench: Bench) -> bool:
    return _gated(bench).verify().verified


@GUARDS.caught("failing run", "failed runs")
def _(bench: Bench) -> bool:
    project = _project(bench)
    project.gate("echo 1 failed; exit 1")
    return project.finds(BINDING, "FAILED")


@GUARDS.caught("interrupted run", "interrupted runs")
def _(bench: Bench) -> bool:
    project = _gated(bench)
    project.killed_gate()
    return project.finds(BINDING, "INTERRUPTED")


@GUARDS.caught("edit after recording", "same tree")
def _(bench: Bench) -> bool:
    project = _gated(bench)
    project.write("source.txt", "answer = 41\n")
    return project.finds(BINDING, "STALE")


@GUARDS.caught("edit that git was told not to look at", "files git does not look at")
def _(bench: Bench) -> bool:
    project = _project(bench)
    project.git("update-index", "--assume-unchanged", "source.txt")
    project.gate()
    project.write("source.txt", "answer = 41\n")
    return project.finds(BINDING, "STALE")


@GUARDS.caught("untracked content changed", "untracked files")
def _(bench: Bench) -> bool:
    project = _project(bench)
    project.write("new.txt", "one\n")
    project.gate()
    project.write("new.txt", "two\n")
    return project.finds(BINDING, "STALE")


@GUARDS.caught("tree changed while the check ran", "same tree")
def _(bench: Bench) -> bool:
    project = _project(bench)
    project.gate(f"{CHECK} && echo more >> source.txt")
    return project.finds(BINDING, "CHANGED")


@GUARDS.caught("record of another tree copied in", "same tree")
def _(bench: Bench) -> bool:
    project, other = _project(bench), _project(bench)
    other.write("source.txt", "answer = 43\n")
    other.gate()
    shutil.copytree(other.folder / ".verify", project.folder / ".verify")
    return project.finds(BINDING, "STALE")


@GUARDS.quiet("the checked files committed afterwards", "content, not commit")
def _(bench: Bench) -> bool:
    project = _project(bench)
    project.write("new.txt", "one\n")
    project.write("source.txt", "answer = 43\n")
    project.gate()
    project.commit()
    return project.verify().verified


@GUARDS.quiet("caches left by the check", "caches")
def _(bench: Bench) -> bool:
    project = _project(bench)
    project.gate("mkdir -p __pycache__ .pytest_cache && date > __pycache__/a.pyc && date > .pytest_cache/v")
    return project.verify().verified


@GUARDS.caught("edited raw output", "raw output")
def _(bench: Bench) -> bool:
    project = _project(bench)
    path = project.gate("test -f source.txt && echo 1 passed, 1 skipped")
    path.with_suffix(".output").write_text("2 passed\n", encoding="ascii")
    return project.finds(BINDING, "EDITED")


@GUARDS.caught("edited raw output of an older run", "raw output")
def _(bench: Bench) -> bool:
    project = _project(bench)
    path = project.gate("test -f source.txt && echo 1 passed, 1 skipped")
    project.gate()
    path.with_suffix(".output").write_text("2 passed\n", encoding="ascii")
    return project.finds(BINDING, "EDITED")


@GUARDS.caught("edited record", "digest of the record")
def _(bench: Bench) -> bool:
    project = _project(bench)
    path = project.gate("echo 1 failed; exit 1")
    text = path.read_text(encoding="ascii")
    path.write_text(text.replace('"exit_code": 1', '"exit_code": 0'), encoding="ascii")
    return project.finds(BINDING, "EDITED")


@GUARDS.caught("masked command", "masked commands")
def _(bench: Bench) -> bool:
    project = _project(bench)
    project.gate("pytest -q || true")
    project.gate("./run_tests.sh | tail -3", "slow")
    return project.finds(BINDING, "MASKED")


@GUARDS.quiet("a pipe that only feeds its last command", "feeders of a pipe")
def _(bench: Bench) -> bool:
    project = _project(bench)
    project.gate(f"cat source.txt | sed -n 1p # {project.folder.name}")  # read anew each time
    return project.verify().verified


@GUARDS.caught("broken anchor, not laundered by a re-run", "expected text")
def _(bench: Bench) -> bool:
    project = _project(bench)
    project.write("ANCHOR.txt", "green | sh -c 'cat source.txt' | 2 passed\n")
    project.commit()
    project.gate()
    project.gate()
    return project.finds(ANCHOR, "BROKEN")


@GUARDS.caught("expected text inside a larger number", "whole tokens")
def _(bench: Bench) -> bool:
    project = _project(bench)
    project.write("ANCHOR.txt", "green | echo 12 passed | 2 passed\n")
    project.commit()
    project.gate()
    return project.finds(ANCHOR, "BROKEN")


@GUARDS.caught("anchor command that prints the text and exits non-zero", "exit code of an anchor")
def _(bench: Bench) -> bool:
    project = _project(bench)
    project.write("ANCHOR.txt", "green | sh -c 'echo 2 passed; exit 3' | 2 passed\n")
    project.commit()
    project.gate()
    return project.finds(ANCHOR, "FAILED")


@GUARDS.caught("anchor edited with the change", "anchors before the change")
def _(bench: Bench) -> bool:
    project = _project(bench)
    project.write("ANCHOR.txt", f"green | sh -c '{CHECK}' | passed\n")
    project.gate()
    return project.finds(ANCHOR, "EDITED")


@GUARDS.caught("anchor removed with the change", "anchors before the change")
def _(bench: Bench) -> bool:
    project = _project(bench)
    (project.folder / "ANCHOR.txt").unlink()
    project.gate()
    return project.finds(ANCHOR, "REMOVED")


@GUARDS.quiet("anchor added with the change", "new anchors")
def _(bench: Bench) -> bool:
    project = _project(bench)
    project.write("ANCHOR.txt", f"green | sh -c '{CHECK}' | 2 passed\nmore | echo one | one\n")
    project.gate()
    found = project.verify()
    return found.verified and found.new_anchors == ("more",)


@GUARDS.caught("undeclared suppression", "undeclared suppressions")
def _(bench: Bench) -> bool:
    project = _project(bench)
    project.write("more.py", "value = 1  # type: " + "ignore\n")
    project.gate()
    return project.finds(WAIVER, "UNDECLARED")


@GUARDS.caught("stale declaration", "stale declarations")
def _(bench: Bench) -> bool:
    project = _project(bench)
    project.write("code.py", "import os\n\nprint(os.name)\n")
    project.gate()
    return project.finds(WAIVER, "STALE")


@GUARDS.quiet("marker in a string", "real comments")
def _(bench: Bench) -> bool:
    project = _project(bench)
    project.write("more.py", "HINT = 'NOSO" + "NAR stands behind it'\n")
    project.gate()
    return project.verify().verified
