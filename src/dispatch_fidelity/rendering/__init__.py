"""An assessment as text; nothing here writes a file."""
