"""Files for the tests of this folder: runs of every outcome, and conversations to audit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dispatch_fidelity import AuditSession

SEEN = {"tool": "look", "args": {"at": "here"}, "result": "seen"}
LIE = {"tool": "look", "args": {"at": "there"}, "result": "seen too"}


def block(*items: Any) -> str:
    return f"```json\n{json.dumps({'results': items})}\n```\n"


class Files:
    """One run on disk, a true and a false report, and the arguments that name them."""

    def __init__(self, folder: Path, run_id: str = "run") -> None:
        self.folder = folder
        with AuditSession({"look": lambda at: "seen"}, run_dir=folder, run_id=run_id) as session:
            session.call("canary_probe", {"label": "A"})
            session.call("look", {"at": "here"})
        self.log, self.manifest = session.log_path, session.manifest_path
        self.true = self.write("true.md", block(SEEN))
        self.false = self.write("false.md", block(SEEN, LIE))
        self.silent = self.write("silent.md", "All was looked up.\n")

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def score(self, report: Path, *options: str) -> list[str]:
        return [
            "score",
            "--claims",
            str(report),
            "--log",
            str(self.log),
            "--manifest",
            str(self.manifest),
            *options,
        ]

    def bind(self, *options: str) -> list[str]:
        return ["bind", "--manifest", str(self.manifest), "--log", str(self.log), *options]


def conversation(report: str, result: str = "seen") -> list[dict[str, Any]]:
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at": "here"}'}}
    return [
        {"role": "user", "content": "Look here."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": result},
        {"role": "assistant", "content": report},
    ]
