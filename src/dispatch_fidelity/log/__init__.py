"""Log to executions, and the recorder that writes the log."""
