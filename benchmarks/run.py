"""Measures this product beside the reference implementation and the limits, in one run, and keeps the figures.

    python benchmarks/run.py --peer PYTHON [--ours PYTHON] [--rounds 7] [--only record,load,…]
    python benchmarks/run.py --only discipline

``--peer`` is the interpreter of an environment that holds dispatch-fidelity 0.3.1 and nothing else, ``--ours``
of one that holds this package alone (default: this interpreter); ``discipline`` and ``transcripts`` need neither.
Limits, inputs and workers are those of ``../shared/bench/bench_peer.py``; every round runs all sides one after the
other. The result is kept in ``benchmarks/results.json``, beside those of runs of other sections, from which
``tools/generate.py`` makes docs/performance.md.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
ADAPTER = str(ROOT / "benchmarks" / "adapter.py")
RESULTS = ROOT / "benchmarks" / "results.json"
MEGABYTE = 2**20


def load_bench(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location("bench_peer", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Figures:
    """What was measured: all rounds of each side, and the ratios with their bars."""

    def __init__(self) -> None:
        self.samples: dict[str, list[float]] = {}
        self.ratios: list[dict[str, Any]] = []

    def add(self, name: str, value: float) -> None:
        self.samples.setdefault(name, []).append(value)

    def median(self, name: str) -> float:
        return statistics.median(self.samples[name])

    def ratio(self, title: str, name: str, other: str, bar: float | None, unit: str) -> None:
        """The median of the ratios of the rounds: both sides of a round met the same machine."""
        pairs = list(zip(self.samples[name], self.samples[other], strict=True))
        value = statistics.median(a / b for a, b in pairs)
        self.keep(title, value, bar, f"{self.median(name):.4g} / {self.median(other):.4g} {unit}", len(pairs))

    def keep(self, title: str, value: float, bar: float | None, detail: str, rounds: int) -> None:
        met = None if bar is None else value <= bar
        row = {
            "title": title,
            "value": round(value, 3),
            "bar": bar,
            "met": met,
            "detail": detail,
            "rounds": rounds,
        }
        self.ratios.append(row)
        print(
            f"{title}: {value:.3f}" + (f" (bar {bar}: {'met' if met else 'MISSED'})" if bar else ""),
            detail,
            flush=True,
        )


def measure_recording(
    bench: Any, sides: dict[str, tuple[str, str]], work: Path, rounds: int, out: Figures
) -> None:
    for threads in (1, 16):
        for number in range(rounds):
            for side, (python, adapter) in sides.items():
                folder = str(work / f"record-{side}-{threads}-{number}")
                found = bench.worker(
                    python, "recorder", adapter, folder=folder, threads=threads, n=8000, reps=3
                )
                check(found)
                out.add(f"record.{side}.{threads}", statistics.median(found["call"]) * 1e6)
                out.add(f"record.{side}.{threads}.limit", statistics.median(found["write2"]) * 1e6)
        names = f"record.ours.{threads}", f"record.peer.{threads}"
        text = "1 thread" if threads == 1 else f"{threads} threads"
        out.ratio(f"recording a call, {text}, to the peer", *names, 0.6, "µs")
        out.ratio(
            f"recording a call, {text}, to 2 writes + 2 SHA-256", names[0], f"{names[0]}.limit", 2.0, "µs"
        )


def measure_loading(
    bench: Any, sides: dict[str, tuple[str, str]], work: Path, rounds: int, out: Figures
) -> None:
    size = 100_000
    calls, claims, truth = bench.make_calls(size)
    report = work / "load.report.md"
    report.write_text(bench.make_report(claims))
    runs = {}
    for side, (_, adapter) in sides.items():
        folder = work / f"load-{side}"
        folder.mkdir()
        runs[side] = bench.load_adapter(adapter).write_run(str(folder), "run", calls)
    for _ in range(rounds):
        limit = bench.decode_limit(runs["peer"][0], str(report), 1)
        out.add("load.decode", min(limit.values()) * 1e3)
        for side, (python, adapter) in sides.items():
            log, manifest = runs[side]
            found = bench.worker(
                python, "scale", adapter, log=log, manifest=manifest, report=str(report), loops=1
            )
            check(found)
            wrong = {
                key: (found["counts"].get(key), value)
                for key, value in truth.items()
                if found["counts"].get(key) != value
            }
            if wrong or found["bind_status"] != "PROVEN":
                raise SystemExit(f"{side}: wrong verdicts {wrong}, binding {found['bind_status']}")
            out.add(f"load.{side}", (found["load"] + found["score"] + found["bind"]) * 1e3)
            out.add(f"load.{side}.peak", found["peak_mb"])
    out.ratio("load + score + bind of 100,000 calls, to the peer", "load.ours", "load.peer", 0.35, "ms")
    out.ratio(
        "load + score + bind of 100,000 calls, to decoding the same bytes",
        "load.ours",
        "load.decode",
        None,
        "ms",
    )
    out.ratio("peak memory at 100,000 calls, to the peer", "load.ours.peak", "load.peer.peak", None, "MiB")


def measure_growth(
    bench: Any, sides: dict[str, tuple[str, str]], work: Path, rounds: int, out: Figures
) -> None:
    python, adapter = sides["ours"]
    sizes = (5_000, 10_000, 20_000)
    for kind, result in (("that succeeded", "rows=1 ok"), ("that failed", "ERROR:TimeoutError")):
        for size in sizes:
            calls = [("canary_probe", {"label": "A"}, f"CANARY[A]:{bench.NONCE}")] + [
                ("poll", {"job": "7"}, result)
            ] * size
            folder = work / f"grow-{kind[-6:].strip()}-{size}"
            folder.mkdir()
            report = folder / "report.md"
            report.write_text(bench.make_report([{"tool": t, "args": a, "result": r} for t, a, r in calls]))
            log, manifest = bench.load_adapter(adapter).write_run(str(folder), "run", calls)
            for _ in range(rounds):
                found = bench.worker(
                    python, "scale", adapter, log=log, manifest=manifest, report=str(report), loops=1
                )
                check(found)
                out.add(f"grow.{kind}.{size}", found["score"] * 1e3)
        points = [(size, min(out.samples[f"grow.{kind}.{size}"])) for size in sizes]
        detail = ", ".join(f"{size}: {value:.1f} ms" for size, value in points)
        out.keep(f"growth exponent, identical calls {kind}", exponent(points), 1.2, detail, rounds)


def measure_start(
    bench: Any, sides: dict[str, tuple[str, str]], work: Path, rounds: int, out: Figures
) -> None:
    calls, claims, _ = bench.make_calls(20)
    report = work / "start.report.md"
    report.write_text(bench.make_report(claims))
    commands = {}
    for side, (python, adapter) in sides.items():
        folder = work / f"start-{side}"
        folder.mkdir()
        log, manifest = bench.load_adapter(adapter).write_run(str(folder), "run", calls)
        commands[side] = bench.load_adapter(adapter).cli(python, str(report), log, manifest)
    commands["python"] = [sides["ours"][0], "-c", "pass"]
    for number in range(rounds + 1):
        for side, command in commands.items():
            started = time.perf_counter()
            subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
            if number:
                out.add(f"start.{side}", (time.perf_counter() - started) * 1e3)
    out.ratio("score as a process, piped, to the peer", "start.ours", "start.peer", 1.0, "ms")
    out.ratio("score as a process, piped, to python -c pass", "start.ours", "start.python", None, "ms")


def measure_relay(
    bench: Any, sides: dict[str, tuple[str, str]], work: Path, rounds: int, out: Figures
) -> None:
    server_file, null_file = work / "echo.py", work / "null.py"
    server_file.write_text(bench.ECHO)
    null_file.write_text(bench.NULL_RELAY)
    server = [sys.executable, str(server_file)]
    plans = {"direct": server, "null": [sys.executable, str(null_file), *server]}
    for side, (python, adapter) in sides.items():
        folder = work / f"relay-{side}"
        folder.mkdir()
        plans[side] = bench.load_adapter(adapter).relay(python, str(folder), server)
    args = {"name": "echo", "arguments": {"q": "quarterly revenue", "n": 3}}
    for _ in range(rounds):
        for side, command in plans.items():
            client = bench.Client(command)
            for _ in range(50):
                client.ask("tools/call", args)
            times = []
            for _ in range(1000):
                started = time.perf_counter()
                client.ask("tools/call", args)
                times.append((time.perf_counter() - started) * 1e6)
            out.add(f"relay.{side}", statistics.median(times))
            out.add(f"relay.{side}.rate", client.pipelined(4000))
            client.close()
    for side in ("null", "ours", "peer"):
        for value, direct in zip(out.samples[f"relay.{side}"], out.samples["relay.direct"], strict=True):
            out.add(f"relay.{side}.added", max(value - direct, 0.1))
    out.ratio(
        "MCP relay, added latency, to a relay that parses nothing",
        "relay.ours.added",
        "relay.null.added",
        4.0,
        "µs",
    )
    out.ratio("MCP relay, added latency, to the peer", "relay.ours.added", "relay.peer.added", None, "µs")
    out.ratio(
        "MCP relay, direct throughput to ours, 64 in flight",
        "relay.direct.rate",
        "relay.ours.rate",
        1 / 0.6,
        "calls/s",
    )


HOSTILE: dict[str, Callable[[int], str]] = {
    "prose": lambda n: ("The agent looked at the quarterly figures and wrote a summary. " * (n // 62 + 1))[
        :n
    ],
    "open fences": lambda n: "```json\n" * (n // 8),
    "an open fence, then blanks": lambda n: "```json\n" + " " * n,
    "an open fence, then empty lines": lambda n: "```json\n" + "\n" * n,
    "open braces": lambda n: "{" * n,
    "brace lines": lambda n: "{\n" * (n // 2),
    "open blocks": lambda n: '{"results": [' * (n // 13),
    "open blocks, a line each": lambda n: '{"results": [\n' * (n // 14),
    "quotes": lambda n: '"' * n,
    "backslashes": lambda n: '```json\n{"results": ["' + "\\" * n,
    "escaped quotes in an open string": lambda n: '```json\n{"results": ["' + '\\"' * (n // 2),
    "commas": lambda n: '```json\n{"results": [' + ", " * (n // 2) + "]}\n```",
    "comments": lambda n: '```json\n{"results": [' + "/* x */" * (n // 7) + "]}\n```",
    "open comments": lambda n: '```json\n{"results": [' + "/*" * (n // 2) + "]}\n```",
    "deep nesting": lambda n: '```json\n{"results": ' + "[" * (n // 2) + "]" * (n // 2) + "}\n```",
    "many small blocks": lambda n: (
        '```json\n{"results": [{"tool": "t", "args": {"x": 1}}]}\n```\n' * (n // 61)
    ),
    "one long result": lambda n: '```json\n{"results": [{"tool": "t", "result": "' + "x" * n + '"}]}\n```',
    "failure words": lambda n: (
        '```json\n{"results": [{"tool": "t", "result": "' + "not failed but ok; " * (n // 19) + '"}]}\n```'
    ),
    "tildes": lambda n: "~" * n,
    "key words": lambda n: "'results' : " * (n // 12),
}


def measure_hostile(
    _bench: Any, sides: dict[str, tuple[str, str]], _work: Path, rounds: int, out: Figures
) -> None:
    """Time over hostile report text, in a process of its own, scored against a run with one failed call."""
    program = (
        "import benchmarks.run as r, sys; r.hostile_worker(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))"
    )
    worst = 0.0
    for name in HOSTILE:
        points = []
        for megabytes in (1, 2, 5, 10):
            command = [sides["ours"][0], "-c", program, name, str(megabytes), str(max(3, rounds // 2))]
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
            check({"error": done.stderr} if done.returncode else {})
            points.append((megabytes, float(done.stdout)))
        value = exponent(points)
        worst = max(worst, value)
        detail = ", ".join(f"{size} MB {seconds * 1e3:.0f} ms" for size, seconds in points)
        out.keep(f"growth exponent, hostile text: {name}", value, 1.1, detail, max(3, rounds // 2))


def hostile_worker(name: str, megabytes: int, rounds: int) -> None:
    """Print the least time that one hostile text took."""
    from dispatch_fidelity.audit import assess, choose
    from dispatch_fidelity.model.call import Status
    from dispatch_fidelity.model.execution import Execution
    from dispatch_fidelity.model.run import Completeness, Record

    text = HOSTILE[name](megabytes * MEGABYTE)
    failed = Execution("t", {}, Status.RAISED, error="TimeoutError")
    record = Record("run", "log/2", (failed,), Completeness.CLOSED, tools=("t",))
    choices = choose({"result_check": "contradicted"}, None)
    best = math.inf
    for _ in range(rounds):
        started = time.perf_counter()
        assess(text, record, choices=choices)
        best = min(best, time.perf_counter() - started)
    print(best)


def measure_discipline(
    _bench: Any, _sides: dict[str, tuple[str, str]], work: Path, rounds: int, out: Figures
) -> None:
    """The tree digest and the waiver scan on 50,000 committed files, beside git on the same tree, warm."""
    from dispatch_fidelity.discipline.tree import is_cache, open_tree, tree_state
    from dispatch_fidelity.discipline.waivers import check_waivers

    os.environ.update(GIT_CONFIG_GLOBAL=os.devnull, GIT_CONFIG_NOSYSTEM="1")
    for number in range(50_000):
        folder = work / f"part{number % 50:02d}" / f"module{number // 50 % 20:02d}"
        folder.mkdir(parents=True, exist_ok=True)
        marker = "import os  # noqa\n" if number % 100 == 0 else ""
        text = marker + f"def f{number}(value: int) -> int:\n    return value + {number}\n" * 5
        (folder / f"file{number}.py").write_text(text)
    names = ("-c", "user.name=bench", "-c", "user.email=bench@example.org")
    for command in (("init", "-q"), ("add", "."), (*names, "commit", "-qm", "files")):
        subprocess.run(["git", *command], cwd=work, check=True)

    def git(*command: str) -> None:
        subprocess.run(["git", *command], cwd=work, stdout=subprocess.DEVNULL, check=True)

    root, repository = open_tree(work)
    steps: dict[str, Callable[[], Any]] = {
        "discipline.digest": lambda: tree_state(root, repository),
        "discipline.status": lambda: git("status"),
        "discipline.scan": lambda: check_waivers(root, repository, is_cache),
        "discipline.grep": lambda: git("grep", "-c", "noqa"),
    }
    for round_number in range(rounds + 1):
        for name, step in steps.items():
            started = time.perf_counter()
            step()
            if round_number:
                out.add(name, (time.perf_counter() - started) * 1e3)
    out.ratio(
        "tree digest of 50,000 files, to git status", "discipline.digest", "discipline.status", 3.0, "ms"
    )
    out.ratio("waiver scan of 50,000 files, to git grep -c", "discipline.scan", "discipline.grep", 10.0, "ms")


def measure_transcripts(
    _bench: Any, _sides: dict[str, tuple[str, str]], work: Path, rounds: int, out: Figures
) -> None:
    """A Claude Code session of 30 MB made of the shared samples, read and decoded; and a gigabyte in memory."""
    import msgspec

    from dispatch_fidelity.transcripts import claude_code

    session = work / "session.jsonl"
    lines = claude_lines(ROOT.parent / "shared" / "transcripts" / "claude_code")
    write_session(session, lines, 30 * 10**6)
    decode = msgspec.json.Decoder().decode

    def decoded() -> None:
        with session.open("rb") as handle:
            for line in handle:
                decode(line)

    steps: dict[str, Callable[[], Any]] = {
        "transcripts.read": lambda: list(claude_code.read(session)),
        "transcripts.decode": decoded,
    }
    for round_number in range(rounds + 1):
        for name, step in steps.items():
            started = time.perf_counter()
            step()
            if round_number:
                out.add(name, (time.perf_counter() - started) * 1e3)
    title = "reading a Claude Code session of 30 MB, to msgspec decoding its lines untyped"
    out.ratio(title, "transcripts.read", "transcripts.decode", 4.0, "ms")
    large = work / "large.jsonl"
    calls = write_calls(large, 10**9)
    script = (
        "import resource, sys\nfrom pathlib import Path\nfrom dispatch_fidelity.transcripts import claude_code\n"
        "runs = list(claude_code.read(Path(sys.argv[1])))\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)"
    )
    found = subprocess.run(
        [sys.executable, "-c", script, str(large)], capture_output=True, text=True, check=True
    )
    peak = float(found.stdout)
    out.keep("memory of a Claude Code session of 1 GB, MiB", peak, 300.0, f"{calls} calls, {peak:.0f} MiB", 1)


def claude_lines(folder: Path) -> list[dict[str, Any]]:
    found = []
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_bytes().splitlines():
            try:
                value = json.loads(line)
            except ValueError:
                continue
            if isinstance(value, dict) and "uuid" in value:
                found.append(value)
    return found


def write_session(path: Path, lines: list[dict[str, Any]], size: int) -> None:
    """The lines over and over, each with an id of its own."""
    number, before = 0, None
    with path.open("w", encoding="utf-8") as handle:
        while handle.tell() < size:
            for line in lines:
                number += 1
                name = f"{number:032x}"
                changed = {**line, "uuid": name, "parentUuid": before, "sessionId": "s"}
                handle.write(json.dumps(changed, ensure_ascii=False, separators=(",", ":")) + "\n")
                before = name


def write_calls(path: Path, size: int) -> int:
    """A session of calls with results of some kilobytes; how many calls."""
    number, before = 0, None
    text = "The quick brown fox jumps over the lazy dog. " * 60
    with path.open("w", encoding="utf-8") as handle:
        while handle.tell() < size:
            ids = [f"{number:016x}{letter}" for letter in "abc"]
            call = {
                "type": "tool_use",
                "id": ids[2],
                "name": "Read",
                "input": {"file_path": f"/x/{number}.py"},
            }
            result = {"type": "tool_result", "tool_use_id": ids[2], "content": f"{number} {text}"}
            for kind, name, parent, block in (
                ("assistant", ids[0], before, call),
                ("user", ids[1], ids[0], result),
            ):
                message = {"role": kind, "id": name, "type": "message", "content": [block]}
                line = {
                    "type": kind,
                    "uuid": name,
                    "parentUuid": parent,
                    "sessionId": "s",
                    "message": message,
                }
                line["timestamp"] = f"2026-01-01T00:{number // 60 % 60:02}:{number % 60:02}.000Z"
                handle.write(json.dumps(line, separators=(",", ":")) + "\n")
            before = ids[1]
            number += 1
    return number


def exponent(points: list[tuple[int, float]]) -> float:
    """The slope of log time over log size, by least squares."""
    xs = [math.log(size) for size, _ in points]
    ys = [math.log(value) for _, value in points]
    mean_x, mean_y = statistics.fmean(xs), statistics.fmean(ys)
    return sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True)) / sum(
        (x - mean_x) ** 2 for x in xs
    )


def check(found: dict[str, Any]) -> None:
    if found.get("error"):
        raise SystemExit(found["error"])


SECTIONS: dict[str, Callable[..., None]] = {
    "record": measure_recording,
    "load": measure_loading,
    "growth": measure_growth,
    "start": measure_start,
    "relay": measure_relay,
    "hostile": measure_hostile,
    "discipline": measure_discipline,
    "transcripts": measure_transcripts,
}
ALONE = ("discipline", "transcripts")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--peer", help="python of the environment that holds the reference implementation")
    parser.add_argument(
        "--ours", default=sys.executable, help="python of an environment that holds this package"
    )
    parser.add_argument("--bench", default=str(ROOT.parent / "shared" / "bench" / "bench_peer.py"))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default=",".join(SECTIONS))
    parser.add_argument("--no-save", action="store_true", help="print only")
    options = parser.parse_args()
    sections = options.only.split(",")
    alone = set(sections) <= set(ALONE)
    if options.peer is None and not alone:
        parser.error("--peer is needed")
    bench = None if alone else load_bench(Path(options.bench))
    sides = {"peer": (options.peer, ""), "ours": (options.ours, ADAPTER)}
    out = Figures()
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        for name in sections:
            work = Path(folder) / name
            work.mkdir()
            SECTIONS[name](bench, sides, work, options.rounds, out)
    if options.no_save:
        return
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    kept = [run for run in kept if not set(run["sections"]) <= set(sections)]
    kept.append(
        {
            "sections": sections,
            "machine": {
                "cpus": os.cpu_count(),
                "python": platform.python_version(),
                "system": f"{platform.system()} {platform.machine()}",
                "load_before": round(load, 2),
                "load_after": round(os.getloadavg()[0], 2),
            },
            "rounds": options.rounds,
            "ratios": out.ratios,
            "samples": {
                name: [round(value, 3) for value in values] for name, values in sorted(out.samples.items())
            },
        }
    )
    RESULTS.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
