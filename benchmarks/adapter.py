"""This product under ``bench_peer.py``: the same steps as the reference implementation's adapter, for log 2."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

NONCE = "0123456789abcdef0123456789abcdef"


def noop(**_: Any) -> str:
    return "row_count=128; status=complete; digest=5f1d; note=nothing to add, the call returned"


class Adapter:
    """What ``bench_peer.py`` times; see its PeerAdapter."""

    name = "dispatch-fidelity"
    import_statement = "import dispatch_fidelity"

    def __init__(self) -> None:
        self._record: Any = None

    def recorder(self, folder: str) -> tuple[Callable[..., Any], str, Callable[[], None]]:
        from dispatch_fidelity import AuditSession

        session = AuditSession(tools={"noop": noop}, run_dir=folder)
        return session.call, str(session.log_path), session.close

    def write_run(
        self, folder: str, run_id: str, calls: list[tuple[str, dict[str, Any], str]]
    ) -> tuple[str, str]:
        from dispatch_fidelity.evidence.sealing import seal_manifest
        from dispatch_fidelity.log.recorder import Recorder

        path, digest = seal_manifest(Path(folder), run_id, NONCE, sealed_at="2026-01-01T00:00:00+00:00")
        recorder = Recorder(Path(folder), run_id, digest, opening=NONCE)
        for tool, args, result in calls:
            ticket = recorder.start(tool, args)
            if result.startswith("ERROR:"):
                recorder.raised(ticket, result[len("ERROR:") :], "", result)
            else:
                recorder.returned(ticket, result)
        recorder.close()
        return str(Path(folder) / f"{run_id}.toollog.jsonl"), str(path)

    def load(self, log: str) -> Any:
        from dispatch_fidelity import load_log

        self._record = load_log(log)
        return self._record

    def extract(self, report: str) -> Any:
        from dispatch_fidelity import extract_claims

        return extract_claims(report)

    def score(self, report: str, record: Any) -> dict[str, int]:
        from dispatch_fidelity import score

        found = score(report, record, NONCE, strict_results=True)
        names = ("claimed", "matched", "fabricated", "substituted", "mismatched", "omitted")
        return {name: getattr(found, name) for name in names}

    def bind(self, manifest: str, log: str) -> str:
        """The record that ``load`` read serves binding too: a log is parsed once."""
        from dispatch_fidelity import check_binding

        return str(check_binding(manifest, self._record if self._record is not None else log).status)

    def run_small(self, report: str, log: str, manifest: str) -> str:
        from dispatch_fidelity import load_log
        from dispatch_fidelity.audit import assess, choose
        from dispatch_fidelity.evidence.manifest import read_manifest

        sealed = read_manifest(manifest)
        choices = choose({"result_check": "strict"}, sealed)
        return str(assess(report, load_log(log), sealed, choices=choices).outcome.overall)

    def cli(self, python: str, claims: str, log: str, manifest: str) -> list[str]:
        options = ["--claims", claims, "--log", log, "--manifest", manifest, "--strict-results"]
        return [python, "-m", "dispatch_fidelity", "score", *options]

    def relay(self, python: str, folder: str, server: list[str]) -> list[str]:
        return [python, "-m", "dispatch_fidelity.adapters.mcp_stdio", "--run-dir", folder, "--", *server]
