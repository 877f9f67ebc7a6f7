"""A small toolset for scripted agents: pure, quick, and able to fail."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from datetime import date
from typing import Any

DOCUMENTS = {
    "doc-1": "A rate belongs to one system, one interface and one workload.",
    "doc-2": "An instrument that cannot fail has measured nothing.",
    "doc-3": "Read the cases before the average.",
}
_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


def calculator(expression: str) -> str:
    """Evaluate an arithmetic expression of numbers and + - * /."""

    def value(node: ast.expr) -> Any:
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
            return node.value
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            return _OPERATORS[type(node.op)](value(node.left), value(node.right))
        raise ValueError("only numbers and + - * / are allowed")

    return str(value(ast.parse(expression, mode="eval").body))


def doc_lookup(key: str) -> str:
    """Return the text of a document."""
    return DOCUMENTS[key]


def date_diff(start: str, end: str) -> str:
    """Return the days from one ISO date to another."""
    return str((date.fromisoformat(end) - date.fromisoformat(start)).days)


def text_stat(text: str) -> dict[str, int]:
    """Count the words and characters of a text."""
    return {"words": len(text.split()), "chars": len(text)}


TOOLS: dict[str, Callable[..., Any]] = {
    "calculator": calculator,
    "date_diff": date_diff,
    "doc_lookup": doc_lookup,
    "text_stat": text_stat,
}
