"""Claims against executions."""
