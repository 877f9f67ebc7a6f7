"""A project in a temporary git repository, on which the guards of ``gate`` and ``verify`` are tried."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..discipline.findings import Area
from ..discipline.gate import record_run
from ..discipline.verify import Verification, verify_tree

MARKER = "noqa: F401"
CHECK = "test -f source.txt && echo 2 passed"
_SETTINGS = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


@contextmanager
def plain_git() -> Iterator[None]:
    """Git is without the settings of the user and the system meanwhile."""
    kept = {name: os.environ.get(name) for name in _SETTINGS}
    os.environ.update(_SETTINGS)
    try:
        yield
    finally:
        for name, value in kept.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


class Project:
    """A committed tree with one check, one anchor and one declared suppression."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.git("init", "-q", "-b", "main")
        self.write("source.txt", "answer = 42\n")
        self.write("code.py", f"import os  # {MARKER}\n")
        self.write("ANCHOR.txt", f"green | sh -c '{CHECK}' | 2 passed\n")
        self.write("waivers.txt", "code.py | imported for its effect\n")
        self.commit()

    def git(self, *args: str) -> None:
        """Run git in the project."""
        names = ("-c", "user.name=guard", "-c", "user.email=guard@example.org")
        subprocess.run(["git", *names, *args], cwd=self.folder, check=True, stdout=subprocess.DEVNULL)

    def write(self, name: str, text: str) -> None:
        """Write a file of the project."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def commit(self) -> None:
        """Commit everything."""
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "state")

    def gate(self, script: str = CHECK, label: str = "tests") -> Path:
        """Record a check, and where its record lies."""
        return record_run(["sh", "-c", script], label, self.folder, quiet=True)[1]

    def killed_gate(self) -> None:
        """A gate that is killed while its check runs; the check ends with its standard input."""
        program = [sys.executable, "-m", "dispatch_fidelity", "gate", "--label", "tests", "--"]
        with subprocess.Popen(
            [*program, "sh", "-c", "echo begun; cat"],
            cwd=self.folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as process:
            assert process.stdout is not None
            process.stdout.readline()
            process.kill()

    def verify(self) -> Verification:
        """What ``verify`` finds."""
        return verify_tree(self.folder)

    def finds(self, area: Area, kind: str) -> bool:
        """Whether ``verify`` finds just this kind of thing, and nothing else."""
        return {(finding.area, finding.kind) for finding in self.verify().findings} == {(area, kind)}
