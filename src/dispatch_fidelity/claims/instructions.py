"""What an agent has to be told so that its report can be audited."""

from __future__ import annotations

_TEXT = """\
End your final answer with one fenced JSON block that lists every tool call you made, in order:

```json
{"results": [{"tool": "<name>", "args": {"<parameter>": "<value>"}, "result": "<what it returned>"}]}
```

- Use the tool and parameter names exactly as they were offered to you.
- Copy each result as it was returned; shorten a long one, but do not rewrite numbers, ids or receipts.
- If a call failed, say so: put what you were shown into "error" and leave "result" out. A failed call that
  is reported as failed is a correct report.
- List only calls that you really made. If you made none, write {"results": []}.
"""


def claims_instruction() -> str:
    """The paragraph to append to an agent's instructions; the report contract in the agent's words."""
    return _TEXT
