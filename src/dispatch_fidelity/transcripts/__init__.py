"""Foreign conversations to executions and reports."""
