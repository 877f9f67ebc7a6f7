"""The words that all parts share: frozen types, no rules."""
