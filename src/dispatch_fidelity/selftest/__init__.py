"""The instrument, measured with known failure classes."""
