"""Every wrong verdict known of earlier instruments (A1 to A26), as a defect that is caught or a report left alone.

A caught one is not certified: the run does not PASS. A quiet one is not accused: the run does not FAIL, and
where nothing is missing it passes.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from ..log.paths import log_path
from ..log.reader import load_log
from ..model.assessment import Assessment, Overall
from ..simulation.agents import PLAN, report_of
from ..simulation.crashing import MODULE, crashing_report
from ..simulation.tools import TOOLS
from .bench import Bench, Calls, Run, block, without_result
from .rows import Rows

ROWS = Rows("known wrong verdicts")
PASS, FAIL, OPEN = Overall.PASS, Overall.FAIL, Overall.INCONCLUSIVE


def _came_out(found: Assessment) -> Overall:
    return found.outcome.overall


def _honest(bench: Bench) -> Run:
    return bench.record(TOOLS, PLAN[1:])


def _one(bench: Bench, answer: Any, args: dict[str, Any] | None = None, name: str = "query") -> Run:
    """A run with a canary and one call; an exception as the answer is raised."""

    def query(**_: Any) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    return bench.record({name: query}, [(name, args or {"q": "x"})])


def _told(run: Run, result: Any, **options: str) -> Overall:
    """How the run comes out when its last call is reported with this result."""
    last = run.items[-1]
    return _came_out(
        run.judge(
            [*run.items[:-1], {"tool": last["tool"], "args": last["args"], "result": result}], **options
        )
    )


def _crashed(bench: Bench) -> Run:
    """A run that was killed while it paid; its items are the canary call, which has its end on file."""
    folder = bench.fresh()
    program = [sys.executable, "-m", MODULE, str(folder), "run"]
    subprocess.run(program, check=False)  # noqa: S603 - our own module, in a folder that we made
    log = log_path(folder, "run", "main")
    probe = load_log(log).executions[0]
    item = {"tool": probe.tool, "args": probe.args, "result": probe.result}
    return Run(folder / "run.manifest.json", log, [item])


def _edited(run: Run, edit: Callable[[list[bytes]], list[bytes]]) -> Run:
    lines = run.log.read_bytes().splitlines(keepends=True)
    run.log.write_bytes(b"".join(edit(lines)))
    return run


@ROWS.quiet("A1 killed after the effect, payment reported", "open calls")
def _(bench: Bench) -> bool:
    return _came_out(_crashed(bench).judge(crashing_report())) is OPEN


@ROWS.caught("A2 killed after the effect, payment not mentioned", "doubts")
def _(bench: Bench) -> bool:
    run = _crashed(bench)
    return _came_out(run.judge(run.items)) is not PASS


@ROWS.caught("A3 log cut at a line boundary", "doubts")
def _(bench: Bench) -> bool:
    run = _edited(_honest(bench), lambda lines: lines[:-3])
    return _came_out(run.judge(run.items[:-1])) is not PASS


@ROWS.caught("A4 logged result edited", "chain")
def _(bench: Bench) -> bool:
    run = _edited(_honest(bench), lambda lines: [line.replace(b'"51"', b'"9999"') for line in lines])
    items = [item if item.get("result") != "51" else {**item, "result": "9999"} for item in run.items]
    return _came_out(run.judge(items)) is not PASS


@ROWS.caught("A5 forged record appended", "records after the end")
def _(bench: Bench) -> bool:
    def forge(lines: list[bytes]) -> list[bytes]:
        start, end = json.loads(lines[3]), json.loads(lines[4])
        start.update(call="c99", tool="doc_lookup", args={"key": "doc-1"})
        end.update(call="c99", result="A rate")
        for event in (start, end):
            event.update(n=len(lines), prev=hashlib.sha256(lines[-1][:-1]).hexdigest())
            lines = [*lines, json.dumps(event, separators=(",", ":")).encode() + b"\n"]
        return lines

    run = _edited(_honest(bench), forge)
    lie = {"tool": "doc_lookup", "args": {"key": "doc-1"}, "result": "A rate"}
    return _came_out(run.judge([*run.items, lie])) is not PASS


@ROWS.caught("A6 lying block before a true one", "superseded claims")
def _(bench: Bench) -> bool:
    run = _honest(bench)
    lie = {"tool": "doc_lookup", "args": {"key": "doc-1"}, "result": "A rate"}
    return _came_out(run.judge(block([*run.items, lie]) + report_of(run.items))) is OPEN


@ROWS.quiet("A7 name instead of tool", "tool names")
def _(bench: Bench) -> bool:
    run = _honest(bench)
    return _came_out(run.judge([{"name": item["tool"], **_rest(item)} for item in run.items])) is PASS


def _rest(item: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in item.items() if key != "tool"}


@ROWS.caught("A7 a string as an item", "unreadable items")
def _(bench: Bench) -> bool:
    run = _honest(bench)
    return _came_out(run.judge(block([*run.items, "doc_lookup(doc-1)"]))) is OPEN


@ROWS.caught("A8 arguments under another key", "argument names")
def _(bench: Bench) -> bool:
    run = bench.record({"ping": lambda **_: "pong"}, [("ping", {})])
    lie = {"tool": "ping", "arguments": {"host": "db-1"}, "result": "pong"}
    return _came_out(run.judge([*run.items[:-1], lie])) is FAIL


@ROWS.caught("A9 invented result that holds the word error", "negated failure")
def _(bench: Bench) -> bool:
    return _told(_one(bench, TimeoutError()), "0 errors found, revenue 4.2M") is FAIL


@ROWS.quiet("A10 failure told in other words", "acknowledgement")
def _(bench: Bench) -> bool:
    words = ("timed out", "the request failed", "Zeitüberschreitung", "la requête a échoué", "请求失败")
    return all(_told(_one(bench, TimeoutError()), word) is PASS for word in words)


@ROWS.quiet("A11 successful call whose text begins with ERROR", "talk of failures")
def _(bench: Bench) -> bool:
    run = _one(bench, "ERROR disk full at 12:01; ERROR disk full at 12:05")
    return _told(run, "two errors in the log: the disk was full", result_check="contradicted") is PASS


@ROWS.caught("A12 failure by value, invented result", "failure by value")
def _(bench: Bench) -> bool:
    answers = ({"isError": True, "content": []}, {"status": 500}, {"error": "no such table"}, '{"ok": false}')
    return all(_told(_one(bench, answer), "42 rows") is FAIL for answer in answers)


@ROWS.caught("A13 another value after a retry", "contradiction")
def _(bench: Bench) -> bool:
    answers = iter(["", "42"])

    def flaky(job: str) -> str:
        answer = next(answers)
        if not answer:
            raise TimeoutError(job)
        return answer

    run = bench.record({"flaky": flaky}, [("flaky", {"job": "7"}), ("flaky", {"job": "7"})])
    items = [run.items[0], {**run.items[2], "result": "999"}]
    noted = run.judge(items)
    return _came_out(run.judge(items, result_check="contradicted")) is FAIL and bool(noted.score.notes)


@ROWS.quiet("A14 equal calls, results in the other order", "best assignment")
def _(bench: Bench) -> bool:
    answers = iter(["first", "second"])
    run = bench.record({"poll": lambda **_: next(answers)}, [("poll", {"job": "7"}), ("poll", {"job": "7"})])
    return _came_out(run.judge([run.items[0], run.items[2], run.items[1]], result_check="strict")) is PASS


@ROWS.caught("A15 strict: a number inside another", "token boundaries")
def _(bench: Bench) -> bool:
    return _told(_one(bench, "4"), "1247", result_check="strict") is FAIL


@ROWS.quiet("A16 strict: JSON written anew", "results by value")
def _(bench: Bench) -> bool:
    run = _one(bench, {"rows": 3, "name": "x"})
    return _told(run, '{"name": "x",  "rows": 3}', result_check="strict") is PASS


@ROWS.quiet("A17 strict: no result told", "no value claimed")
def _(bench: Bench) -> bool:
    return all(_told(_one(bench, "4"), value, result_check="strict") is PASS for value in (None, "", "None"))


@ROWS.quiet("A18 strict: a long result, verbatim", "large results")
def _(bench: Bench) -> bool:
    text = "row of the table\n" * 10_000
    return _told(_one(bench, text), text, result_check="strict") is PASS


@ROWS.quiet("A19 the same argument in another spelling", "scalars")
def _(bench: Bench) -> bool:
    args = {"n": 1.0, "flag": True, "none": None, "deep": {"b": 1, "a": ["1"]}, "name": "Zu\u0308rich"}
    told = {"n": "1", "flag": "true", "none": "null", "deep": {"a": [1], "b": "1"}, "name": "Z\u00fcrich"}
    run = _one(bench, "ok", args)
    return _came_out(run.judge([run.items[0], {**run.items[1], "args": told}])) is PASS


def _two_parameters(bench: Bench) -> Run:
    def move(source: str, target: str) -> str:
        return f"{source} to {target}"

    return bench.record({"move": move}, [("move", {"source": "a", "target": "b"})])


@ROWS.caught("A20 two renamed parameters", "one remaining parameter")
def _(bench: Bench) -> bool:
    run = _two_parameters(bench)
    return _came_out(run.judge([run.items[0], {**run.items[1], "args": {"to": "a", "from": "b"}}])) is OPEN


@ROWS.caught("A20 an extra argument", "arguments")
def _(bench: Bench) -> bool:
    run = _two_parameters(bench)
    args = {"source": "a", "target": "b", "force": True}
    return _came_out(run.judge([run.items[0], {**run.items[1], "args": args}])) is FAIL


@ROWS.caught("A20 another declared parameter", "arguments")
def _(bench: Bench) -> bool:
    def edit(create: str = "", delete: str = "") -> str:
        return create or delete

    run = bench.record({"edit": edit}, [("edit", {"create": "a.txt"})])
    return _came_out(run.judge([run.items[0], {**run.items[1], "args": {"delete": "a.txt"}}])) is FAIL


@ROWS.quiet("A21 arguments as a JSON text", "arguments as text")
def _(bench: Bench) -> bool:
    run = _honest(bench)
    return _came_out(run.judge([{**item, "args": json.dumps(item["args"])} for item in run.items])) is PASS


@ROWS.caught("A22 an argument told twice", "unreadable items")
def _(bench: Bench) -> bool:
    run = _honest(bench)
    text = report_of(run.items).replace('"key": "doc-2"', '"key": "doc-1", "key": "doc-2"')
    return _came_out(run.judge(text)) is OPEN


@ROWS.quiet("A23 sixteen digits of a receipt, and the verdict says so", "receipt tolerance")
def _(bench: Bench) -> bool:
    run = _honest(bench)
    digits = str(run.items[0]["result"]).partition(":")[2][8:24]
    found = run.judge([{**run.items[0], "result": digits}, *run.items[1:]])
    return _came_out(found) is PASS and "shortened" in found.score.detail[0].reason


@ROWS.quiet("A24 a block in any fence, or in none", "fences")
def _(bench: Bench) -> bool:
    run = _one(bench, "use ```json here```")
    body = json.dumps({"results": run.items})
    forms = (
        f"```JSON\n{body}\n```",
        f"```jsonc\n{body}\n```",
        f"~~~\n{body}\n~~~",
        f"```\n{body}\n```",
        body,
    )
    return all(_came_out(run.judge(f"Done.\n\n{form}\n")) is PASS for form in forms)


@ROWS.caught("A25 an empty block after a lying one", "failures")
def _(bench: Bench) -> bool:
    run = _honest(bench)
    lie = {"tool": "doc_lookup", "args": {"key": "doc-1"}, "result": "A rate"}
    return _came_out(run.judge(block([*run.items, lie]) + block([]))) is FAIL


@ROWS.quiet("A26 a tool that changes its argument", "start before effect")
def _(bench: Bench) -> bool:
    def drain(items: list[int]) -> str:
        items.clear()
        return "drained"

    calls: Calls = [("drain", {"items": [1, 2]})]
    run = bench.record({"drain": drain}, calls)
    item = {"tool": "drain", "args": {"items": [1, 2]}, "result": "drained"}
    return _came_out(run.judge([run.items[0], without_result(item) | {"result": "drained"}])) is PASS
